"""A line across the window for what can't wait: an error as a sentence, with a Copy button."""

from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from stroboscope.app.panels.icons import Icon, icon, pixmap
from stroboscope.app.panels.labels import ClampedLabel, icon_button
from stroboscope.app.panels.style import METRICS, set_property
from stroboscope.resources.themes import Palette

__all__ = ["Banner"]

_LASTS_MS = 120_000


class Banner(QFrame):
    """Shows one message; further ones are counted, not stacked.

    It goes when it is closed, when what failed has worked since (:meth:`outdate`), or after two
    minutes; the log keeps everything. One that is to ``stay`` goes only when it is closed. It has
    two lines at most: it stands over the picture.
    """

    def __init__(
        self,
        palette: Palette,
        *,
        show_log: Callable[[], None] = lambda: None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._stays = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_LASTS_MS)
        self._timer.timeout.connect(self.outdate)
        self.setObjectName("banner")
        self._palette = palette
        self._details = ""
        self._more = 0
        layout = QHBoxLayout(self)
        layout.setContentsMargins(METRICS.padding, METRICS.grid, METRICS.gap, METRICS.grid)
        layout.setSpacing(METRICS.gap)
        self._icon = QLabel()
        self.text = ClampedLabel(lines=2)
        self.log_button = QPushButton("Show log")
        self.log_button.setToolTip("See it with everything that was said before and after.")
        self.log_button.clicked.connect(lambda _=False: show_log())
        self.copy_button = QPushButton("Copy")
        self.copy_button.setToolTip("Copy the message with its details.")
        self.copy_button.clicked.connect(self.copy)
        self._close = icon_button(Icon.CLOSE, palette, "Close this message")
        self._close.clicked.connect(self.dismiss)
        layout.addWidget(self._icon)
        layout.addWidget(self.text, 1)
        for button in (self.log_button, self.copy_button):
            button.setFixedHeight(METRICS.compact_height)
            button.setProperty("compact", True)
        layout.addWidget(self.log_button)
        layout.addWidget(self.copy_button)
        layout.addWidget(self._close)
        self.hide()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._close.setIcon(icon(Icon.CLOSE, palette))
        self._dress()

    def show_message(
        self, text: str, *, details: str = "", level: str = "stop", stay: bool = False
    ) -> None:
        """Show ``text``; while another one is shown it is only counted."""
        self._timer.start()
        self._stays = stay or (self._stays and self.isVisible())
        if self.isVisible() and self.text.text() and not self.text.text().startswith(text):
            self._more += 1
            self._details += f"\n\n{details or text}"
            shown = self.text.text().split("  (+")[0]
            self.text.setText(f"{shown}  (+{self._more} more in the log)")
            return
        self._more = 0
        self._details = details or text
        self.text.setText(text)
        set_property(self, "level", level)
        self._dress()
        self.show()

    def dismiss(self) -> None:
        """Hide."""
        self._timer.stop()
        self._stays = False
        self.text.setText("")
        self.hide()

    def outdate(self) -> None:
        """What is said is over: hide, unless it is to stay."""
        if not self._stays:
            self.dismiss()

    def close_panel(self) -> None:
        """Stop the timer."""
        self._timer.stop()

    def copy(self) -> None:
        """Copy everything there is to know."""
        QApplication.clipboard().setText(f"{self.text.text()}\n\n{self._details}".strip())

    def _dress(self) -> None:
        level = self.property("level") or "stop"
        colors = {"stop": self._palette.stop, "warn": self._palette.warn}
        color = colors.get(level, self._palette.accent)
        which = Icon.ERROR if level == "stop" else Icon.INFO
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(pixmap(which, METRICS.large_icon, color, ratio=ratio))
