"""Conditions of the shown scene: write one, take a ready-made one, change and remove them."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.conditions import ConditionsModel, SavedCondition
from stroboscope.app.models.editing import why_not_changeable
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.ready_conditions import condition_problem, ready_offers
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.selection import SelectionModel
from stroboscope.app.panels.expression_field import ExpressionField
from stroboscope.app.panels.labels import EmptyText, label, rule
from stroboscope.app.panels.style import METRICS
from stroboscope.app.panels.travel.condition_row import COLUMNS, ConditionRow
from stroboscope.debugger_protocol.expressions import REMEMBERING, SignalTable
from stroboscope.resources.themes import Palette

__all__ = ["ConditionsPage"]

_EMPTY = (
    "No conditions yet. Write one above, or begin with a ready-made one; in a plot, right-click at "
    "a height. The scene stops at the end of the step in which it becomes true."
)


class ConditionsPage(QWidget):
    """A field for a new condition over a row per condition. GUI thread only.

    ``leave`` gives the keys back to the scene.
    """

    def __init__(
        self, selection: SelectionModel, palette: Palette, *, leave: Callable[[], None]
    ) -> None:
        super().__init__()
        self._selection = selection
        self._leave = leave
        self._palette = palette
        self._scene: SceneModel | None = None
        self._table: SignalTable | None = None
        self._table_of: object = None
        self._editing = 0
        self._built: object = None
        self.rows: dict[int, ConditionRow] = {}
        self._build()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._built = None
        self.show_scene(self._scene)

    # --- building

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        head = QHBoxLayout()
        head.setContentsMargins(METRICS.gap, METRICS.grid, METRICS.gap, METRICS.grid)
        head.setSpacing(METRICS.grid)
        self.field = ExpressionField(
            self._signals,
            placeholder="Stop when …  for instance  contact.penetration > 0.005",
            problem=condition_problem,
            functions=tuple(REMEMBERING),
            strict=True,
        )
        self.field.entered.connect(self._on_entered)
        self.field.cancelled.connect(self._on_cancelled)
        self.field.left_empty.connect(self._leave)
        self.name = QLineEdit()
        self.name.setPlaceholderText("Name")
        self.name.setFixedWidth(110)
        self.name.returnPressed.connect(self._commit)
        self.name.installEventFilter(self)
        self.log_only = QCheckBox("log only")
        self.log_only.setToolTip("Log and mark it; never stop.")
        self.log_only.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.only_here = QCheckBox("only here")
        self.only_here.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.only_here.hide()
        self.add_button = QPushButton("Add")
        self.add_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.add_button.clicked.connect(lambda _=False: self._commit())
        self.ready_button = QPushButton("Ready-made")
        self.ready_button.setToolTip("Begin with one of those that are wanted often.")
        self.ready_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.ready_button.clicked.connect(lambda _=False: self._open_ready())
        head.addWidget(self.field, 1, Qt.AlignmentFlag.AlignTop)
        for widget in (
            self.name,
            self.only_here,
            self.log_only,
            self.add_button,
            self.ready_button,
        ):
            head.addWidget(widget, 0, Qt.AlignmentFlag.AlignTop)
            widget.setFixedHeight(METRICS.control_height)
        column.addLayout(head)
        column.addWidget(rule())
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column.addWidget(self._scroll, 1)

    def _signals(self) -> SignalTable | None:
        scene = self._scene
        if scene is None or scene.description is None:
            return None
        # Made anew only when there are other signals: it is asked for with every letter.
        made_of = (scene, scene.description, len(scene.user_channels))
        if made_of != self._table_of:
            self._table_of, self._table = made_of, scene.signal_table()
        return self._table

    # --- showing

    def show_scene(self, scene: SceneModel | None) -> None:
        """Show a scene's conditions as they are."""
        if scene is not self._scene:
            self.forget_edit()
        self._scene = scene
        conditions = scene.conditions.conditions if scene is not None else ()
        numbers = tuple(each.condition_id for each in conditions)
        if (numbers, scene) != self._built:
            self._built = (numbers, scene)
            self._make_rows(scene)
        why_not = self._why_not()
        for each in conditions:
            self.rows[each.condition_id].show_condition(each, why_not)
        for widget in (self.field, self.name, self.log_only, self.add_button, self.ready_button):
            widget.setEnabled(not why_not)
        self._show_environment(why_not)
        self.add_button.setToolTip(plain_text(why_not))
        if self._editing and self._editing not in numbers:
            self.forget_edit()

    def _show_environment(self, why_not: str) -> None:
        """Offer to look at a new condition in one of several environments."""
        environments = self._scene.environments if self._scene is not None else None
        several = environments is not None and environments.count > 1
        self.only_here.setVisible(several)
        if environments is None or not several:
            return self.only_here.setChecked(False)
        self.only_here.setEnabled(not why_not and not self._editing)
        where = f"Look at it in environment {environments.selected} and in no other."
        fixed = "Where a condition is looked at is said when it is made." if self._editing else ""
        return self.only_here.setToolTip(plain_text(why_not or fixed or where))

    def _why_not(self) -> str:
        scene = self._scene
        why_not = why_not_changeable(scene)
        if not why_not and scene is not None and not scene.conditions.is_known:
            return "The engine of this scene watches no conditions."
        return why_not

    def _make_rows(self, scene: SceneModel | None) -> None:
        self.rows = {}
        body = QWidget()
        grid = QGridLayout(body)
        grid.setContentsMargins(METRICS.padding, METRICS.grid, METRICS.gap, METRICS.grid)
        grid.setHorizontalSpacing(METRICS.gap)
        grid.setVerticalSpacing(1)
        grid.setColumnStretch(1, 5)
        grid.setColumnStretch(2, 2)
        conditions = scene.conditions.conditions if scene is not None else ()
        if scene is None or not conditions:
            text = _EMPTY if scene is not None else "No scene is shown."
            grid.addWidget(EmptyText(text), 0, 0, 1, len(COLUMNS))
            grid.setRowStretch(0, 1)
        else:
            for place, title in enumerate(COLUMNS):
                grid.addWidget(label(title, "small"), 0, place)
            for line, each in enumerate(conditions, start=1):
                row = ConditionRow(
                    each, self._palette, model=scene.conditions, edit=self.begin_edit
                )
                self.rows[each.condition_id] = row
                for place, widget in enumerate(row.widgets):
                    grid.addWidget(widget, line, place)
            grid.setRowStretch(len(conditions) + 1, 1)
        self._scroll.setWidget(body)

    def _chosen_environments(self) -> tuple[int, ...]:
        scene = self._scene
        return (scene.environments.selected,) if scene and self.only_here.isChecked() else ()

    # --- what a person does

    def begin(self, expression: str, name: str = "") -> None:
        """Put an expression into the field, to be gone on with."""
        self.forget_edit()
        self.field.set_text(expression)
        self.name.setText(name)
        self.field.line.setFocus()

    def begin_edit(self, condition_id: int) -> None:
        """Put a condition's expression into the field; Add changes it then."""
        condition = self._model.find(condition_id) if self._model is not None else None
        if condition is not None:
            self._editing = condition_id
            self.field.set_text(condition.expression)
            self.name.setText(condition.name)
            self.name.setEnabled(False)
            self.log_only.setChecked(condition.log_only)
            self.only_here.setChecked(bool(condition.envs_idx))
            self._show_environment(self._why_not())
            self.add_button.setText("Change")
            self.field.line.setFocus()

    def forget_edit(self) -> None:
        """Empty the field: the next condition is a new one."""
        self._editing = 0
        self.field.set_text("")
        self.name.clear()
        self.name.setEnabled(True)
        self.log_only.setChecked(False)
        self.only_here.setChecked(False)
        self._show_environment(self._why_not())
        self.add_button.setText("Add")

    @property
    def _model(self) -> ConditionsModel | None:
        return self._scene.conditions if self._scene is not None else None

    def _commit(self) -> None:
        self.field.enter()

    def _on_cancelled(self) -> None:
        self.forget_edit()
        self._leave()

    def _on_taken(self) -> None:
        """Empty the field, and give its keys back unless somebody is elsewhere by now."""
        written = self.field.line.hasFocus() or self.name.hasFocus()
        self.forget_edit()
        if written:
            self._leave()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave the name with Escape as well."""
        if (
            watched is self.name
            and isinstance(event, QKeyEvent)
            and event.type() is QEvent.Type.KeyPress
            and event.key() == Qt.Key.Key_Escape
        ):
            self._on_cancelled()
            return True
        return super().eventFilter(watched, event)

    def _on_entered(self, text: str) -> None:
        model = self._model
        if model is None or self._why_not():
            return
        if self._editing:
            model.edit(
                self._editing,
                expression=text,
                log_only=self.log_only.isChecked(),
                otherwise=self.field.show_problem,
            )
            return self._on_taken()
        saved = SavedCondition(
            expression=text,
            name=" ".join(self.name.text().split()),
            log_only=self.log_only.isChecked(),
            envs_idx=self._chosen_environments(),
        )
        # It stays in the field until the engine has taken it.
        model.add(saved, then=lambda _id: self._on_taken(), otherwise=self.field.show_problem)
        return None

    def ready_menu(self) -> QMenu:
        """Return the menu of ready-made conditions for this scene."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        if self._scene is not None:
            for offer in ready_offers(self._scene, self._selection.element):
                action = menu.addAction(f"{offer.title.replace('&', '&&')} …")
                action.setEnabled(not offer.problem)
                action.setToolTip(plain_text(offer.problem or offer.expression))
                action.triggered.connect(lambda _=False, text=offer.expression: self.begin(text))
        return menu

    def _open_ready(self) -> None:
        button = self.ready_button
        self.ready_menu().popup(button.mapToGlobal(button.rect().bottomLeft()))
