"""A recorded run that its script plays, in real time, for a window that looks."""

import time
from typing import TYPE_CHECKING, Final

from stroboscope.engine.arguments import finite_number, flag

if TYPE_CHECKING:
    from stroboscope.engine.trajectory.recorded_rows import RecordedRows
    from stroboscope.engine.trajectory.trajectory import Trajectory

__all__ = ["play"]

# How long a window waits for an answer at most [s], and how long a pass of a loop takes at least:
# a file may hold one frame alone, or frames that no time lies between.
_PATIENCE_S: Final = 1.0 / 30.0
# Who is later than that shows the next frame instead [s].
_LATE_S: Final = 0.04


def play(trajectory: "Trajectory", rows: "RecordedRows", *, speed: float, loop: bool) -> None:
    """Seek from where the run stands to its end, ``speed`` × real time; ``loop``: for ever.

    A window is served all the time; where there was one it ends with it. Raises ValueError and
    TypeError for what is no speed, or no choice.
    """
    pace, is_endless = finite_number(speed, "speed"), flag(loop, "loop")
    if pace <= 0.0:
        raise ValueError(f"speed must be above 0, not {pace:g}")
    _Player(trajectory, rows, pace).play(is_endless=is_endless)


class _Player:
    def __init__(self, trajectory: "Trajectory", rows: "RecordedRows", speed: float) -> None:
        self._trajectory = trajectory
        self._rows = rows
        self._speed = speed
        self._scene = trajectory.scene
        self._was_attached = self._scene.link.active

    def play(self, *, is_endless: bool) -> None:
        """Play once or for ever."""
        while True:
            began = time.monotonic()
            self._play_once()
            if not is_endless or self._has_gone():
                return
            if len(self._trajectory) == 1 and not self._scene.link.active:
                return  # nothing moves, and nobody looks
            self._wait(began + _PATIENCE_S - time.monotonic())
            self._show(0)

    def _play_once(self) -> None:
        began, number, last = time.monotonic(), self._trajectory.position, len(self._trajectory) - 1
        passed = 0.0
        while number < last:
            number += 1
            passed += self._rows.timestep(number - 1) * self._rows.record.every
            ahead = passed / self._speed - (time.monotonic() - began)
            if ahead < -_LATE_S and number < last:
                continue
            self._wait(ahead)
            if self._has_gone():
                return
            self._show(number)

    def _show(self, number: int) -> None:
        self._trajectory.seek(number)
        self._scene.update_debugger()

    def _wait(self, seconds: float) -> None:
        """Wait, and let whoever looks have answers meanwhile."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0.0 and not self._has_gone():
            time.sleep(min(left, _PATIENCE_S))
            if left > _PATIENCE_S:
                self._scene.update_debugger()

    def _has_gone(self) -> bool:
        """Return whether the window that was there when it began has gone."""
        return self._was_attached and not self._scene.link.active
