"""What the script has registered of its own, at the steps of a history: beside its rows."""

import bisect
import dataclasses
import time
from collections.abc import Callable
from typing import Final

__all__ = ["ScriptRows"]

_MOST_BYTES: Final = 16 << 20
# Of the time between two of them that the second one may take: a getter may be slow.
_SHARE: Final = 0.1


@dataclasses.dataclass(slots=True)
class _Run:
    """The same content whenever somebody looked, from the step ``first`` to the step ``last``."""

    first: int
    last: int
    content: bytes


class ScriptRows:
    """Packed script state by axis, when a step began; owner thread only.

    Every step's where that costs little, else as often as a tenth of the time allows.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._runs: list[_Run] = []
        self._due = 0.0
        self.nbytes = 0

    def note(self, axis: int, capture: Callable[[], bytes], *, at_once: bool = False) -> None:
        """Look at what the script keeps before the step ``axis``, if that is not too often.

        ``at_once``: the state has been replaced, and may say nothing of what was looked at before.
        """
        began = self._clock()
        if began < self._due and not at_once:
            return
        content = capture()
        ended = self._clock()
        self._due = ended + (ended - began) * (1.0 / _SHARE - 1.0)
        self._forget_from(axis)
        last = self._runs[-1] if self._runs else None
        if last is not None and last.content == content and not at_once:
            last.last = axis
            return
        self._runs.append(_Run(axis, axis, content))
        self.nbytes += len(content)
        while self.nbytes > _MOST_BYTES and len(self._runs) > 1:
            self.nbytes -= len(self._runs.pop(0).content)

    def before(self, axis: int, *, since: int) -> tuple[int, bytes] | None:
        """Return the last step up to ``axis`` that was looked at, and what was there then.

        None when that is before ``since``, or was let go of.
        """
        index = bisect.bisect_right(self._runs, axis, key=lambda run: run.first) - 1
        if index < 0:
            return None
        run = self._runs[index]
        noted = min(run.last, axis)
        return (noted, run.content) if noted >= since else None

    def forget_before(self, axis: int) -> None:
        """Let go of what nobody can go back to any more."""
        while self._runs and self._runs[0].last < axis:
            self.nbytes -= len(self._runs.pop(0).content)

    def clear(self) -> None:
        """Let go of everything."""
        self._runs.clear()
        self.nbytes = 0
        self._due = 0.0

    def _forget_from(self, axis: int) -> None:
        """Let go of what was noted of a step that comes once more, from another state."""
        while self._runs and self._runs[-1].first >= axis:
            self.nbytes -= len(self._runs.pop().content)
        if self._runs:
            self._runs[-1].last = min(self._runs[-1].last, axis - 1)
