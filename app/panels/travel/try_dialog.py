"""Try something else from a step of the past: which, how long, and what shall be different."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.editing import why_not_changeable
from stroboscope.app.models.numbers import MINUS, count_text, number_text, with_unit
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.rollouts import rollout_ref
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.signal import Signal
from stroboscope.app.models.what_if_fields import (
    TryField,
    fields_of,
    name_of_trial,
    typed_fields,
    value_now,
    value_text,
)
from stroboscope.app.panels.command_palette import matches
from stroboscope.app.panels.labels import ElidedLabel, label
from stroboscope.app.panels.style import METRICS, keep_clear, number_font, set_property
from stroboscope.app.panels.travel.scene_follower import SceneFollower
from stroboscope.app.panels.travel.try_row import TryRow
from stroboscope.app.panels.tree_items import SIDE_ROLE, SideTextDelegate
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.debugger_protocol.trials import OPEN_LOOP
from stroboscope.resources.themes import Palette

__all__ = ["TryDialog"]

BACK_STEPS = 100
"""So far back it begins while the present is looked at."""
_LISTED = 200
_MOST = 2_000_000_000
_WANTS = "try something else"
_AXIS_TIP = (
    "Counted from the very first step, as along the timeline: steps begin anew with each episode."
)
_RATE = 10.0
_WIDTH, _HEIGHT = 472, 500
_ROWS_SHOWN = 4
_FIELD_ROLE = Qt.ItemDataRole.UserRole + 9


class TryDialog(QDialog):
    """Non-modal, about the scene that is shown; what was typed stays until it is opened again.

    GUI thread only; ``close_panel`` stops listening.
    """

    def __init__(self, sessions: SessionsModel, palette: Palette, parent: QWidget) -> None:
        super().__init__(parent)
        self._sessions = sessions
        self._palette = palette
        self._scene: SceneModel | None = None
        self._described: object = None
        self._fields: tuple[TryField, ...] = ()
        self._view: int | None = None
        self._message = ("", "")
        self._missing = ""
        self.rows: list[TryRow] = []
        self._build(palette)
        self.set_theme(palette)
        self.follower = SceneFollower(self, sessions, signals=self._signals, refresh=self._refresh)

    def close_panel(self) -> None:
        """Stop listening."""
        self.hide()
        self.follower.close()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self.list.setItemDelegate(SideTextDelegate(palette, self.list))
        for row in self.rows:
            row.set_theme(palette)
        self.setStyleSheet(
            f"*[problem='true'] {{ border: 1px solid {palette.stop}; }}"
            f"QPushButton[primary='true']:disabled {{ background: {palette.surface2};"
            f" color: {palette.disabled}; border-color: {palette.line}; }}"
            f"QListWidget {{ background: {palette.surface0}; border: 1px solid {palette.line}; }}"
        )

    # --- building

    def _build(self, palette: Palette) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(
            METRICS.padding, METRICS.padding, METRICS.padding, METRICS.padding
        )
        layout.setSpacing(METRICS.gap)
        self.begin = self._number("Step to begin with, counted from the very first")
        self.begin.valueChanged.connect(lambda _: self._refresh())
        self.where = ElidedLabel()
        self.where.setProperty("role", "small")
        self.begin_title = self._line(layout, "From step", self.begin, self.where)
        self.steps = self._number("How many physics steps are simulated")
        self.steps.valueChanged.connect(lambda _: self._refresh())
        self.steps.setToolTip("0: as far as inputs were recorded. Beyond, the last ones are held.")
        self.how_long = ElidedLabel()
        self.how_long.setProperty("role", "small")
        self._line(layout, "Physics steps", self.steps, self.how_long)
        self.open_loop = label(f"Simulated {OPEN_LOOP}.", "small", wrap=True)
        layout.addWidget(self.open_loop)
        layout.addWidget(label("With something else", "heading"))
        self._chosen = QWidget()
        self._column = QVBoxLayout(self._chosen)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(2)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self._chosen)
        layout.addWidget(self._scroll)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Add: kp, timestep, gravity, ctrl, force, damping, mass…")
        self.search.setClearButtonEnabled(True)
        self.search.setAccessibleName("Search for what to change")
        self.search.setMaxLength(200)
        self.search.textChanged.connect(lambda _: self._fill_list())
        self.search.installEventFilter(self)
        layout.addWidget(self.search)
        self.list = QListWidget()
        self.list.setItemDelegate(SideTextDelegate(palette, self.list))
        self.list.itemClicked.connect(self._add_item)
        self.list.itemActivated.connect(self._add_item)
        layout.addWidget(self.list, 1)
        self.said = label("", "small", wrap=True)
        self.said.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.said.setMinimumHeight(2 * self.said.fontMetrics().lineSpacing())
        self.said.setAlignment(Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self.said)
        bottom = QHBoxLayout()
        self.close_button = QPushButton("Close")
        self.close_button.setAutoDefault(False)
        self.close_button.clicked.connect(lambda _=False: self.reject())
        self.try_button = QPushButton("Try")
        self.try_button.setProperty("primary", "true")
        self.try_button.setDefault(True)
        self.try_button.clicked.connect(lambda _=False: self.start())
        bottom.addWidget(self.close_button)
        bottom.addStretch(1)
        bottom.addWidget(self.try_button)
        layout.addLayout(bottom)
        self.resize(_WIDTH, _HEIGHT)
        self._fit_rows()

    @staticmethod
    def _number(name: str) -> QSpinBox:
        made = QSpinBox()
        made.setRange(0, _MOST)
        made.setFont(number_font())
        made.setAlignment(Qt.AlignmentFlag.AlignRight)
        made.setFixedWidth(112)
        keep_clear(made)
        made.setAccessibleName(name)
        made.setToolTip(name)
        return made

    @staticmethod
    def _line(layout: QVBoxLayout, title: str, field: QWidget, beside: QWidget) -> QLabel:
        row = QHBoxLayout()
        row.setSpacing(METRICS.gap)
        heading = label(title)
        heading.setFixedWidth(96)
        row.addWidget(heading)
        row.addWidget(field)
        row.addWidget(beside, 1)
        layout.addLayout(row)
        return heading

    # --- opening

    def open_at(self, axis: int | None = None) -> None:
        """Show it, to begin with a row: by default the one in view; live, some steps back."""
        scene = self._sessions.shown
        self._take(scene)
        if scene is not None:
            self._view = scene.history.view
            self._place(axis if axis is not None else self._usual_begin(scene))
            self.steps.setValue(0)
        self._say("")
        self.show()
        self.raise_()
        self.activateWindow()
        self.search.setFocus()
        self.search.selectAll()
        self._refresh()

    @staticmethod
    def _usual_begin(scene: SceneModel) -> int:
        history = scene.history
        if history.view is not None:
            return history.view
        if not history.has_rows:
            return history.live
        # Not from before a reset: from there it would end with that.
        segment = history.segment_at(history.live - 1)
        first = max(history.first, segment.begin if segment is not None else 0)
        return max(first, history.live - BACK_STEPS)

    def _place(self, axis: int) -> None:
        self.begin.blockSignals(True)
        self.begin.setRange(0, _MOST)
        self.begin.setValue(axis)
        self.begin.blockSignals(False)

    # --- following

    @staticmethod
    def _signals(scene: SceneModel) -> tuple[Signal[[]], ...]:
        return (scene.history.changed, scene.rollouts.changed)

    def showEvent(self, event: QShowEvent) -> None:
        """Ask for the values that are shown."""
        super().showEvent(event)
        self._want(self._scene)

    def hideEvent(self, event: QHideEvent) -> None:
        """Ask for nothing more."""
        super().hideEvent(event)
        if self._scene is not None:
            self._scene.want(_WANTS, ())

    def _want(self, scene: SceneModel | None) -> None:
        if scene is not None and scene.description is not None and not scene.is_stale:
            options = (Topic.OPTIONS,) if scene.description.options else ()
            scene.want(_WANTS, (Topic.STATE, *options), rate=_RATE)

    def _take(self, scene: SceneModel | None) -> None:
        """Be about a scene, or about what it is described as now; edits that it has too stay."""
        described = scene.description if scene is not None else None
        if scene is self._scene and described is self._described:
            return
        if self._scene is not None and scene is not self._scene:
            self._scene.want(_WANTS, ())
        changed = scene is not self._scene
        self._scene, self._described = scene, described
        self._fields = fields_of(described)
        if self.isVisible():
            self._want(scene)
        if changed and scene is not None:
            self._view = scene.history.view
            self._place(self._usual_begin(scene))
        known = {field.key: field for field in self._fields}
        for row in tuple(self.rows):
            field = known.get(row.field.key)
            if field is not None and field.name == row.field.name:
                row.field = field
            else:
                self.remove(row)
        name = f" · {scene.name}" if scene is not None else ""
        self.setWindowTitle(f"Try something else from here{name}")
        self._fill_list()

    def _refresh(self) -> None:
        scene = self._sessions.shown
        self._take(scene)
        if scene is None:
            self._allow("No scene is shown.")
            return
        history = scene.history
        if history.view != self._view:
            self._view = history.view
            if history.view is not None:
                self._place(history.view)
        self.begin.blockSignals(True)
        self.begin.setRange(min(history.first, history.live), history.live)
        self.begin.blockSignals(False)
        self._tell_place(scene)
        for row in self.rows:
            row.show_now(value_now(scene, row.field))
            row.mark()
        for at in range(self.list.count()):
            item = self.list.item(at)
            field = item.data(_FIELD_ROLE)
            if isinstance(field, TryField):
                text = value_text(field, value_now(scene, field))
                if text != item.data(SIDE_ROLE):
                    item.setData(SIDE_ROLE, text)
        self._allow(self._why_not(scene))

    def _tell_place(self, scene: SceneModel) -> None:
        history, axis = scene.history, self.begin.value()
        back = history.live - axis
        parts = [f"{MINUS}{count_text(back)} from live" if back else "live"]
        place = history.place(axis)
        if place is not None:
            parts.append(f"t {with_unit(number_text(place.time), 's')}")
        if axis == history.view:
            parts.append("in view")
        # Numbers are typed as for "Go to"; steps begin anew with what is restored or reset.
        newest = history.place(history.live)
        told = ((axis, place), (history.live, newest))
        anew = any(at is not None and at.step != counted for counted, at in told)
        self.begin_title.setText("From axis" if anew else "From step")
        self.begin_title.setToolTip(_AXIS_TIP if anew else "")
        if anew and place is not None:
            parts.insert(0, f"step {count_text(place.step)}")
            self.where.set_hint(f"Episode {place.episode}.")
        else:
            self.where.set_hint("")
        self.where.set_full_text(*(" · ".join(parts[:n]) for n in range(len(parts), 0, -1)))
        steps = self.steps.value()
        if steps:
            took = steps * history.pace_at(axis)
            self.how_long.set_full_text(with_unit(number_text(took), "s") if took else "")
        elif not back:
            self.how_long.set_full_text("0: 500 steps ahead, inputs as they stand")
        else:
            segment = history.segment_at(axis)
            to_live = segment is None or not history.segments or segment == history.segments[-1]
            end = "to live" if to_live else "to the end of that part of the history"
            self.how_long.set_full_text(f"0: {end}")

    def _why_not(self, scene: SceneModel) -> str:
        if why_not := why_not_changeable(scene):
            return why_not
        if scene.history.told is None:
            return "The engine of this scene keeps no history: nothing can be simulated again."
        if scene.rollouts.running:
            told = scene.history.told
            part = f" {round(100 * told.progress)} %" if told is not None and told.busy else ""
            return f"Simulating {scene.rollouts.running}{part}…"
        if not self.rows:
            return "Choose what shall be different."
        return next((row.why_not for row in self.rows if row.why_not), "")

    def _allow(self, why_not: str) -> None:
        self.try_button.setEnabled(not why_not)
        self.try_button.setToolTip(plain_text(why_not) or "Simulate it beside the scene.   Enter")
        self._missing = why_not
        self._show_said()

    # --- what is chosen

    def _fill_list(self) -> None:
        query = self.search.text()
        found = [f for f in self._fields if matches(query, f"{f.name} {f.key} {f.words}")]
        # What is called so comes before what is only about it.
        found.sort(key=lambda field: not matches(query, field.name))
        self.list.clear()
        scene = self._scene
        known = {field.key for field in found}
        typed = typed_fields(scene.description if scene is not None else None, query)
        found += [field for field in typed if field.key not in known]
        for field in found[:_LISTED]:
            item = QListWidgetItem(field.name)
            item.setData(_FIELD_ROLE, field)
            item.setToolTip(plain_text(field.key))
            if scene is not None:
                item.setData(SIDE_ROLE, value_text(field, value_now(scene, field)))
            self.list.addItem(item)
        more = len(found) - _LISTED
        rest = f"{count_text(more)} more: type what it is called" if more > 0 else ""
        rest = rest or (
            ""
            if found
            else "Nothing is called so. A field of the model: dof_damping[3]; some servos: kp.*hip*"
        )
        if rest:
            item = QListWidgetItem(rest)
            item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(item)
        self.list.setCurrentRow(0 if found else -1)

    def _add_item(self, item: QListWidgetItem | None) -> None:
        field = item.data(_FIELD_ROLE) if item is not None else None
        if isinstance(field, TryField):
            self.add(field)

    def add(self, field: TryField) -> None:
        """Ask for another value of a field; one that is asked for already gets the focus."""
        row = next((each for each in self.rows if each.field.key == field.key), None)
        if row is None:
            row = TryRow(field, self._palette, changed=self._on_edited, removed=self.remove)
            self.rows.append(row)
            self._column.addWidget(row)
            self._fit_rows()
            if self._scene is not None:
                row.show_now(value_now(self._scene, field))
        row.take_focus()
        self._scroll.ensureWidgetVisible(row)
        self._on_edited()

    def remove(self, row: TryRow) -> None:
        """Leave a field as it was."""
        self.rows.remove(row)
        self._column.removeWidget(row)
        row.hide()
        row.deleteLater()
        self._fit_rows()
        self._on_edited()

    def _fit_rows(self) -> None:
        shown = min(len(self.rows), _ROWS_SHOWN)
        self._scroll.setVisible(bool(shown))
        self._scroll.setFixedHeight(shown * (METRICS.control_height + 2) + 2)

    def _on_edited(self) -> None:
        self._say("")
        if self._scene is not None:
            self._allow(self._why_not(self._scene))

    # --- trying

    def start(self) -> None:
        """Simulate what is chosen; what came of it is said below."""
        scene = self._scene
        if scene is None or self._why_not(scene):
            return
        begin, name = self.begin.value(), name_of_trial([row.values for row in self.rows])
        edits = tuple(edit for row in self.rows for edit in row.edits)

        def done(rollout_id: int) -> None:
            problem = scene.ghosts.add(rollout_ref(scene.scene_id, rollout_id), name)
            if scene is not self._scene:
                return
            info = scene.rollouts.find(rollout_id)
            facts = (
                f"{count_text(info.steps)} steps, {info.outcome}, {OPEN_LOOP}. "
                if info is not None
                else ""
            )
            # From where it begins in view, the ghost stands within the scene itself.
            further = "; look forward to see it part" if scene.history.view == begin else ""
            shown = f"A ghost in the picture, a row in Rollouts{further}."
            self._say(f"{name}: {facts}{problem or shown}")

        def refused(reason: str) -> None:
            if scene is self._scene:
                self._say(reason, "stop")

        self._say("")
        scene.rollouts.resimulate(
            begin,
            edits,
            steps=self.steps.value(),
            name=name,
            then=done,
            otherwise=refused,
        )
        self._refresh()

    def _say(self, text: str, level: str = "ok") -> None:
        """Say what came of it, until something else is done; empty: what is missing."""
        self._message = (text, level)
        self._show_said()

    def _show_said(self) -> None:
        text, level = self._message
        wrong = next((row.why_not for row in self.rows if row.is_wrong), "")
        doubt = self._doubt()
        hints = "\n".join(part for part in (doubt, self._missing) if part)
        self.said.setText(text or wrong or hints)
        warns = "warn" if doubt else ""
        set_property(self.said, "level", level if text else "stop" if wrong else warns)

    def _doubt(self) -> str:
        """Say of a past in view that it leads elsewhere by now: so will what is tried."""
        scene = self.follower.scene
        history = scene.history if scene is not None else None
        if history is None or not history.doubt or history.view != self.begin.value():
            return ""
        return f"{history.doubt[:1].upper()}{history.doubt[1:]}."

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move in the list and choose from it while the search field has the focus."""
        if (
            watched is self.search
            and isinstance(event, QKeyEvent)
            and event.type() is QEvent.Type.KeyPress
        ):
            if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
                row = self.list.currentRow() + (1 if event.key() == Qt.Key.Key_Down else -1)
                self.list.setCurrentRow(min(max(row, 0), self.list.count() - 1))
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._add_item(self.list.currentItem())
                return True
        return super().eventFilter(watched, event)
