"""Which stops are worth a file: not the same one again and again, until there is room for none."""

import dataclasses
import re
import threading
from collections.abc import Sequence
from typing import Final, NamedTuple

from stroboscope.debugger_protocol.time_messages import StopReason
from stroboscope.engine.counted import counted
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.recording.recorded_stops import ends_script

__all__ = ["MOST_FILES", "SavedCauses", "Verdict", "cause_of"]

MOST_FILES: Final = 10
"""Files that are written for stops."""
# Of one cause so many, and only while the other half is free for causes that nobody has seen yet.
_MOST_OF_ONE: Final = 3
_ROOM_FOR_NEW: Final = MOST_FILES // 2

_QUOTED: Final = re.compile("“(.*?)”", re.DOTALL)
_ENVIRONMENT: Final = re.compile(r"^environment \d+: ")
# Not those that are part of a name.
_NUMBER: Final = re.compile(r"(?<![\w'])[-+]?\d[\d.,]*(?:e[-+]?\d+)?(?![\w'])")
_MOST_CAUSES: Final = 1_000


_FULL: Final = (
    f"not saved, nor will others be, but for the end of the script: {MOST_FILES} files are written"
)


class Verdict(NamedTuple):
    """Whether a stop is to be saved, and what to say besides; empty: nothing."""

    saves: bool
    text: str


@dataclasses.dataclass(slots=True)
class _Cause:
    """How often it has stopped a scene, and how many of these stops were saved."""

    came: int = 0
    saved: int = 0


class SavedCauses:
    """Counts what was saved, by cause; several flight recorders may share one; any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._causes: dict[str, _Cause] = {}
        self._saved = 0
        self._is_told_full = False
        self.left_out = 0
        """Stops that were not saved."""

    def judge(self, stops: Sequence[FileEvent], *, scene: str) -> Verdict:
        """Count the stops of one step; return whether they are to be saved.

        The first of each cause is while there is room, and what ends the script in any case: it is
        another cause in each ``scene``.
        """
        keys = {cause_of(stop): ends_script(stop) for stop in stops}
        keys = {f"{key} in {scene}" if is_end else key: is_end for key, is_end in keys.items()}
        with self._lock:
            causes = {id(cause): cause for cause in map(self._cause, keys)}
            is_end = any(keys.values())
            saves = any(self._is_wanted(cause, is_end=is_end) for cause in causes.values())
            text = "" if saves else self._refusal(list(causes.values()))
            for cause in causes.values():
                cause.came += 1
                cause.saved += saves
            self._saved += saves
            self.left_out += not saves
            if saves and self._saved == MOST_FILES:
                text = "the last file but for the end of the script"
        return Verdict(saves, text)

    def _cause(self, key: str) -> _Cause:
        # A script that finds ever new words has had its files long before.
        if key not in self._causes and len(self._causes) >= _MOST_CAUSES:
            key = ""
        return self._causes.setdefault(key, _Cause())

    def _is_wanted(self, cause: _Cause, *, is_end: bool) -> bool:
        if not cause.saved:
            return is_end or self._saved < MOST_FILES
        return cause.saved < _MOST_OF_ONE and self._saved < _ROOM_FOR_NEW

    def _refusal(self, causes: Sequence[_Cause]) -> str:
        """Return why stops are not saved, once for each cause and once for the end of all room."""
        if not any(cause.saved for cause in causes):
            is_news, self._is_told_full = not self._is_told_full, True
            return _FULL if is_news else ""
        if all(cause.came > cause.saved for cause in causes):
            return ""
        saved = max(cause.saved for cause in causes)
        return (
            f"not saved, nor will others like it be: {counted(saved, 'file')} of this cause "
            f"{'is' if saved == 1 else 'are'} written, the rest is kept for other causes"
        )


def cause_of(stop: FileEvent) -> str:
    """Return what tells the cause of a stop from others: neither its step nor its numbers do."""
    text = _ENVIRONMENT.sub("", stop.text)
    data = stop.data
    reason = str(data.get("reason", ""))
    if reason == StopReason.CONDITION:
        found = _QUOTED.search(text)
        return f"{reason}: {found[1] if found else text}"
    culprit = str(data.get("culprit", ""))
    words = _NUMBER.sub("#", (culprit or text).partition(": ")[0])
    if ends_script(stop):
        words = _NUMBER.sub("#", text)
    # What names somebody is told from others by that; else it is whoever went wrong.
    if "'" not in words:
        words += "".join(f" {data.get(part, '')}" for part in ("joint", "body", "actuator"))
    return f"{reason}: {words}"
