"""Hands the mouse and the keys of a surface to navigation."""

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from stroboscope.app.view3d.navigation import Navigation

__all__ = ["SurfaceInput"]


class SurfaceInput(QObject):
    """Watches the events of one surface, whatever kind of widget that is."""

    hovered = Signal(float, float)
    left = Signal()

    def __init__(self, surface: QWidget, navigation: Navigation) -> None:
        super().__init__(surface)
        self.navigation = navigation
        surface.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        surface.setMouseTracking(True)
        surface.setMinimumSize(16, 16)
        surface.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """Return whether the event is used up; keys that don't fly belong to the window."""
        kind = event.type()
        if isinstance(event, QMouseEvent):
            return self._mouse(kind, event)
        if isinstance(event, QWheelEvent):
            self.navigation.wheel(event)
            event.accept()
            return True
        if isinstance(event, QKeyEvent):
            if kind is QEvent.Type.KeyPress:
                return self.navigation.key_press(event)
            if kind is QEvent.Type.KeyRelease:
                return self.navigation.key_release(event)
        elif kind is QEvent.Type.FocusOut:
            self.navigation.stop()  # the release of held keys goes elsewhere
        elif kind is QEvent.Type.Leave:
            self.left.emit()
        return False

    def _mouse(self, kind: QEvent.Type, event: QMouseEvent) -> bool:
        navigation = self.navigation
        if kind is QEvent.Type.MouseButtonPress:
            navigation.press(event)
        elif kind is QEvent.Type.MouseButtonRelease:
            navigation.release(event)
        elif kind is QEvent.Type.MouseButtonDblClick:
            navigation.press(event)  # the second press is also the start of a drag
            navigation.double_click(event)
        elif kind is not QEvent.Type.MouseMove:
            return False
        elif navigation.dragging:
            navigation.drag(event)
        else:
            self.hovered.emit(event.position().x(), event.position().y())
        event.accept()
        return True
