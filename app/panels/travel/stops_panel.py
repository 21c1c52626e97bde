"""What stops the shown scene: the stops there were, conditions, and rules."""

from collections.abc import Callable, Iterable

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QSplitter,
    QStackedWidget,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.signal import Signal
from stroboscope.app.models.tables.stops import element_of, stops_table
from stroboscope.app.panels.labels import rule
from stroboscope.app.panels.style import METRICS
from stroboscope.app.panels.tables.value_table import ValueTable
from stroboscope.app.panels.travel.conditions_page import ConditionsPage
from stroboscope.app.panels.travel.rules_page import RulesPage
from stroboscope.app.panels.travel.scene_follower import SceneFollower
from stroboscope.app.panels.travel.stop_details import StopDetails
from stroboscope.debugger_protocol.edit_messages import ElementRef
from stroboscope.debugger_protocol.time_messages import StopInfo
from stroboscope.resources.themes import Palette

__all__ = ["StopsPanel"]

_EMPTY = (
    "Nothing has stopped this scene. It is held just before a step that makes numbers explode or "
    "vanish, and when one of your conditions becomes true."
)


class StopsPanel(QWidget):
    """Three pages. ``go_to`` moves the view of a scene to a row; ``tell`` says a sentence;
    ``leave`` gives the keys back to the scene.
    """

    def __init__(
        self,
        sessions: SessionsModel,
        palette: Palette,
        *,
        go_to: Callable[[SceneModel, int], None],
        tell: Callable[[str], None],
        leave: Callable[[], None],
    ) -> None:
        super().__init__()
        self.setObjectName("panel")
        self._sessions = sessions
        self._chosen: int | None = None
        self._newest: tuple[SceneModel | None, int] = (None, 0)
        self._go_to = go_to
        self.table = ValueTable(palette)
        self.table.view.on_click = self._on_click
        self.table.view.add_actions = self._fill_menu
        self.details = StopDetails(palette, go_to=go_to, select=self._select, tell=tell)
        self.conditions = ConditionsPage(sessions.selection, palette, leave=leave)
        self.rules = RulesPage()
        self._build()
        self.follower = SceneFollower(self, sessions, signals=self._signals, refresh=self.refresh)
        self.refresh()

    def close_panel(self) -> None:
        """Stop listening."""
        self.follower.close()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self.table.set_theme(palette)
        self.details.set_theme(palette)
        self.conditions.set_theme(palette)
        self.refresh()

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.tabs = QTabBar()
        self.tabs.setObjectName("innerTabs")
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.tabs.setStyleSheet("QTabBar::tab { padding-left: 10px; padding-right: 10px; }")
        bar = QHBoxLayout()
        bar.setContentsMargins(METRICS.grid, 0, METRICS.gap, 0)
        bar.addWidget(self.tabs)
        bar.addStretch(1)
        column.addLayout(bar)
        column.addWidget(rule())
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self.table)
        splitter.addWidget(self.details)
        splitter.setStretchFactor(0, 2)
        splitter.setStretchFactor(1, 3)
        splitter.setSizes([4000, 6000])
        self.stack = QStackedWidget()
        for title, page in (
            ("Stops", splitter),
            ("Conditions", self.conditions),
            ("Rules", self.rules),
        ):
            self.tabs.addTab(title)
            self.stack.addWidget(page)
        self.tabs.currentChanged.connect(self.stack.setCurrentIndex)
        column.addWidget(self.stack, 1)

    @staticmethod
    def _signals(scene: SceneModel) -> Iterable[Signal[[]]]:
        return (
            scene.stops.changed,
            scene.conditions.changed,
            scene.environments.changed,
            scene.rollouts.changed,
            scene.trials.changed,
            scene.history.changed,
        )

    # --- showing

    @property
    def scene(self) -> SceneModel | None:
        """The scene that is shown."""
        return self.follower.scene

    def show_stops(self, stop_id: int | None = None) -> None:
        """Bring the stops to the front, and one of them into sight; None: the newest."""
        self.tabs.setCurrentIndex(0)
        stops = self.scene.stops.stops if self.scene is not None else ()
        if stop_id is None and stops:
            stop_id = stops[-1].stop_id
        self._chosen = stop_id
        self.refresh()

    def show_conditions(self) -> None:
        """Bring the conditions to the front."""
        self.tabs.setCurrentIndex(1)

    def show_rules(self) -> None:
        """Bring the rules to the front."""
        self.tabs.setCurrentIndex(2)

    def begin_condition(self, expression: str) -> None:
        """Bring an expression to the front, to make a condition of it."""
        self.show_conditions()
        # Before it knows the scene its field takes no keys, and they would be shortcuts.
        self.refresh()
        self.conditions.begin(expression)

    def refresh(self) -> None:
        """Show what there is."""
        scene = self.scene
        stops = scene.stops.stops if scene is not None else ()
        newest = stops[-1].stop_id if stops else 0
        if (scene, newest) != self._newest:
            # A new stop is what one wants to read about.
            self._newest, self._chosen = (scene, newest), newest or None
        self.table.show_table(
            stops_table(stops), empty=_EMPTY if scene is not None else "No scene is shown."
        )
        stop = scene.stops.find(self._chosen) if scene is not None and self._chosen else None
        self._mark()
        self.details.setVisible(bool(stops))
        self.details.show_stop(scene, stop)
        self.conditions.show_scene(scene)
        self.rules.show_scene(scene)
        left = [each for each in scene.conditions.conditions] if scene is not None else []
        self.tabs.setTabText(
            0, f"Stops ({scene.stops.told.count})" if newest and scene else "Stops"
        )
        self.tabs.setTabText(1, f"Conditions ({len(left)})" if left else "Conditions")
        off = len(scene.stops.rules.off) if scene is not None else 0
        self.tabs.setTabText(2, f"Rules ({off} off)" if off else "Rules")

    def _mark(self) -> None:
        view, row = self.table.view, self.table.model.row_of_key(self._chosen)
        selected = {index.row() for index in view.selectionModel().selectedRows()}
        if row >= 0 and selected != {row}:
            view.selectRow(row)

    # --- what a person does

    def _on_click(self, index: QModelIndex) -> None:
        key = self.table.model.key_of(index)
        if isinstance(key, int):
            self._chosen = key
            self.refresh()

    def _fill_menu(self, menu: QMenu, index: QModelIndex) -> None:
        key = self.table.model.key_of(index) if index.isValid() else None
        scene = self.scene
        stop = scene.stops.find(key) if scene is not None and isinstance(key, int) else None
        if scene is None or stop is None:
            return
        menu.addSeparator()
        go = menu.addAction("Go there")
        go.setEnabled(scene.history.has_rows and stop.axis >= scene.history.first)
        go.triggered.connect(lambda _=False: self._go(scene, stop))
        for reference in stop.elements:
            if element_of(reference) is not None:
                name = (reference.name or f"{reference.index}").replace("&", "&&")
                menu.addAction(f"Select {reference.kind} {name}").triggered.connect(
                    lambda _=False, each=reference: self._select(each)
                )

    def _go(self, scene: SceneModel, stop: StopInfo) -> None:
        scene.environments.look_at(stop.env)
        self._go_to(scene, stop.axis)

    def _select(self, reference: ElementRef) -> None:
        element = element_of(reference)
        if element is not None:
            self._sessions.selection.select(element)
