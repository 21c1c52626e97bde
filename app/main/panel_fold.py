"""Folds the panels below the picture to their tabs, so that the picture has their room."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMainWindow, QTabBar

from stroboscope.app.main.docks import PanelDock

__all__ = ["PanelFold"]


class PanelFold:
    """What of the panels below is folded. GUI thread only.

    ``apart`` is the panel there that always shows, and whatever is a tab beside it. Panels that
    float or stand elsewhere are never folded. ``first_height`` [px] is that of panels that have
    not been open yet.
    """

    def __init__(
        self,
        window: QMainWindow,
        docks: Mapping[str, PanelDock],
        *,
        apart: str,
        first_height: Callable[[], int],
    ) -> None:
        self._window = window
        self._docks = docks
        self._apart = docks[apart]
        self._first_height = first_height
        self._heights: dict[str, int] = {}
        self.is_folded = False

    def set_folded(self, folded: bool) -> None:
        """Fold all of them, or open them as high as they were."""
        if folded == self.is_folded:
            return
        apart = self._apart.height()
        if folded:
            self._heights = {
                name: dock.height() + self._tabs_of(dock)
                for name, dock in self._docks.items()
                if dock.in_front and self._is_below(dock)
            }
        self.is_folded = folded
        self.refresh()
        docks = [dock for dock in self._docks.values() if self._is_below(dock)]
        first = self._first_height()
        heights = [
            max(1, self._tabs_of(dock)) if folded else self._heights.get(dock.objectName(), first)
            for dock in docks
        ]
        if self._is_below(self._apart, apart=False):  # what comes or goes is the picture's room
            docks, heights = [self._apart, *docks], [apart, *heights]
        self._window.resizeDocks(docks, heights, Qt.Orientation.Vertical)

    def _tabs_of(self, dock: PanelDock) -> int:
        """Return how high [px] the tabs of a panel are, which Qt counts with it."""
        if not self._window.tabifiedDockWidgets(dock):
            return 0
        only_direct = Qt.FindChildOption.FindDirectChildrenOnly
        bars = self._window.findChildren(QTabBar, options=only_direct)
        title = dock.windowTitle()
        own = (b for b in bars if title in [b.tabText(i) for i in range(b.count())])
        return max((bar.sizeHint().height() for bar in own), default=0)

    def refresh(self) -> None:
        """Fold what has come below, open what has left."""
        for dock in self._docks.values():
            dock.set_folded(self.is_folded and self._is_below(dock))

    def _is_below(self, dock: PanelDock, *, apart: bool = True) -> bool:
        below = Qt.DockWidgetArea.BottomDockWidgetArea
        if dock.isFloating() or self._window.dockWidgetArea(dock) != below:
            return False
        beside = (dock, *self._window.tabifiedDockWidgets(dock))
        return self._apart not in beside if apart else True
