"""One edit that is to be tried: whose, what it is now, and the other value."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QWidget

from stroboscope.app.models.what_if_fields import TryField, value_text
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import ElidedLabel, icon_button, label
from stroboscope.app.panels.style import METRICS, number_font, set_property
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf
from stroboscope.debugger_protocol.trials import gain_number, gain_values
from stroboscope.resources.themes import Palette

__all__ = ["TryRow"]

_FIELD_WIDTH = 80
_UNIT_WIDTH = 76
_NOW_WIDTH = 56
_LISTED = 30
_SAID = {
    EditKind.CONTROL: "Held at this value all the way, whatever the script wrote.",
    EditKind.FORCE: "Added to what was applied when it was recorded.",
    EditKind.GAIN_FACTOR: "What each of them has is multiplied with this.",
}
_SIGNS = {EditKind.FORCE: "+", EditKind.GAIN_FACTOR: "×"}


class TryRow(QWidget):
    """Asks for the other value; ``why_not`` says what is wrong with it. GUI thread only."""

    def __init__(
        self,
        field: TryField,
        palette: Palette,
        *,
        changed: Callable[[], None],
        removed: Callable[["TryRow"], None],
    ) -> None:
        super().__init__()
        self.field = field
        self._now: float | None = None
        self._touched = False
        self.setFixedHeight(METRICS.control_height)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(METRICS.grid)
        name = ElidedLabel(field.whose)
        hints = (field.key, _SAID.get(field.kind, ""), _servos(field))
        name.set_hint("\n".join(filter(None, hints)))
        row.addWidget(name, 1)
        self.now = label("", "muted")
        self.now.setFont(number_font())
        self.now.setMinimumWidth(_NOW_WIDTH)
        self.now.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.now)
        row.addWidget(label(_SIGNS.get(field.kind, "→"), "muted"))
        self.line, self.choice = QLineEdit(), QComboBox()
        self.input: QLineEdit | QComboBox = self.choice if field.choices else self.line
        self.line.setFont(number_font())
        self.line.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.line.textEdited.connect(self._on_edited)
        self.choice.addItems(field.choices)
        self.choice.activated.connect(self._on_edited)
        for each in (self.line, self.choice):
            each.setProperty("compact", True)
            each.setAccessibleName(f"Other value of {field.name}")
        self.input.setFixedWidth(_FIELD_WIDTH if not field.choices else _FIELD_WIDTH + _UNIT_WIDTH)
        row.addWidget(self.input)
        if not field.choices:
            # A factor has none: there stands what comes of it.
            own = field.unit if field.kind is not EditKind.GAIN_FACTOR else ""
            self.unit = label(own, "muted")
            self.unit.setFixedWidth(_UNIT_WIDTH - METRICS.grid)
            row.addWidget(self.unit)
        for each in (self.line, self.choice):
            if each is not self.input:
                each.setParent(self)
                each.hide()
        self.away = icon_button(Icon.CLOSE, palette, "Leave it as it was")
        self.away.clicked.connect(lambda _=False: removed(self))
        row.addWidget(self.away)
        self._changed = changed

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self.away.setIcon(icon(Icon.CLOSE, palette))

    def show_now(self, value: float | None) -> None:
        """Show what it is; until somebody types, the field begins with that."""
        self._now = value
        is_factor = self.field.kind is EditKind.GAIN_FACTOR
        self.now.setText(value_text(self.field, value, unit=is_factor))
        if self._touched:
            return
        if self.field.choices:
            self.choice.setCurrentIndex(-1 if value is None else int(value))
        elif self.field.kind is not EditKind.FORCE and value is not None:
            text = "1" if is_factor else value_text(self.field, value, unit=False)
            if text != self.line.text():
                self.line.setText(text)
                self.line.selectAll()

    def take_focus(self) -> None:
        """Let the other value be typed."""
        self.input.setFocus()
        self.line.selectAll()

    @property
    def why_not(self) -> str:
        """Why that can't be tried, empty: it can."""
        return self.field.why_not(self._text, self._now)

    @property
    def edits(self) -> tuple[WhatIf, ...]:
        """What has to be written; nothing while there is a problem."""
        value = self.field.parsed(self._text)
        return self.field.edits(value) if value is not None else ()

    @property
    def values(self) -> tuple[TryField, float, float | None]:
        """The field, the value that is to be tried, and what it is now."""
        value = self.field.parsed(self._text)
        return self.field, value if value is not None else 0.0, self._now

    @property
    def is_wrong(self) -> bool:
        """Whether what somebody has set can't be tried."""
        return self._touched and bool(self.why_not)

    def mark(self) -> None:
        """Show at the field whether what was set can be tried, and what a factor makes of it."""
        set_property(self.input, "problem", self.is_wrong)
        several = self.field.several
        if several is not None and self.field.kind is EditKind.GAIN_FACTOR:
            factor = self.field.parsed(self._text)
            new = [servo.gain.value * (factor or 0.0) for servo in several.servos]
            self.unit.setText("" if factor is None else f"= {gain_values(new)}")

    @property
    def _text(self) -> str:
        if self.field.choices:
            at = self.choice.currentIndex()
            return str(at) if at >= 0 else ""
        return self.line.text()

    def _on_edited(self, *_: object) -> None:
        self._touched = True
        self.mark()
        self._changed()


def _servos(field: TryField) -> str:
    """Return the servos of a field with the gain of each, a line each; nothing for one alone."""
    several = field.several
    if several is None:
        return ""
    lines = [
        f"{servo.name}  {gain_number(servo.gain.value)} {servo.unit}".rstrip()
        for servo in several.servos[:_LISTED]
    ]
    more = len(several.servos) - _LISTED
    return "\n".join([*lines, *([f"+{more} more"] if more > 0 else [])])
