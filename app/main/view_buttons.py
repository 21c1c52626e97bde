"""A few buttons in the picture's corner: cameras, tracking, framing, a picture."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QToolButton, QWidget

from stroboscope.app.main.actions import WindowActions
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import icon_button
from stroboscope.app.panels.style import METRICS
from stroboscope.resources.themes import Palette

__all__ = ["ViewButtons"]

_MARGIN = 8
# In a picture narrower than this [px] they would be in the way.
_LEAST_WIDTH = 220


class ViewButtons(QFrame):
    """Lies over the top right corner of ``area`` and triggers the window's own actions."""

    def __init__(self, area: QWidget, actions: WindowActions, palette: Palette) -> None:
        super().__init__(area)
        self._area = area
        self._palette = palette
        self.setObjectName("viewButtons")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(0)
        self.buttons: dict[str, QToolButton] = {}
        self._icons: dict[str, Icon] = {}
        self._menu = QMenu(self)
        self._fill_menu(actions)
        self._add("cameras", Icon.CAMERA, "Cameras and views")
        self.buttons["cameras"].setMenu(self._menu)
        self.buttons["cameras"].setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._add("track", Icon.TRACK, "", actions["track"])
        self._add("frame", Icon.FRAME, "", actions["frame_all"])
        self._add("picture", Icon.PICTURE, "", actions["picture"])
        for button in self.buttons.values():
            row.addWidget(button)
        self.set_theme(palette)
        area.installEventFilter(self)
        self._place()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        for name, button in self.buttons.items():
            button.setIcon(icon(self._icons[name], palette))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay in the corner."""
        if watched is self._area and event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self._place()
        return False

    def _place(self) -> None:
        self.adjustSize()
        self.move(self._area.width() - self.width() - _MARGIN, _MARGIN)
        self.setVisible(self._area.width() >= _LEAST_WIDTH)
        self.raise_()

    def _add(self, name: str, which: Icon, tip: str, action: QAction | None = None) -> None:
        button = icon_button(which, self._palette, tip or (action.text() if action else name))
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.setFixedSize(METRICS.control_height, METRICS.control_height)
        self._icons[name] = which
        if action is not None:
            button.setCheckable(action.isCheckable())
            button.clicked.connect(lambda _=False: action.trigger())

            def follow() -> None:
                button.setChecked(action.isChecked())
                button.setEnabled(action.isEnabled())
                button.setToolTip(action.toolTip())

            action.changed.connect(follow)
            follow()
        self.buttons[name] = button

    def _fill_menu(self, actions: WindowActions) -> None:
        menu = self._menu
        for name in ("free_camera", "track"):
            menu.addAction(actions[name])
        menu.addMenu(actions.menus["Camera/Model cameras"])
        menu.addSeparator()
        for action in actions.menus["Camera/Look from"].actions():
            menu.addAction(action)
        menu.addAction(actions["orthographic"])
        menu.addAction(actions["field_of_view"])
        menu.addSeparator()
        menu.addAction(actions["save_camera"])
        menu.addMenu(actions.menus["Camera/Saved cameras"])
        menu.addAction(actions["copy_camera"])
