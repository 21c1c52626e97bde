"""A horizontal scroll bar that takes no room: over the last rows, while the pointer is there."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QAbstractScrollArea, QScrollBar

__all__ = ["SidewaysBar"]

_HEIGHT = 10


class SidewaysBar(QScrollBar):
    """Stands for the horizontal scroll bar of ``view``, which shows none of its own.

    Rows are what a low panel has too few of, and wheel, keys and trackpad scroll without a bar.
    """

    def __init__(self, view: QAbstractScrollArea) -> None:
        super().__init__(Qt.Orientation.Horizontal, view)
        self._view = view
        self._own = view.horizontalScrollBar()
        self._inside = False
        self._own.rangeChanged.connect(lambda _low, _high: self._follow())
        self._own.valueChanged.connect(self.setValue)
        self.valueChanged.connect(self._own.setValue)
        view.installEventFilter(self)
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Come and go with the pointer, stay at the lower edge."""
        if event.type() in (QEvent.Type.Enter, QEvent.Type.Leave):
            self._inside = event.type() is QEvent.Type.Enter
            self._follow()
        elif event.type() is QEvent.Type.Resize:
            self._follow()
        return False

    def _follow(self) -> None:
        own, viewport = self._own, self._view.viewport()
        self.setRange(own.minimum(), own.maximum())
        self.setPageStep(own.pageStep())
        self.setSingleStep(own.singleStep())
        place = viewport.geometry()
        self.setGeometry(place.left(), place.bottom() + 1 - _HEIGHT, place.width(), _HEIGHT)
        self.setVisible(self._inside and own.maximum() > own.minimum())
        self.raise_()
