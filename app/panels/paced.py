"""A widget's refreshes, at a pace that leaves the pictures their time."""

import math
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from stroboscope.app.models.refreshes import MOST_RATE, Refreshes

__all__ = ["PacedRefresh"]


class PacedRefresh(QObject):
    """Calls ``refresh`` soon after :meth:`request`, as often as the schedule lets ``widget``.

    A widget under the pointer, or with the focus, comes before others. GUI thread only.
    """

    def __init__(
        self,
        widget: QWidget,
        refreshes: Refreshes,
        *,
        refresh: Callable[[], None],
        rate: float = MOST_RATE,
    ) -> None:
        super().__init__(widget)
        self._widget = widget
        self._refresh = refresh
        self._turn = refreshes.join(rate=rate, favoured=self._is_favoured)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._go_on)
        self._requested = False

    @property
    def is_waiting(self) -> bool:
        """Whether a refresh is due that will find whatever comes until then."""
        return self._requested

    def request(self) -> None:
        """There is news: refresh at once if there is time, else as soon as there is."""
        if not self._requested:
            self._go_on()

    def now(self) -> None:
        """Refresh at once: somebody has asked for something else. It is painted with the rest."""
        self._run(paint=False)

    def later(self, seconds: float) -> None:
        """Refresh after so long [s], unless one is due before."""
        if not self._timer.isActive():
            self._timer.start(math.ceil(1000.0 * seconds))

    def forget(self) -> None:
        """Nobody looks: what is new is not shown."""
        self._timer.stop()
        self._requested = False
        self._turn.forget()

    def close(self) -> None:
        """Refresh no more."""
        self.forget()
        self._turn.leave()

    def _go_on(self) -> None:
        wait = self._turn.wait()
        if wait > 0.0:
            self._requested = True
            self._timer.start(math.ceil(1000.0 * wait))
        else:
            self._run(paint=True)

    def _run(self, *, paint: bool) -> None:
        self._timer.stop()
        self._requested = False
        self._turn.run(self._refresh, paint=paint)

    def _is_favoured(self) -> bool:
        if self._widget.underMouse():
            return True
        focused = QApplication.focusWidget()
        return focused is not None and self._widget.isAncestorOf(focused)
