"""How a film comes along, over the picture: length, frames, and how to end it."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from stroboscope.app.models.numbers import count_text
from stroboscope.app.panels.icons import Icon, pixmap
from stroboscope.app.panels.labels import label
from stroboscope.app.panels.style import METRICS, number_font, set_property
from stroboscope.resources.themes import Palette

__all__ = ["RecordingBar", "length_text"]

_MARGIN = 8
# Beside this [px] there is room for the buttons in the other corner.
_OTHERS = 150


class RecordingBar(QFrame):
    """Lies over the top left corner of ``area`` while a film is made."""

    def __init__(
        self,
        area: QWidget,
        palette: Palette,
        *,
        stop: Callable[[], None],
        cancel: Callable[[], None],
    ) -> None:
        super().__init__(area)
        self._area = area
        self._palette = palette
        self.setObjectName("viewButtons")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._dot = QLabel()
        self.state = label("REC", "heading")
        set_property(self.state, "level", "stop")
        self.length = label("")
        self.frames = label("")
        self.dropped = label("", "muted")
        for number in (self.length, self.frames, self.dropped):
            number.setFont(number_font())
            number.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.dropped.setToolTip(
            "Frames that show the picture of before, because none of their own could be drawn or\n"
            "encoded in time. The film keeps its pace. Slower speeds and smaller pictures help."
        )
        self.stop_button = QPushButton("Stop")
        self.stop_button.setToolTip("End the film and keep it.")
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.setToolTip("End the film and remove it.")
        row = QHBoxLayout(self)
        row.setContentsMargins(METRICS.gap, 2, 2, 2)
        row.setSpacing(METRICS.gap)
        for widget in (self._dot, self.state, self.length, self.frames, self.dropped):
            row.addWidget(widget)
        for button, act in ((self.stop_button, stop), (self.cancel_button, cancel)):
            button.setProperty("compact", "true")
            button.setFixedHeight(METRICS.compact_height)
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.clicked.connect(lambda _=False, f=act: f())
            row.addWidget(button)
        area.installEventFilter(self)
        self.set_theme(palette)
        self.hide()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        ratio = self.devicePixelRatioF()
        self._dot.setPixmap(pixmap(Icon.RECORD, METRICS.icon, palette.stop, ratio=ratio))

    def show_progress(self, *, seconds: float, frames: int, dropped: int) -> None:
        """Say how long the film is by now."""
        self._say("REC", seconds=seconds, frames=frames, dropped=dropped)
        self.stop_button.setEnabled(True)

    def show_writing(self, *, seconds: float, frames: int, waiting: int) -> None:
        """Say how much the encoder still has to do."""
        self._say("Writing", seconds=seconds, frames=frames, dropped=0)
        self.dropped.setText(f"{count_text(waiting)} to go")
        self.stop_button.setEnabled(False)

    def _say(self, state: str, *, seconds: float, frames: int, dropped: int) -> None:
        self.state.setText(state)
        self.length.setText(length_text(seconds))
        self.frames.setText(f"{count_text(frames)} frames")
        self.dropped.setText(f"{count_text(dropped)} dropped")
        # Wider numbers make room; narrower ones leave it, so that nothing jumps.
        for number in (self.length, self.frames, self.dropped):
            number.setMinimumWidth(max(number.minimumWidth(), number.sizeHint().width()))
        self.show()
        self._place()

    def hideEvent(self, event: object) -> None:
        """Forget the room that numbers took."""
        del event
        for number in (self.length, self.frames, self.dropped):
            number.setMinimumWidth(0)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay in the corner."""
        if watched is self._area and event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def _place(self) -> None:
        self.adjustSize()
        beside = self.width() + _OTHERS + 3 * _MARGIN <= self._area.width()
        top = _MARGIN if beside else 2 * _MARGIN + METRICS.control_height + 6
        self.move(_MARGIN, top)
        self.raise_()


def length_text(seconds: float) -> str:
    """Return for instance ``1:02.4``."""
    tenths = int(10.0 * seconds + 1e-6)
    return f"{tenths // 600}:{tenths // 10 % 60:02d}.{tenths % 10}"
