"""How a film shall be made: size, frames per second, and what its seconds are seconds of."""

import dataclasses

from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDoubleSpinBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.film import TimeBase
from stroboscope.app.models.picture_choice import FilmChoice, Size
from stroboscope.app.panels.labels import label
from stroboscope.app.panels.picture_dialog import check_column
from stroboscope.app.panels.size_fields import SizeFields
from stroboscope.app.panels.style import METRICS, number_font

__all__ = ["FilmDialog"]

_FORMATS = ((".mp4", "MP4 (H.264)"), (".gif", "GIF"), ("", "PNG pictures in a folder"))
_BASES = ((TimeBase.SIMULATION, "s of the simulation"), (TimeBase.WALL, "s of real time"))
_NOTES = {
    TimeBase.SIMULATION: (
        "Frames are chosen by simulation time: slow, fast or paused, the film keeps the "
        "simulation's pace. While nothing moves, nothing is added."
    ),
    TimeBase.WALL: "Shows what you see while you see it, pauses and camera moves included.",
}


class FilmDialog(QDialog):
    """Asks; ``choice`` is the answer once it was accepted. ``view`` is its size [px]."""

    def __init__(
        self, choice: FilmChoice, *, view: tuple[int, int], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Film")
        self._choice = choice
        self.formats = QComboBox()
        for suffix, title in _FORMATS:
            self.formats.addItem(title, suffix)
        self.formats.setCurrentIndex(max(self.formats.findData(choice.suffix), 0))
        self.sizes = SizeFields((Size.SHOWN, Size.HD, Size.FULL_HD, Size.UHD, Size.CUSTOM))
        self.sizes.choose(choice.size, (choice.width, choice.height))
        self.sizes.set_shown(view)
        self.fps = _number(choice.fps, least=1.0, most=240.0, decimals=0, unit="per second")
        self.speed = _number(choice.speed, least=0.001, most=1000.0, decimals=3, unit="")
        self.base = QComboBox()
        for base, title in _BASES:
            self.base.addItem(title, base.value)
        self.base.setCurrentIndex(self.base.findData(choice.base.value))
        pace = QWidget()
        row = QHBoxLayout(pace)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(METRICS.gap)
        row.addWidget(QLabel("shows"))
        row.addWidget(self.speed)
        row.addWidget(self.base, 1)
        boxes, self.overlays, self.labels, self.legend = check_column(choice)
        form = QFormLayout()
        form.setHorizontalSpacing(METRICS.padding)
        form.setVerticalSpacing(METRICS.gap)
        form.addRow("Format", self.formats)
        form.addRow("Size", self.sizes)
        form.addRow("Frames", self.fps)
        form.addRow("1 s of film", pace)
        form.addRow("Over it", boxes)
        self.note = label("", "small", wrap=True)
        self.cancel_button = QPushButton("Cancel")
        self.record_button = QPushButton("Record…")
        self.record_button.setProperty("primary", "true")
        self.record_button.setDefault(True)
        buttons = QHBoxLayout()
        buttons.addWidget(self.cancel_button)
        buttons.addStretch(1)
        buttons.addWidget(self.record_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, METRICS.padding)
        layout.setSpacing(METRICS.padding)
        layout.addLayout(form)
        layout.addWidget(self.note)
        layout.addLayout(buttons)
        self.base.currentIndexChanged.connect(self._refresh)
        self.cancel_button.clicked.connect(lambda _=False: self.reject())
        self.record_button.clicked.connect(lambda _=False: self.accept())
        self._refresh()
        self.setMinimumWidth(420)

    @property
    def choice(self) -> FilmChoice:
        """What is chosen now."""
        width, height = self.sizes.custom
        return dataclasses.replace(
            self._choice,
            suffix=str(self.formats.currentData()),
            size=self.sizes.size_choice,
            width=width,
            height=height,
            fps=self.fps.value(),
            speed=self.speed.value(),
            base=TimeBase(self.base.currentData()),
            overlays=self.overlays.isChecked(),
            labels=self.labels.isChecked(),
            legend=self.legend.isChecked(),
        )

    def _refresh(self) -> None:
        self.note.setText(_NOTES[TimeBase(self.base.currentData())])


def _number(value: float, *, least: float, most: float, decimals: int, unit: str) -> QDoubleSpinBox:
    field = QDoubleSpinBox()
    field.setRange(least, most)
    field.setDecimals(decimals)
    field.setStepType(QDoubleSpinBox.StepType.AdaptiveDecimalStepType)
    field.setFont(number_font())
    field.setValue(value)
    field.lineEdit().setTextMargins(METRICS.gap - 2, 0, METRICS.gap - 2, 0)
    if unit:
        field.setSuffix(f"\u2009{unit}")
    return field
