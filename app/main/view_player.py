"""The view that moves by itself through the past: forward, backward, once or again and again."""

import math
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from stroboscope.app.models.history import HistoryModel
from stroboscope.app.models.scene import SceneModel

__all__ = ["ViewPlayer"]

# The view moves at most this often [ms].
_INTERVAL_MS = 33


class ViewPlayer(QObject):
    """Plays what is remembered of one scene at the session's speed; GUI thread only.

    ``go`` moves the view to a row, ``go_live`` to where the scene stands; ``is_busy`` says whether
    the last such move is still under way. ``loops``: whether it begins anew at the end, within the
    history's range if one is chosen.
    """

    def __init__(
        self,
        parent: QObject,
        *,
        go: Callable[[int], None],
        go_live: Callable[[], None],
        is_busy: Callable[[], bool],
    ) -> None:
        super().__init__(parent)
        self.loops = False
        self._go, self._go_live, self._is_busy = go, go_live, is_busy
        self._scene: SceneModel | None = None
        self._direction = 1
        # Where it has come to, also between two rows, and when that was.
        self._place = 0.0
        self._then = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(_INTERVAL_MS)
        self._timer.timeout.connect(self._move)

    @property
    def direction(self) -> int:
        """1: forward, -1: backward, 0: it stands."""
        return self._direction if self._timer.isActive() else 0

    def follow(self, scene: SceneModel | None) -> None:
        """Play another scene, or none."""
        self.stop()
        self._scene = scene

    def play(self, direction: int) -> None:
        """Move from where the view stands, from the other end where there is nothing ahead."""
        history = self._history
        if history is None or not history.has_rows:
            return
        self._direction = direction
        first, last = self._range(history)
        start = history.near
        if direction > 0 and not first <= start < last:
            start = first
        elif direction < 0 and not first < start <= last:
            start = last
        self._start(start)
        history.set_playing(True)
        self._timer.start()

    def stop(self) -> None:
        """Let the view stand."""
        if self._timer.isActive():
            self._timer.stop()
            if (history := self._history) is not None:
                history.set_playing(False)

    @property
    def _history(self) -> HistoryModel | None:
        return self._scene.history if self._scene is not None else None

    def _range(self, history: HistoryModel) -> tuple[int, int]:
        """Return the first row and the last one, or the live state, that is played."""
        first, last = history.first, history.live
        if self.loops and history.loop is not None:
            begin, end = max(first, history.loop[0]), min(last, history.loop[1])
            if begin < end:  # else its rows are not kept any more
                return begin, end
        return first, max(first, last)

    def _start(self, axis: int) -> None:
        self._then, self._place = time.monotonic(), float(axis)
        history = self._history
        if history is not None and axis != history.near:
            self._go(axis)

    def _move(self) -> None:
        scene, history = self._scene, self._history
        if scene is None or history is None or scene.is_stale:
            self.stop()
            return
        if self._is_busy():
            return
        pace = history.pace_at(min(history.near, history.live - 1))
        if pace <= 0.0:
            self.stop()
            return
        first, last = self._range(history)
        now = time.monotonic()
        self._place += self._direction * (now - self._then) * scene.session.speed / pace
        self._then = now
        # The row that it came to last: another speed or timestep counts from here on only.
        target = math.floor(self._place) if self._direction > 0 else math.ceil(self._place)
        with_last = self._direction < 0 or last < history.live
        if first <= target < last or (target == last and with_last):
            if target != history.near:
                self._go(target)
            return
        self._end(first, last)

    def _end(self, first: int, last: int) -> None:
        """Come to the end in the direction of play."""
        history = self._history
        if history is None:
            return
        if self.loops and last > first:
            self._start(first if self._direction > 0 else last)
            return
        if self._direction < 0:
            self._go(first)
            self.stop()
        else:
            self.stop()
            self._go_live()
