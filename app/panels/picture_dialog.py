"""What a picture shall show, how large, and with what over it."""

import dataclasses
import enum

from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.picture_choice import PictureChoice, PictureOf, Size
from stroboscope.app.panels.labels import label
from stroboscope.app.panels.size_fields import SizeFields
from stroboscope.app.panels.style import METRICS

__all__ = ["PictureDialog", "PictureWish", "check_column"]

_WINDOW_SIZES = (Size.SHOWN, Size.TWICE)
_TITLES = {PictureOf.VIEW: "3D view", PictureOf.WINDOW: "Whole window"}


class PictureWish(enum.Enum):
    """What is to be done with the picture."""

    SAVE = "save"
    COPY = "copy"


class PictureDialog(QDialog):
    """Asks; ``choice`` and ``wish`` are the answer once it was accepted.

    ``view`` and ``window`` are how many pixels (width, height) they have on the screen.
    """

    def __init__(
        self,
        choice: PictureChoice,
        *,
        view: tuple[int, int],
        window: tuple[int, int],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Picture")
        self._choice = choice
        self._pixels = {PictureOf.VIEW: view, PictureOf.WINDOW: window}
        self.wish = PictureWish.SAVE
        self.of = QComboBox()
        for of, title in _TITLES.items():
            self.of.addItem(title, of.value)
        self.of.setCurrentIndex(self.of.findData(choice.of.value))
        self.sizes = SizeFields(tuple(Size))
        self.sizes.choose(choice.size, (choice.width, choice.height))
        self.transparent = QCheckBox("Transparent")
        self.transparent.setToolTip("The model alone, without ground and sky.")
        self.transparent.setChecked(choice.transparent)
        boxes, self.overlays, self.labels, self.legend = check_column(choice)
        form = QFormLayout()
        form.setHorizontalSpacing(METRICS.padding)
        form.setVerticalSpacing(METRICS.gap)
        form.addRow("Of", self.of)
        form.addRow("Size", self.sizes)
        form.addRow("Background", self.transparent)
        form.addRow("Over it", boxes)
        self.note = label("", "small", wrap=True)
        self.cancel_button = QPushButton("Cancel")
        self.copy_button = QPushButton("Copy")
        self.copy_button.setToolTip("Put the picture into the clipboard.")
        self.save_button = QPushButton("Save…")
        self.save_button.setProperty("primary", "true")
        self.save_button.setDefault(True)
        buttons = QHBoxLayout()
        buttons.addWidget(self.cancel_button)
        buttons.addStretch(1)
        buttons.addWidget(self.copy_button)
        buttons.addWidget(self.save_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, METRICS.padding)
        layout.setSpacing(METRICS.padding)
        layout.addLayout(form)
        layout.addWidget(self.note)
        layout.addLayout(buttons)
        self.of.currentIndexChanged.connect(self._refresh)
        self.cancel_button.clicked.connect(lambda _=False: self.reject())
        self.copy_button.clicked.connect(lambda _=False: self._answer(PictureWish.COPY))
        self.save_button.clicked.connect(lambda _=False: self._answer(PictureWish.SAVE))
        self._refresh()
        self.setMinimumWidth(400)

    @property
    def choice(self) -> PictureChoice:
        """What is chosen now."""
        width, height = self.sizes.custom
        return dataclasses.replace(
            self._choice,
            of=PictureOf(self.of.currentData()),
            size=self.sizes.size_choice,
            width=width,
            height=height,
            transparent=self.transparent.isChecked(),
            overlays=self.overlays.isChecked(),
            labels=self.labels.isChecked(),
            legend=self.legend.isChecked(),
        )

    def _refresh(self) -> None:
        of = PictureOf(self.of.currentData())
        is_view = of is PictureOf.VIEW
        self.sizes.limit_to(tuple(Size) if is_view else _WINDOW_SIZES)
        self.sizes.set_shown(self._pixels[of])
        for box in (self.transparent, self.overlays, self.labels, self.legend):
            box.setEnabled(is_view)
        self.note.setText(
            "Drawn for this picture in full quality, of the instant that is on show."
            if is_view
            else "As the window is now, with its panels."
        )

    def _answer(self, wish: PictureWish) -> None:
        self.wish = wish
        self.accept()


def check_column(
    choice: PictureChoice | object,
) -> tuple[QWidget, QCheckBox, QCheckBox, QCheckBox]:
    """Return what may stand over a picture, as ``choice`` has it: overlays, labels, legend."""
    overlays, labels, legend = QCheckBox("Overlays"), QCheckBox("Labels"), QCheckBox("Legend")
    overlays.setToolTip("Contacts, forces, axes, the selection's outline: what the view shows.")
    labels.setToolTip("Names, where the view shows any.")
    legend.setToolTip("What the colours mean, where the view shows it.")
    column = QWidget()
    row = QHBoxLayout(column)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(16)
    for box, name in ((overlays, "overlays"), (labels, "labels"), (legend, "legend")):
        box.setChecked(bool(getattr(choice, name)))
        row.addWidget(box)
    row.addStretch(1)
    return column, overlays, labels, legend
