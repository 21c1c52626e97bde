"""What scripts write into the model's fields of environments, by axis: as it was before each time.

A field that environments have values of their own of is an array like any other, so it is looked
at before each step: bytes are compared, which are the same nearly always.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.history.segments import LOST_FIELDS, Options
from stroboscope.engine.model_option_fields import FIELD_OPTION, SAID_OF_ROWS, is_recordable

if TYPE_CHECKING:
    from stroboscope.engine.batch.environments import Environments
    from stroboscope.engine.model_fields import ModelFields

__all__ = ["FieldNotes", "is_beyond_files"]

Fields = dict[str, NDArray[Any]]
_MOST_BYTES: Final = 16 << 20
# Of a note besides its values: names, the array objects.
_NOTE_BYTES: Final = 500


class _Note(NamedTuple):
    """Some environments had these values of a field before the step ``axis``."""

    axis: int
    name: str
    envs: NDArray[np.intp]
    before: NDArray[Any]

    @property
    def nbytes(self) -> int:
        return self.envs.nbytes + self.before.nbytes + _NOTE_BYTES

    def of(self, env: int) -> NDArray[Any] | None:
        """Return what ``env`` had; None where it was not among them."""
        at = int(np.searchsorted(self.envs, env))
        found: NDArray[Any] | None = None
        if at < len(self.envs) and self.envs[at] == env:
            found = self.before[at]
        return found


class Told(NamedTuple):
    """What an environment's fields were from ``axis`` on.

    ``options``: the values of all of them, by the names that options have; ``written``: which ones
    were written into; ``lost``: which had values that no file can carry.
    """

    axis: int
    options: Options
    written: tuple[str, ...]
    lost: tuple[str, ...]


class FieldNotes:
    """Notes of one batch; owner thread only.

    ``base`` returns the fields of the model as the batch was made with it.
    """

    def __init__(self, envs: "Environments", *, base: "Callable[[], ModelFields]") -> None:
        self._envs, self._base = envs, base
        self._last: dict[str, NDArray[Any]] = {}
        self._bytes: dict[str, bytes] = {}
        self._notes: deque[_Note] = deque()
        self.nbytes = 0
        """Bytes of all notes."""
        self.known_from = 0
        """Of steps before this axis it is not remembered any more what the fields were."""

    def begin(self, axis: int) -> None:
        """Forget everything: what is remembered begins at ``axis``."""
        self._notes.clear()
        self.nbytes, self.known_from = 0, axis
        self._look(axis, notes=False)

    def look(self, axis: int) -> bool:
        """Note what was written since this was called last; return whether anything was."""
        return bool(self._envs.expanded) and self._look(axis, notes=True)

    def _look(self, axis: int, *, notes: bool) -> bool:
        found = False
        for name, values in self._envs.expanded.items():
            if name == SAID_OF_ROWS:
                continue
            now = np.ascontiguousarray(values)
            there = now.tobytes()
            if self._bytes.get(name) == there:
                continue
            before = self._last.get(name)
            if before is None and (own := self._base().value(name)) is not None:
                before = np.broadcast_to(own, now.shape)
            if notes and before is not None:
                found |= self._note(axis, name, before, now)
            self._bytes[name], self._last[name] = there, now.copy()
        return found

    def _note(self, axis: int, name: str, before: NDArray[Any], now: NDArray[Any]) -> bool:
        unequal = (now != before) & ~((now != now) & (before != before))
        envs = np.flatnonzero(unequal.reshape(len(now), -1).any(axis=1))
        if not len(envs):
            return False
        note = _Note(axis, name, envs, before[envs])
        self._notes.append(note)
        self.nbytes += note.nbytes
        while self.nbytes > _MOST_BYTES:
            self.known_from = self._forget_oldest().axis
        return True

    def _forget_oldest(self) -> _Note:
        note = self._notes.popleft()
        self.nbytes -= note.nbytes
        return note

    def forget_before(self, axis: int) -> None:
        """Let go of what says something of steps before ``axis`` only."""
        while self._notes and self._notes[0].axis <= axis:
            self._forget_oldest()

    # --- what was

    def stretches_of(self, env: int) -> list[Told]:
        """Return where an environment's fields became what they were, oldest first.

        The first one is of all before, at ``known_from``.
        """
        there = {name: values[env] for name, values in self._last.items()}
        found: list[Told] = []
        written: dict[str, NDArray[Any]] = {}
        axis = -1
        for note in reversed(self._notes):
            before = note.of(env)
            if before is None:
                continue
            if written and note.axis != axis:
                found.append(self._told(axis, there, written))
                there, written = {**there, **written}, {}
            axis = note.axis
            written[note.name] = before
        if written:
            found.append(self._told(axis, there, written))
        found.append(self._told(self.known_from, {**there, **written}, {}))
        return found[::-1]

    def _told(self, axis: int, there: Fields, written: Fields) -> Told:
        base = self._base()
        lost = (name for name in there if is_beyond_files(name, there[name], base=base))
        return Told(axis, _options(there), tuple(sorted(written)), tuple(sorted(lost)))

    def before(self, env: int, axis: int) -> Options:
        """Return what fields had in an environment's step that have other values by now."""
        found: dict[str, NDArray[Any]] = {}
        for note in reversed(self._notes):
            if note.axis <= axis:
                break
            before = note.of(env)
            if before is not None:
                found[note.name] = before
        return _options(found)

    def lost_of(self, env: int, axis: int) -> str:
        """Say of which fields it is not known what they were in an environment's step; or ""."""
        if axis < self.known_from:
            return LOST_FIELDS
        names = {
            note.name
            for note in self._notes
            if note.axis > axis
            and not is_recordable(note.name, note.before)
            and note.of(env) is not None
        }
        named = ", ".join(sorted(names))
        return named and f"{named} had other values then, which are not remembered"


def is_beyond_files(name: str, values: NDArray[Any], *, base: "ModelFields") -> bool:
    """Return whether a field has other values than ``base``, the file's, that no file carries."""
    known = base.value(name)
    if known is None or name == SAID_OF_ROWS or is_recordable(name, values):
        return False
    return values.tobytes() != np.asarray(known, dtype=values.dtype).tobytes()


def _options(fields: Fields) -> Options:
    return {
        f"{FIELD_OPTION}{name}": tuple(np.asarray(values, dtype=np.float64).reshape(-1).tolist())
        for name, values in fields.items()
        if is_recordable(name, values)
    }
