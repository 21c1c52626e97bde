"""Docks with a title bar of our own: name, float, close."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QHBoxLayout, QMainWindow, QWidget

from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import icon_button, label
from stroboscope.app.panels.style import METRICS
from stroboscope.resources.themes import Palette

__all__ = ["PanelDock"]

_MIN_CONTENT = (140, 56)


class PanelDock(QDockWidget):
    """A panel that can be moved, floated, closed and found again in the Window menu."""

    def __init__(
        self, name: str, title: str, content: QWidget, palette: Palette, parent: QMainWindow
    ) -> None:
        super().__init__(title, parent)
        self.setObjectName(name)
        # Panels shrink below what they would like, or a small screen at 200 % could not hold them.
        content.setMinimumSize(*_MIN_CONTENT)
        self.setWidget(content)
        self.setAllowedAreas(Qt.DockWidgetArea.AllDockWidgetAreas)
        bar = QWidget()
        bar.setObjectName("dockTitle")
        bar.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(bar)
        row.setContentsMargins(METRICS.padding, 0, METRICS.grid, 0)
        row.setSpacing(0)
        row.addWidget(label(title), 1)
        self._float = icon_button(Icon.FLOAT, palette, f"Float or dock {title}")
        self._float.clicked.connect(lambda _=False: self.setFloating(not self.isFloating()))
        hint = f"Close {title}; the Window menu shows it again"
        self._close = icon_button(Icon.CLOSE, palette, hint)
        self._close.clicked.connect(self.close)
        for button in (self._float, self._close):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            row.addWidget(button)
        bar.setFixedHeight(32)
        self.setTitleBarWidget(bar)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._float.setIcon(icon(Icon.FLOAT, palette))
        self._close.setIcon(icon(Icon.CLOSE, palette))
