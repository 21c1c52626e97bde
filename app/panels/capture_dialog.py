"""What the dialogs for pictures and films share: size, what stands over it, a note, buttons."""

from typing import TypedDict

from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.picture_choice import FilmChoice, PictureChoice, Size
from stroboscope.app.panels.labels import button_row, label
from stroboscope.app.panels.size_fields import SizeFields
from stroboscope.app.panels.style import METRICS

__all__ = ["CaptureDialog"]

_MARGIN = 16


class _Shared(TypedDict):
    """The part of a choice that both dialogs ask for."""

    size: Size
    width: int
    height: int
    overlays: bool
    labels: bool
    legend: bool


class CaptureDialog(QDialog):
    """Fields for a choice; ``arrange`` puts them, and those of a subclass, into the dialog."""

    def __init__(
        self,
        title: str,
        choice: PictureChoice | FilmChoice,
        *,
        sizes: tuple[Size, ...],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.sizes = SizeFields(sizes)
        self.sizes.choose(choice.size, (choice.width, choice.height))
        self.overlays = QCheckBox("Overlays")
        self.overlays.setToolTip("Contacts, forces, axes, the selection's outline: what it shows.")
        self.overlays.setChecked(choice.overlays)
        self.labels = QCheckBox("Labels")
        self.labels.setToolTip("Names, where the view shows any.")
        self.labels.setChecked(choice.labels)
        self.legend = QCheckBox("Legend")
        self.legend.setToolTip("What the colours mean, where the view shows it.")
        self.legend.setChecked(choice.legend)
        self.note = label("", "small", wrap=True)
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.clicked.connect(lambda _=False: self.reject())

    def arrange(
        self, rows: tuple[tuple[str, QWidget], ...], buttons: tuple[QPushButton, ...], *, width: int
    ) -> None:
        """Lay out ``rows`` under each other, what stands over the picture, note and buttons.

        The last of the ``buttons`` is the one that Enter presses; ``width`` [px] is the least.
        """
        form = QFormLayout()
        form.setHorizontalSpacing(METRICS.padding)
        form.setVerticalSpacing(METRICS.gap)
        for title, field in rows:
            form.addRow(title, field)
        form.addRow("Over it", _side_by_side(self.overlays, self.labels, self.legend))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(_MARGIN, _MARGIN, _MARGIN, METRICS.padding)
        layout.setSpacing(METRICS.padding)
        layout.addLayout(form)
        layout.addWidget(self.note)
        layout.addLayout(button_row(self.cancel_button, *buttons))
        self.setMinimumWidth(width)

    def shared(self) -> _Shared:
        """Return what is chosen now of what both dialogs ask."""
        width, height = self.sizes.custom
        return _Shared(
            size=self.sizes.size_choice,
            width=width,
            height=height,
            overlays=self.overlays.isChecked(),
            labels=self.labels.isChecked(),
            legend=self.legend.isChecked(),
        )


def _side_by_side(*boxes: QCheckBox) -> QWidget:
    column = QWidget()
    row = QHBoxLayout(column)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(_MARGIN)
    for box in boxes:
        row.addWidget(box)
    row.addStretch(1)
    return column
