"""How a film shall be made: size, frames per second, and what its seconds are seconds of."""

import dataclasses

from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QWidget,
)

from stroboscope.app.models.film import TimeBase
from stroboscope.app.models.numbers import THIN_SPACE
from stroboscope.app.models.picture_choice import FilmChoice, Size
from stroboscope.app.panels.capture_dialog import CaptureDialog
from stroboscope.app.panels.style import METRICS, keep_clear, number_font

__all__ = ["FilmDialog"]

_SIZES = (Size.SHOWN, Size.HD, Size.FULL_HD, Size.UHD, Size.CUSTOM)
_FORMATS = ((".mp4", "MP4 (H.264)"), (".gif", "GIF"), ("", "PNG pictures in a folder"))
_BASES = ((TimeBase.SIMULATION, "s of the simulation"), (TimeBase.WALL, "s of real time"))
_NOTES = {
    TimeBase.SIMULATION: (
        "Frames are chosen by simulation time: slow, fast or paused, the film keeps the "
        "simulation's pace. While nothing moves, nothing is added."
    ),
    TimeBase.WALL: "Shows what you see while you see it, pauses and camera moves included.",
}


class FilmDialog(CaptureDialog):
    """Asks; ``choice`` is the answer once it was accepted. ``view`` is its size [px]."""

    def __init__(
        self, choice: FilmChoice, *, view: tuple[int, int], parent: QWidget | None = None
    ) -> None:
        super().__init__("Film", choice, sizes=_SIZES, parent=parent)
        self._choice = choice
        self.formats = QComboBox()
        for suffix, title in _FORMATS:
            self.formats.addItem(title, suffix)
        self.formats.setCurrentIndex(max(self.formats.findData(choice.suffix), 0))
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
        self.record_button = QPushButton("Record…")
        rows = (
            ("Format", self.formats),
            ("Size", self.sizes),
            ("Frames", self.fps),
            ("1 s of film", pace),
        )
        self.arrange(rows, (self.record_button,), width=420)
        self.base.currentIndexChanged.connect(self._refresh)
        self.record_button.clicked.connect(lambda _=False: self.accept())
        self._refresh()

    @property
    def choice(self) -> FilmChoice:
        """What is chosen now."""
        return dataclasses.replace(
            self._choice,
            suffix=str(self.formats.currentData()),
            fps=self.fps.value(),
            speed=self.speed.value(),
            base=TimeBase(self.base.currentData()),
            **self.shared(),
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
    keep_clear(field)
    if unit:
        field.setSuffix(f"{THIN_SPACE}{unit}")
    return field
