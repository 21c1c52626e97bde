"""What lies over the picture while another scene's is still to come, and what it waits for."""

import enum

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from stroboscope.app.panels.labels import ElidedLabel, label
from stroboscope.app.panels.style import METRICS
from stroboscope.resources.themes import Palette

__all__ = ["Cover", "LoadingCover"]

# What comes sooner needs no word: scenes of one application take turns without a flash.
_PATIENCE_MS = 150
_WIDEST = 480
# Above what chooses environments, at the lower edge [px].
_ABOVE = 56


class Cover(enum.Enum):
    """How much of the picture is to be seen: its opacity."""

    NOTHING = 1.0  # it is of something else
    DIM = 0.7  # parts are missing that were never there
    ALL = 0.0


class LoadingCover(QWidget):
    """Lies over ``area``, below everything else there: the old picture is of another scene.

    A picture of which parts are missing is dimmed; of one that was whole, only words stand at its
    lower edge.
    """

    def __init__(self, area: QWidget, palette: Palette) -> None:
        super().__init__(area)
        self._palette = palette
        self._area = area
        self._covers = Cover.ALL
        self._wanted = False
        self.title = ElidedLabel()
        self.title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.text = label("", "muted")
        self.text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._lines = QWidget(self)
        lines = QVBoxLayout(self._lines)
        lines.setContentsMargins(METRICS.padding, METRICS.grid, METRICS.padding, METRICS.grid)
        lines.setSpacing(METRICS.grid)
        lines.addWidget(self.title)
        lines.addWidget(self.text)
        self._lines.setObjectName("viewButtons")
        self._lines.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(_PATIENCE_MS)
        self._patience.timeout.connect(self._appear)
        self.hide()
        area.installEventFilter(self)

    def close_panel(self) -> None:
        """Follow the picture no more."""
        self._patience.stop()
        self._area.removeEventFilter(self)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self.update()

    def tell(
        self,
        title: str = "",
        text: str = "",
        *,
        covers: Cover = Cover.ALL,
        at_once: bool = False,
    ) -> None:
        """Say what is loaded and what is missing.

        Without ``text`` there is nothing to wait for; ``at_once``: not even for a moment may the
        picture be taken for this one.
        """
        self._covers, self._wanted = covers, bool(text)
        if not text:
            self._patience.stop()
            self.hide()
            return
        self.title.set_full_text(title)
        self.title.setVisible(covers is not Cover.ALL)
        self.text.setText(text)
        self.setAttribute(
            Qt.WidgetAttribute.WA_TransparentForMouseEvents, covers is not Cover.NOTHING
        )
        if at_once or not self.isHidden():
            self._appear()
        elif not self._patience.isActive():
            self._patience.start()

    def _appear(self) -> None:
        if self._wanted:
            self._place()
            self.show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay as large as the picture."""
        if watched is self._area and event.type() is QEvent.Type.Resize:
            self._place()
        return False

    def _place(self) -> None:
        self.setGeometry(self._area.rect())
        wanted = self.text.sizeHint().width()
        in_middle = self._covers is not Cover.ALL
        if in_middle:
            title = self.title.fontMetrics().horizontalAdvance(self.title.full_text)
            wanted = max(wanted, title)
        width = min(wanted, _WIDEST, self.width() - 4 * METRICS.padding) + 2 * METRICS.padding
        height = self._lines.sizeHint().height()
        top = (self.height() - height) // 2 if in_middle else self.height() - height - _ABOVE
        self._lines.setGeometry((self.width() - width) // 2, top, width, height)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Leave nothing to see of what is not shown any more."""
        color = QColor(self._palette.surface0)
        color.setAlphaF(self._covers.value)
        QPainter(self).fillRect(event.rect(), color)
