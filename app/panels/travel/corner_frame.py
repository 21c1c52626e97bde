"""A small frame over the picture that stays at its place when the picture is resized."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QFrame, QWidget

__all__ = ["MARGIN", "CornerFrame"]

MARGIN = 8


class CornerFrame(QFrame):
    """Lies over ``area``; subclasses say where in :meth:`place`."""

    def __init__(self, area: QWidget) -> None:
        super().__init__(area)
        self.area = area
        self.setObjectName("viewButtons")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.hide()
        area.installEventFilter(self)

    def close_frame(self) -> None:
        """Follow the picture no more."""
        self.area.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay at its place."""
        if watched is self.area and event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self.place()
        return False

    def place(self) -> None:
        """Move to where it belongs."""
        raise NotImplementedError
