"""Sentences under the hand that can't do what it tries."""

from PySide6.QtCore import QEvent, QObject, QPoint, QTimer
from PySide6.QtWidgets import QToolTip, QWidget

from stroboscope.app.models.plain_text import plain_text

__all__ = ["tell"]

_ONE_CLICK_MS = 1000


def tell(widget: QWidget, text: str, *, at: QPoint | None = None) -> None:
    """Show ``text`` as it is, at once; ``at``: where on the screen, else under the widget.

    Qt hides a tip when a mouse button is let go: what a press has brought comes again then.
    """
    where = at if at is not None else widget.mapToGlobal(widget.rect().bottomLeft())
    QToolTip.showText(where, plain_text(text), widget)
    _Again(widget, text, where)


class _Again(QObject):
    """Shows a tip once more when the button is let go over its widget."""

    def __init__(self, widget: QWidget, text: str, where: QPoint) -> None:
        super().__init__(widget)
        self._text, self._where = text, where
        widget.installEventFilter(self)
        # Not for another click, much later.
        QTimer.singleShot(_ONE_CLICK_MS, self, self.deleteLater)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Look for the release."""
        if event.type() is QEvent.Type.MouseButtonRelease and isinstance(watched, QWidget):
            QToolTip.showText(self._where, plain_text(self._text), watched)
        return False
