"""One condition: on or off, what it says, how often, and the way to change or remove it."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QLabel, QSpinBox, QToolButton, QWidget

from stroboscope.app.models.conditions import ConditionsModel, condition_title
from stroboscope.app.models.numbers import count_text
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.panels.expression_field import fixed_font
from stroboscope.app.panels.icons import Icon
from stroboscope.app.panels.labels import ElidedLabel, icon_button, label
from stroboscope.app.panels.style import METRICS, keep_clear, number_font, set_property
from stroboscope.debugger_protocol.time_messages import ConditionInfo
from stroboscope.resources.themes import Palette

__all__ = ["COLUMNS", "ConditionRow"]

COLUMNS = ("", "condition", "name", "stop at hit", "once", "log only", "hits", "", "")
"""Titles over the widgets of a row."""
_MOST_HITS = 1_000_000_000
_EVERYWHERE = "in every environment"
_SELECTED, _SELECTED_SHORT = "in the environment that is looked at", "in the selected one"


class ConditionRow:
    """The widgets of one row; ``edit`` puts its expression into the field above."""

    def __init__(
        self,
        condition: ConditionInfo,
        palette: Palette,
        *,
        model: ConditionsModel,
        edit: Callable[[int], None],
    ) -> None:
        number = condition.condition_id
        self.enabled = QCheckBox()
        self.enabled.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.enabled.setAccessibleName("enabled")
        self.enabled.clicked.connect(lambda on: model.edit(number, enabled=on))
        self.expression = ElidedLabel()
        self.expression.setFont(fixed_font())
        self.name = ElidedLabel()
        self.hits = QSpinBox()
        self.hits.setRange(1, _MOST_HITS)
        self.hits.setFixedSize(76, METRICS.compact_height)
        self.hits.setProperty("compact", True)
        self.hits.setFont(number_font())
        self.hits.setAlignment(Qt.AlignmentFlag.AlignRight)
        keep_clear(self.hits)
        self.hits.setKeyboardTracking(False)
        self.hits.setToolTip("Stop the how-manyth time that it becomes true.")
        self.hits.valueChanged.connect(lambda hits: self._on_hits(model, number, hits))
        self.once = self._box("Remove it when it has stopped the scene.")
        self.once.clicked.connect(lambda on: model.edit(number, once=on))
        self.log_only = self._box("Log and mark it; never stop.")
        self.log_only.clicked.connect(lambda on: model.edit(number, log_only=on))
        self.count: QLabel = label("", "")
        self.count.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.edit_button = self._tool(Icon.EDIT, palette, "Change the expression")
        self.edit_button.clicked.connect(lambda _=False: edit(number))
        self.remove = self._tool(Icon.CLOSE, palette, "Remove this condition")
        self.remove.clicked.connect(lambda _=False: model.remove(number))
        self._told_hits = condition.hits

    @staticmethod
    def _box(tip: str) -> QCheckBox:
        box = QCheckBox()
        box.setToolTip(tip)
        box.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return box

    @staticmethod
    def _tool(which: Icon, palette: Palette, tip: str) -> QToolButton:
        button = icon_button(which, palette, tip)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.setProperty("compact", True)
        return button

    @property
    def widgets(self) -> tuple[QWidget, ...]:
        """In the order of the columns."""
        return (
            self.enabled,
            self.expression,
            self.name,
            self.hits,
            self.once,
            self.log_only,
            self.count,
            self.edit_button,
            self.remove,
        )

    def show_condition(self, condition: ConditionInfo, why_not: str) -> None:
        """Show what is told of it."""
        self.enabled.setChecked(condition.enabled)
        self.enabled.setToolTip("It is watched." if condition.enabled else "It is not watched.")
        self.expression.set_full_text(condition.expression)
        failure = f"Not watched: {condition.failure}" if condition.failure else ""
        where = f"Looked at {condition.where}." if condition.where else ""
        self.expression.set_hint(plain_text(failure or where))
        set_property(self.expression, "level", "stop" if failure else "")
        set_property(self.expression, "role", "" if condition.enabled else "muted")
        # Without a name of its own it says where it is looked at, when that is not everywhere.
        of_some = "" if condition.where == _EVERYWHERE else condition.where
        named = condition.name or ("not watched, see tooltip" if failure else of_some)
        self.name.set_full_text(named, *((_SELECTED_SHORT,) if named == _SELECTED else ()))
        self._told_hits = condition.hits
        if not self.hits.hasFocus():
            self.hits.setValue(condition.hits)
        self.once.setChecked(condition.once)
        self.log_only.setChecked(condition.log_only)
        self.count.setText(count_text(condition.hit_count))
        for widget in (self.enabled, self.hits, self.once, self.log_only, self.remove):
            widget.setEnabled(not why_not)
        self.edit_button.setEnabled(not why_not)
        self.remove.setAccessibleName(f"remove {condition_title(condition)}")

    def _on_hits(self, model: ConditionsModel, number: int, hits: int) -> None:
        if hits != self._told_hits:
            self._told_hits = hits
            model.edit(number, hits=hits)
