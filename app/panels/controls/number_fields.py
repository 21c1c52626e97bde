"""Fields for the numbers of one physics option, side by side."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from stroboscope.app.models.numbers import MINUS
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.panels.controls.value_bar import number_of
from stroboscope.app.panels.labels import label
from stroboscope.app.panels.style import METRICS, number_font
from stroboscope.app.panels.tips import tell
from stroboscope.debugger_protocol.scene_description import OptionInfo, OptionKind

__all__ = ["NumberFields", "option_text"]

_UNIT_WIDTH = 40


def _plain(value: float) -> str:
    return f"{value:.7g}".replace("-", MINUS)


def option_text(option: OptionInfo, values: tuple[float, ...]) -> str:
    """Return the values of an option in words."""
    match option.kind:
        case OptionKind.FLAG:
            return "on" if values[0] else "off"
        case OptionKind.CHOICE:
            index = int(values[0])
            return option.choices[index] if 0 <= index < len(option.choices) else str(index)
        case _:
            text = " ".join(map(_plain, values))
            return f"{text} {option.unit}".rstrip()


class NumberFields(QWidget):
    """One field per number; Enter or leaving commits all of them, Escape gives up."""

    def __init__(self, option: OptionInfo, *, commit: Callable[[tuple[float, ...]], None]) -> None:
        super().__init__()
        self._option = option
        self._commit = commit
        self._values: tuple[float, ...] = ()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        self.fields = [_Field(self) for _ in range(option.width)]
        for field in self.fields:
            field.setAccessibleName(option.name)
            row.addWidget(field, 1)
        if option.unit and option.width == 1:
            unit = label(option.unit, "muted")
            # Fields of all options end at the same place.
            unit.setMinimumWidth(_UNIT_WIDTH)
            row.addWidget(unit)

    def set_values(self, values: tuple[float, ...]) -> None:
        """Show what is set; a field that somebody types in keeps its text."""
        self._values = values
        for field, value in zip(self.fields, values, strict=True):
            if not field.hasFocus() or not field.isModified():
                field.show_number(value)

    def reset(self) -> None:
        """Show again what is set."""
        for field, value in zip(self.fields, self._values, strict=False):
            field.show_number(value)

    def finish(self) -> bool:
        """Commit what was typed; False when it is nothing that can be set."""
        numbers = [
            number_of(field.text()) if field.isModified() else value
            for field, value in zip(self.fields, self._values, strict=False)
        ]
        problem = self._problem(numbers)
        if problem:
            tell(self, problem)
            return False
        values = tuple(float(n) for n in numbers if n is not None)
        if values and values != self._values:
            self._commit(values)
        for field in self.fields:
            field.setModified(False)
        return True

    def _problem(self, numbers: list[float | None]) -> str:
        option = self._option
        for number in numbers:
            if number is None:
                return "That is not a number."
            if option.kind is OptionKind.INTEGER and not number.is_integer():
                return f"{option.name} takes whole numbers."
            if option.minimum is not None and number < option.minimum:
                return f"{option.name} is at least {_plain(option.minimum)}."
            if option.maximum is not None and number > option.maximum:
                return f"{option.name} is at most {_plain(option.maximum)}."
        return ""


class _Field(QLineEdit):
    """One number of an option."""

    def __init__(self, owner: NumberFields) -> None:
        super().__init__()
        self._owner = owner
        self._digits = self._why_not = ""
        self.setFont(number_font())
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setMinimumWidth(30)
        height = METRICS.compact_height - 4
        self.setStyleSheet(f"min-height: {height}px; padding: 0 4px; border-radius: 4px;")
        self.returnPressed.connect(self._on_return)

    def show_number(self, value: float) -> None:
        """Show a number that is set."""
        text = _plain(value)
        if text != self.text() or self.isModified():
            self.setText(text)
            self.setCursorPosition(0)
            self._digits = repr(value)
            self._hint()

    def set_why_not(self, why_not: str) -> None:
        """Say why it can't be set now, "" when it can."""
        if why_not != self._why_not:
            self._why_not = why_not
            self._hint()

    def _hint(self) -> None:
        self.setToolTip(plain_text("\n".join(filter(None, (self._digits, self._why_not)))))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take Escape."""
        if event.key() == Qt.Key.Key_Escape:
            self._owner.reset()
            self.clearFocus()
            return
        super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Commit what was typed, or forget what is no number."""
        if self.isModified() and not self._owner.finish():
            self._owner.reset()
        super().focusOutEvent(event)

    def _on_return(self) -> None:
        if self._owner.finish():
            self.selectAll()
