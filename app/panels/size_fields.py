"""A choice of picture sizes with fields for any other."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSpinBox, QWidget

from stroboscope.app.models.picture_choice import LARGEST, SIZES, SMALLEST, Size
from stroboscope.app.panels.style import METRICS, keep_clear, number_font

__all__ = ["SizeFields"]


class SizeFields(QWidget):
    """A list of ``sizes`` and two numbers, which only *custom* lets people change."""

    changed = Signal()

    def __init__(self, sizes: tuple[Size, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown = (0, 0)
        self._custom = (1920, 1080)
        self.list = QComboBox()
        for size in sizes:
            self.list.addItem(_title(size), size.value)
        self.width_field, self.height_field = self._number(), self._number()
        self.width_field.setAccessibleName("Width in pixels")
        self.height_field.setAccessibleName("Height in pixels")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(METRICS.gap)
        row.addWidget(self.list, 1)
        row.addWidget(self.width_field)
        row.addWidget(QLabel("×"))
        row.addWidget(self.height_field)
        row.addWidget(QLabel("px"))
        self.list.currentIndexChanged.connect(self._on_choice)
        for field in (self.width_field, self.height_field):
            field.valueChanged.connect(self._on_number)

    def choose(self, size: Size, custom: tuple[int, int]) -> None:
        """Show a choice; one that is not in the list is the first."""
        self._custom = custom
        self.list.setCurrentIndex(max(self.list.findData(size.value), 0))
        self._on_choice()

    def set_shown(self, shown: tuple[int, int]) -> None:
        """Say how many pixels (width, height) the thing has on the screen."""
        self._shown = shown
        self._on_choice()

    @property
    def size_choice(self) -> Size:
        """What is chosen."""
        return Size(self.list.currentData())

    @property
    def custom(self) -> tuple[int, int]:
        """The numbers of *custom* (width, height) [px]."""
        return self._custom

    def limit_to(self, sizes: tuple[Size, ...]) -> None:
        """Offer only these of the list."""
        model = self.list.model()
        for row in range(self.list.count()):
            usable = Size(self.list.itemData(row)) in sizes
            flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
            model.setData(
                model.index(row, 0), flags.value if usable else 0, Qt.ItemDataRole.UserRole - 1
            )
        if self.size_choice not in sizes:
            self.choose(sizes[0], self._custom)

    def _number(self) -> QSpinBox:
        field = QSpinBox()
        field.setRange(SMALLEST, LARGEST)
        field.setFont(number_font())
        field.setAlignment(Qt.AlignmentFlag.AlignRight)
        field.setFixedWidth(64)
        keep_clear(field)
        return field

    def _on_choice(self) -> None:
        size = self.size_choice
        width, height = {
            Size.SHOWN: self._shown,
            Size.TWICE: (2 * self._shown[0], 2 * self._shown[1]),
            Size.CUSTOM: self._custom,
        }.get(size) or SIZES[size]
        for field, value in ((self.width_field, width), (self.height_field, height)):
            field.blockSignals(True)
            field.setValue(value)
            field.blockSignals(False)
            field.setEnabled(size is Size.CUSTOM)
        self.changed.emit()

    def _on_number(self) -> None:
        self._custom = self.width_field.value(), self.height_field.value()
        self.changed.emit()


def _title(size: Size) -> str:
    return size.value[0].upper() + size.value[1:]
