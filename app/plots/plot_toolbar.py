"""The bar above the plots: what can be done, where the cursor is, what is missing."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from stroboscope.app.models.numbers import count_text, number_text, with_unit
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.session_time import Moment
from stroboscope.app.plots.plot_style import (
    METRICS,
    PlotIcon,
    plot_icon,
    small_number_font,
    tool_button,
)
from stroboscope.resources.themes import Palette

__all__ = ["PlotToolbar"]

_ICONS = ("add", "follow", "fit", "layouts", "export", "clear")


class _Text(QLabel):
    """A label that elides rather than forcing the panel to be wide."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(small_number_font())

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(self.font())
        painter.setPen(self.palette().color(self.foregroundRole()))
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()


class PlotToolbar(QWidget):
    """24 pixels: buttons left, then notes, then the instant under the cursor."""

    cancel_export = Signal()

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("plotToolbar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(METRICS.compact_height + 4)
        self.add = tool_button(PlotIcon.ADD, palette, "Add a signal to the plots")
        self.follow = tool_button(
            PlotIcon.FOLLOW, palette, "Follow the newest step (off: the view stands still)"
        )
        self.follow.setCheckable(True)
        self.fit = tool_button(PlotIcon.FIT, palette, "Show everything (double-click a plot)")
        self.layouts = tool_button(
            PlotIcon.LAYOUTS, palette, "Save or load an arrangement of plots"
        )
        self.export = tool_button(
            PlotIcon.EXPORT, palette, "Save what is plotted: CSV, NumPy or a picture"
        )
        self.clear = tool_button(PlotIcon.CLEAR, palette, "Forget what was drawn so far")
        self.note = _Text()
        self.progress = _Text()
        self.cancel = QPushButton("Cancel")
        self.cancel.setProperty("flat", True)
        self.cancel.setFixedHeight(METRICS.compact_height)
        self.cancel.clicked.connect(self.cancel_export)
        self.readout = _Text()
        self.readout.setToolTip(
            "The instant of the legends' values: at the cursor, else the last executed step.\n"
            "While a scene is paused NOW in the inspector is the state after that step.\n"
            "Where a state was restored no step was executed yet: only the instant stands here."
        )
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 2, 8, 2)
        row.setSpacing(2)
        for button in (
            self.add,
            self.follow,
            self.fit,
            self.layouts,
            self.export,
            self.clear,
        ):
            row.addWidget(button)
        row.addSpacing(METRICS.gap)
        row.addWidget(self.note)
        row.addWidget(self.progress)
        row.addWidget(self.cancel)
        row.addStretch(1)
        row.addWidget(self.readout)
        needs_signals = (self.follow, self.fit, self.export, self.clear)
        self._tooltips = {button: button.toolTip() for button in needs_signals}
        self.show_progress(None)
        self.set_theme(palette)

    def set_theme(self, palette: Palette) -> None:
        """Take the colours of a palette."""
        icons = (
            PlotIcon.ADD,
            PlotIcon.FOLLOW,
            PlotIcon.FIT,
            PlotIcon.LAYOUTS,
            PlotIcon.EXPORT,
            PlotIcon.CLEAR,
        )
        for name, which in zip(_ICONS, icons, strict=True):
            getattr(self, name).setIcon(plot_icon(which, palette))
        self.setStyleSheet(
            f"#plotToolbar {{ background: {palette.surface1};"
            f" border-bottom: 1px solid {palette.line}; }}"
            "#plotToolbar QToolButton { padding: 1px 3px; min-width: 18px; min-height: 16px; }"
            "#plotToolbar QToolButton:checked:disabled"
            " { background: transparent; border-color: transparent; }"
        )
        self.note.setStyleSheet(f"color: {palette.warn};")
        self.readout.setStyleSheet(f"color: {palette.muted};")

    def set_any_plotted(self, plotted: bool) -> None:
        """Enable what needs a plotted signal; the tooltips say why they are disabled."""
        for button, tooltip in self._tooltips.items():
            button.setEnabled(plotted)
            button.setToolTip(tooltip if plotted else f"{tooltip}. Nothing is plotted yet.")
        if not plotted:
            self.show_moment(None)
            self.show_note("")

    def show_moment(self, moment: Moment | None, *, prefix: str = "") -> None:
        """Show an instant: session time, episode time, physics step."""
        if moment is None:
            self.readout.setText("")
            return
        session = with_unit(number_text(moment.session_time, 4), "s")
        episode = with_unit(number_text(moment.episode_time, 4), "s")
        step = count_text(moment.axis)
        self.readout.setText(f"{prefix}session {session} · episode {episode} · physics step {step}")

    def show_note(self, text: str, tooltip: str = "") -> None:
        """Show what the user must know about the data; "": nothing."""
        self.note.setText(f"⚠ {text}" if text else "")
        self.note.setToolTip(plain_text(tooltip))
        self.note.setVisible(bool(text))

    def show_progress(self, text: str | None, *, can_cancel: bool = False) -> None:
        """Show how far an export is, or its result; None: nothing."""
        self.progress.setText(text or "")
        self.progress.setToolTip(plain_text(text or ""))
        self.progress.setVisible(text is not None)
        self.cancel.setVisible(can_cancel)
