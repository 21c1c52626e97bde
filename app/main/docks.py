"""Docks with a title bar of our own: name, float, close; as tabs of a group they need none."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QMouseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QHBoxLayout,
    QMainWindow,
    QMenu,
    QTabBar,
    QWidget,
)

from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import icon_button, label
from stroboscope.app.panels.style import METRICS
from stroboscope.resources.themes import Palette

__all__ = ["DockTabs", "PanelDock"]

_MIN_CONTENT = (140, 56)
_MOST = (1 << 24) - 1  # Qt's own for no limit
_TITLE_HEIGHT = 32


class PanelDock(QDockWidget):
    """A panel that can be moved, floated, closed and found again in the Window menu.

    Qt keeps the panel of a tab that is not in front shown, out of sight. This one hides its
    ``content`` then, so that panels know from showEvent and hideEvent whether anybody looks.
    """

    def __init__(
        self, name: str, title: str, content: QWidget, palette: Palette, parent: QMainWindow
    ) -> None:
        super().__init__(title, parent)
        self.setObjectName(name)
        self.content = content
        self.in_front = False
        self.is_bare = False
        """Whether it has no title bar unless it floats: the panel says itself what it is."""
        self.is_folded = False
        self._seen = False
        self._page = _Page(content)
        self.setWidget(self._page)
        self.setAllowedAreas(Qt.DockWidgetArea.AllDockWidgetAreas)
        bar = _TitleBar()
        bar.setObjectName("dockTitle")
        bar.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(bar)
        row.setContentsMargins(METRICS.padding, 0, METRICS.grid, 0)
        row.setSpacing(0)
        shown = label(title)
        self.windowTitleChanged.connect(shown.setText)
        row.addWidget(shown, 1)
        self._float = icon_button(Icon.FLOAT, palette, f"Float or dock {title}")
        self._float.clicked.connect(lambda _=False: self.setFloating(not self.isFloating()))
        hint = f"Close {title}; the Window menu shows it again"
        self._close = icon_button(Icon.CLOSE, palette, hint)
        self._close.clicked.connect(self.close)
        for button in (self._float, self._close):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            row.addWidget(button)
        self._bar = bar
        self.setTitleBarWidget(bar)
        self.visibilityChanged.connect(self._on_visibility)

    def set_tabbed(self, tabbed: bool) -> None:
        """Leave the title bar out while a tab says the same."""
        self._bar.fold(tabbed or (self.is_bare and not self.isFloating()))

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._float.setIcon(icon(Icon.FLOAT, palette))
        self._close.setIcon(icon(Icon.CLOSE, palette))

    def set_folded(self, folded: bool) -> None:
        """Leave nothing but the tab or the title; what is folded counts as out of sight."""
        if folded != self.is_folded:
            self.is_folded = folded
            self._page.fold(folded)
            self._on_visibility(self._seen)

    def _on_visibility(self, visible: bool) -> None:
        self._seen = visible
        self.in_front = visible and not self.is_folded
        self.content.setVisible(self.in_front)


class _Page(QWidget):
    """Gives a panel all the room there is, and keeps to itself what the panel would like.

    Without a layout: a label whose text changes asks every layout above it for another size, and
    the window's own lays out all docks, which takes longer than to draw the text. Panels shrink
    below what they would like, or a small screen at 200 % could not hold them. The page stays when
    its content hides: a dock of hidden widgets has no size.
    """

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self._content = content
        content.setParent(self)
        self.setMinimumSize(*_MIN_CONTENT)

    def fold(self, folded: bool) -> None:
        """Have no height, or what there is."""
        self.setMinimumHeight(0 if folded else _MIN_CONTENT[1])
        self.setMaximumHeight(0 if folded else _MOST)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the panel as large as the page."""
        super().resizeEvent(event)
        self._content.setGeometry(self.rect())

    def sizeHint(self) -> QSize:
        """Return what the panel would like."""
        return self._content.sizeHint()


class _TitleBar(QWidget):
    """As high as a title bar, or nothing at all: Qt's dock layout asks the size hint."""

    def __init__(self) -> None:
        super().__init__()
        self._height = _TITLE_HEIGHT
        self.setFixedHeight(_TITLE_HEIGHT)

    def fold(self, folded: bool) -> None:
        """Take no room, or the usual."""
        height = 0 if folded else _TITLE_HEIGHT
        if height != self._height:
            self._height = height
            self.setFixedHeight(height)
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        """Return the height that is wanted now."""
        return QSize(super().sizeHint().width(), self._height)

    def minimumSizeHint(self) -> QSize:
        """Return the height that is wanted now."""
        return QSize(super().minimumSizeHint().width(), self._height)


class DockTabs(QObject):
    """Keeps the tab bars that Qt makes for grouped docks in order: menus, tooltips, no titles.

    ``open_folded`` opens the panels that are folded to their tabs; ``fold`` folds them.
    """

    def __init__(
        self,
        window: QMainWindow,
        docks: Mapping[str, PanelDock],
        *,
        open_folded: Callable[[], object],
        fold: Callable[[], object],
    ) -> None:
        super().__init__(window)
        self._window = window
        self._docks = docks
        self._open_folded = open_folded
        self._fold = fold
        for dock in docks.values():
            title = dock.titleBarWidget()
            if title is not None:
                title.installEventFilter(self)

    def refresh(self) -> None:
        """Find out which docks are tabs now, and dress tab bars that are new."""
        for dock in self._docks.values():
            beside = [d for d in self._window.tabifiedDockWidgets(dock) if not d.isHidden()]
            dock.set_tabbed(bool(beside) and not dock.isFloating())
        only_direct = Qt.FindChildOption.FindDirectChildrenOnly
        for bar in self._window.findChildren(QTabBar, options=only_direct):
            if bar.objectName() != "dockTabs":
                bar.setObjectName("dockTabs")
                bar.setDrawBase(False)
                bar.setExpanding(False)
                bar.setElideMode(Qt.TextElideMode.ElideNone)
                bar.setUsesScrollButtons(True)
                bar.setFocusPolicy(Qt.FocusPolicy.NoFocus)
                bar.setAccessibleName("Panels")
                bar.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
                bar.customContextMenuRequested.connect(lambda at, b=bar: self._menu(b, at))
                bar.tabBarClicked.connect(lambda index, b=bar: self._on_click(b, index))
                # Whatever is dragged to a folded panel finds it open.
                bar.setAcceptDrops(True)
                bar.setChangeCurrentOnDrag(True)
                bar.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Close a panel by a middle click on its tab; open what is folded."""
        if event.type() is QEvent.Type.DragMove and isinstance(watched, QTabBar):
            at = event.position().toPoint()  # type: ignore[attr-defined]
            self._on_click(watched, watched.tabAt(at))
        if event.type() is QEvent.Type.MouseButtonRelease and isinstance(watched, _TitleBar):
            dock = watched.parent()
            if isinstance(dock, PanelDock) and dock.is_folded:
                self._open_folded()
        if (
            isinstance(watched, QTabBar)
            and isinstance(event, QMouseEvent)
            and event.type() is QEvent.Type.MouseButtonRelease
            and event.button() is Qt.MouseButton.MiddleButton
        ):
            dock = self._dock_at(watched, event.position().toPoint())
            if dock is not None:
                dock.close()
                return True
        return False

    def _on_click(self, bar: QTabBar, index: int) -> None:
        dock = self._dock_of(bar, index)
        if dock is not None and dock.is_folded:
            self._open_folded()

    def _dock_at(self, bar: QTabBar, at: QPoint) -> PanelDock | None:
        return self._dock_of(bar, bar.tabAt(at))

    def _dock_of(self, bar: QTabBar, index: int) -> PanelDock | None:
        title = bar.tabText(index)
        return next((d for d in self._docks.values() if d.windowTitle() == title), None)

    def _menu(self, bar: QTabBar, at: QPoint) -> None:
        dock = self._dock_at(bar, at)
        if dock is None:
            return
        menu = QMenu(bar)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Close").triggered.connect(dock.close)
        menu.addAction("Float").triggered.connect(lambda: dock.setFloating(True))
        if self._window.dockWidgetArea(dock) == Qt.DockWidgetArea.BottomDockWidgetArea:
            title = "Open panels below" if dock.is_folded else "Fold panels below"
            menu.addAction(title).triggered.connect(
                self._open_folded if dock.is_folded else self._fold
            )
        menu.popup(bar.mapToGlobal(at))
