"""What a picture shall show, how large, and with what over it."""

import dataclasses
import enum

from PySide6.QtWidgets import QCheckBox, QComboBox, QPushButton, QWidget

from stroboscope.app.models.picture_choice import PictureChoice, PictureOf, Size
from stroboscope.app.panels.capture_dialog import CaptureDialog

__all__ = ["PictureDialog", "PictureWish"]

_WINDOW_SIZES = (Size.SHOWN, Size.TWICE)
_TITLES = {PictureOf.VIEW: "3D view", PictureOf.WINDOW: "Whole window"}


class PictureWish(enum.Enum):
    """What is to be done with the picture."""

    SAVE = "save"
    COPY = "copy"


class PictureDialog(CaptureDialog):
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
        super().__init__("Picture", choice, sizes=tuple(Size), parent=parent)
        self._choice = choice
        self._pixels = {PictureOf.VIEW: view, PictureOf.WINDOW: window}
        self.wish = PictureWish.SAVE
        self.of = QComboBox()
        for of, title in _TITLES.items():
            self.of.addItem(title, of.value)
        self.of.setCurrentIndex(self.of.findData(choice.of.value))
        self.transparent = QCheckBox("Transparent")
        self.transparent.setToolTip("The model alone, without ground and sky.")
        self.transparent.setChecked(choice.transparent)
        self.copy_button = QPushButton("Copy")
        self.copy_button.setToolTip("Put the picture into the clipboard.")
        self.save_button = QPushButton("Save…")
        rows = (("Of", self.of), ("Size", self.sizes), ("Background", self.transparent))
        self.arrange(rows, (self.copy_button, self.save_button), width=400)
        self.of.currentIndexChanged.connect(self._refresh)
        self.copy_button.clicked.connect(lambda _=False: self._answer(PictureWish.COPY))
        self.save_button.clicked.connect(lambda _=False: self._answer(PictureWish.SAVE))
        self._refresh()

    @property
    def choice(self) -> PictureChoice:
        """What is chosen now."""
        return dataclasses.replace(
            self._choice,
            of=PictureOf(self.of.currentData()),
            transparent=self.transparent.isChecked(),
            **self.shared(),
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
