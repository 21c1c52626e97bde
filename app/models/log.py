"""The log: everything the user should hear about, from every session and from the window."""

import collections
import dataclasses
import time

from stroboscope.app.models.numbers import unbroken
from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.messages import LogLevel

__all__ = ["LogLine", "LogModel"]

_ORDER = (LogLevel.INFO, LogLevel.WARNING, LogLevel.ERROR)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One sentence; ``source`` names the script or scene, ``time`` is simulation time [s].

    ``found``: a finding about a model, which has a panel of its own and alarms nobody here.
    ``file``: one that it is about, to be opened; empty: none.
    """

    level: LogLevel
    text: str
    wall_time: float
    source: str = ""
    time: float | None = None
    found: bool = False
    file: str = ""

    def as_text(self) -> str:
        """Return the line as it is copied to the clipboard."""
        clock = time.strftime("%H:%M:%S", time.localtime(self.wall_time))
        at = "" if self.time is None else f" t={self.time:.3f} s"
        source = f" [{self.source}]" if self.source else ""
        return f"{clock} {self.level.value.upper()}{source}{at} {self.text}"


class LogModel:
    """A bounded list of lines; what was dropped is counted, never hidden. GUI thread only.

    ``counts`` are of messages; findings about models are left out.
    """

    def __init__(self, *, capacity: int = 5000) -> None:
        self.added: Signal[[LogLine]] = Signal()
        self.changed: Signal[[]] = Signal()
        self.forgotten = 0
        self.counts = dict.fromkeys(_ORDER, 0)
        self._lines: collections.deque[LogLine] = collections.deque(maxlen=capacity)

    @property
    def lines(self) -> tuple[LogLine, ...]:
        """The lines kept, oldest first."""
        return tuple(self._lines)

    def add(
        self,
        level: LogLevel,
        text: str,
        *,
        source: str = "",
        sim_time: float | None = None,
        wall_time: float | None = None,
        found: bool = False,
        file: str = "",
    ) -> None:
        """Append a line and tell everybody."""
        when = time.time() if wall_time is None else wall_time
        line = LogLine(
            level=level,
            text=unbroken(text),
            wall_time=when,
            source=source,
            time=sim_time,
            found=found,
            file=file,
        )
        if len(self._lines) == self._lines.maxlen:
            self.forgotten += 1
        self._lines.append(line)
        if not found:
            self.counts[level] += 1
        self.added.emit(line)
        self.changed.emit()

    def clear(self) -> None:
        """Forget all lines and counts."""
        self._lines.clear()
        self.forgotten = 0
        self.counts = dict.fromkeys(_ORDER, 0)
        self.changed.emit()

    def select(self, *, at_least: LogLevel, text: str = "") -> tuple[LogLine, ...]:
        """Return the lines of that level or above that contain ``text`` (case ignored)."""
        lowest = _ORDER.index(at_least)
        wanted = text.casefold()
        return tuple(
            line
            for line in self._lines
            if _ORDER.index(line.level) >= lowest
            and (not wanted or wanted in f"{line.source} {line.text}".casefold())
        )
