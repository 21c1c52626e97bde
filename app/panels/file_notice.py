"""A line across the window about the file that is shown: what is wrong with it, and its repair."""

import enum
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QWidget,
)

from stroboscope.app.models.numbers import THIN_SPACE
from stroboscope.app.panels.icons import Icon, icon, pixmap
from stroboscope.app.panels.labels import ClampedLabel, icon_button, label
from stroboscope.app.panels.style import METRICS, number_font, set_property
from stroboscope.resources.themes import Palette

__all__ = ["FileNotice", "NoticeState"]

_BAR_WIDTH = 160


class NoticeState(enum.Enum):
    """What there is to say."""

    DAMAGED = "damaged"
    REPAIRING = "repairing"
    REPAIRED = "repaired"


class FileNotice(QFrame):
    """Hidden until one of the ``show_…`` is called, and after ``hide``; it only shows and asks."""

    def __init__(
        self,
        palette: Palette,
        *,
        repair: Callable[[], object],
        cancel: Callable[[], object],
        open_copy: Callable[[], object],
        details: Callable[[], object],
        dismiss: Callable[[], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._palette = palette
        self._state = NoticeState.DAMAGED
        self.setObjectName("banner")
        self._icon = QLabel()
        self.text = ClampedLabel(lines=2)
        self.bar = QProgressBar()
        self.bar.setRange(0, 100)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(_BAR_WIDTH)
        self.percent = label("0 %")
        self.percent.setFont(number_font())
        widest = self.percent.fontMetrics().horizontalAdvance(f"100{THIN_SPACE}%")
        self.percent.setFixedWidth(widest + 4)
        self.details_button = self._button(
            "Details", "See in the log where the file is damaged.", details
        )
        self.repair_button = self._button(
            "Repair…",
            "Write a copy with everything that is whole, beside the file, which stays as it is.",
            repair,
        )
        self.repair_button.setProperty("primary", "true")
        self.open_button = self._button(
            "Show the copy", "Look at the repaired copy instead of this file.", open_copy
        )
        self.cancel_button = self._button("Cancel", "Write no copy.", cancel)
        self.close_button = icon_button(Icon.CLOSE, palette, "Close this message; the log keeps it")
        self.close_button.clicked.connect(lambda _=False: dismiss())
        row = QHBoxLayout(self)
        row.setContentsMargins(METRICS.padding, METRICS.grid, METRICS.gap, METRICS.grid)
        row.setSpacing(METRICS.gap)
        row.addWidget(self._icon)
        row.addWidget(self.text, 1)
        for widget in (
            self.bar,
            self.percent,
            self.details_button,
            self.repair_button,
            self.open_button,
            self.cancel_button,
            self.close_button,
        ):
            row.addWidget(widget)
        self.text.installEventFilter(self)
        self.hide()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self.close_button.setIcon(icon(Icon.CLOSE, palette))
        self._dress()

    def show_damage(self, text: str) -> None:
        """Say what is wrong, and offer a repair."""
        self._show(NoticeState.DAMAGED, text)

    def show_progress(self, text: str, part: float) -> None:
        """Say how far the repair has come, 0 to 1."""
        percent = int(100.0 * part)
        self.bar.setValue(percent)
        self.percent.setText(f"{percent}{THIN_SPACE}%")
        self._show(NoticeState.REPAIRING, text)

    def show_repaired(self, text: str) -> None:
        """Say that there is a copy that is whole."""
        self._show(NoticeState.REPAIRED, text)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Have as many lines as the text needs in the width that it was given."""
        if watched is self.text and event.type() == QEvent.Type.Resize:
            self._fit()
        return False

    def _fit(self) -> None:
        self.text.setMinimumHeight(self.text.heightForWidth(self.text.width()))

    def _button(self, text: str, hint: str, act: Callable[[], object]) -> QPushButton:
        button = QPushButton(text)
        button.setToolTip(hint)
        button.setFixedHeight(METRICS.compact_height)
        button.setProperty("compact", "true")
        button.clicked.connect(lambda _=False: act())
        return button

    def _show(self, state: NoticeState, text: str) -> None:
        if self.text.text() != text:
            self.text.setText(text)
            self._fit()
        if state is not self._state or self.isHidden():
            self._state = state
            damaged, repairing = state is NoticeState.DAMAGED, state is NoticeState.REPAIRING
            for widget, visible in (
                (self.bar, repairing),
                (self.percent, repairing),
                (self.cancel_button, repairing),
                (self.details_button, damaged),
                (self.repair_button, damaged),
                (self.open_button, state is NoticeState.REPAIRED),
                (self.close_button, not repairing),
            ):
                widget.setVisible(visible)
            self._dress()
            self.show()

    def _dress(self) -> None:
        p = self._palette
        which, color, level = {
            NoticeState.DAMAGED: (Icon.WARNING, p.warn, "warn"),
            NoticeState.REPAIRING: (Icon.SYNC, p.accent, "accent"),
            NoticeState.REPAIRED: (Icon.CHECK, p.ok, "ok"),
        }[self._state]
        set_property(self, "level", level)
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(pixmap(which, METRICS.large_icon, color, ratio=ratio))
