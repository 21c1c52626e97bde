"""The panels around the picture: one table says which there are, one object keeps their docks.

A new panel is one more line in :data:`PANELS`. Panels of one area share it as tabs; whoever is not
in front is hidden, so a panel that subscribes in ``showEvent`` and lets go in ``hideEvent`` costs
nothing while nobody sees it.
"""

import base64
import dataclasses
import enum
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from PySide6.QtCore import QByteArray, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QTabWidget, QWidget

from stroboscope.app.main.docks import DockTabs, PanelDock
from stroboscope.app.main.panel_fold import PanelFold
from stroboscope.app.main.plot_feed import mime_of, mime_of_element
from stroboscope.app.main.plot_panels import make_convergence, make_plots, make_watch
from stroboscope.app.main.table_panels import make_findings, make_profiler, make_table
from stroboscope.app.main.timeline_panel import TIMELINE_HEIGHT, make_timeline
from stroboscope.app.main.travel_panels import make_checkpoints, make_rollouts, make_stops
from stroboscope.app.panels.controls.controls_panel import ControlsPanel
from stroboscope.app.panels.inspector import InspectorPanel
from stroboscope.app.panels.log_panel import LogPanel
from stroboscope.app.panels.tables.constraints_panel import ConstraintsPanel
from stroboscope.app.panels.tables.contacts_panel import ContactsPanel
from stroboscope.app.panels.tables.state_panel import StatePanel
from stroboscope.app.panels.tables.why_panel import WhyPanel
from stroboscope.app.panels.tree import TreePanel
from stroboscope.app.panels.view_panel import ViewPanel
from stroboscope.resources.themes import Palette

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["PANELS", "PanelArea", "PanelSet", "PanelSpec"]

# Layouts of other versions are not read: the panels then stand where the table says.
_LAYOUT_VERSION = 3
# A window lower than this [px] starts without the panels below the picture.
_LOW = 480
# A window smaller than this [px] starts with all panels at the side in one column, and with those
# below the picture folded to their tabs: in places of their own they left it a quarter.
_ROOMY = (1600, 960)
# How often Qt lays panels out until it knows how low those are that were folded just now.
_SETTLES = 3


class PanelArea(enum.Enum):
    """Where a panel stands at first; panels of one area are tabs of one group."""

    LEFT = "left"
    RIGHT = "right"
    TIMELINE = "timeline"
    BOTTOM_LEFT = "bottom left"
    BOTTOM_RIGHT = "bottom right"


_DOCK_AREAS = {
    PanelArea.LEFT: Qt.DockWidgetArea.LeftDockWidgetArea,
    PanelArea.RIGHT: Qt.DockWidgetArea.RightDockWidgetArea,
    PanelArea.TIMELINE: Qt.DockWidgetArea.BottomDockWidgetArea,
    PanelArea.BOTTOM_LEFT: Qt.DockWidgetArea.BottomDockWidgetArea,
    PanelArea.BOTTOM_RIGHT: Qt.DockWidgetArea.BottomDockWidgetArea,
}
_BOTTOM = (PanelArea.TIMELINE, PanelArea.BOTTOM_LEFT, PanelArea.BOTTOM_RIGHT)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PanelSpec:
    """One panel. ``make`` builds it when the window is built, and is called once.

    The widget needs ``set_theme(palette)`` and ``close_panel()`` (stop timers and listening).
    ``shown``: whether it is there at the first start, as a tab of its area; the first of an area is
    in front. ``words`` are others that people look for it by; ``bare``: no title bar.
    """

    name: str
    title: str
    make: "Callable[[MainWindow], QWidget]"
    area: PanelArea
    shown: bool = True
    words: str = ""
    bare: bool = False


def _make_tree(window: "MainWindow") -> QWidget:
    window.tree = TreePanel(
        window.sessions,
        window.palette_tokens,
        make_mime=mime_of_element,
        plot=window.plot_element,
        leave=lambda: window.scene_view.setFocus(),
        fill_scene=window.commands.beside.fill_scene_menu,
    )
    return window.tree


def _make_inspector(window: "MainWindow") -> QWidget:
    window.inspector = InspectorPanel(
        window.sessions,
        window.view,
        window.palette_tokens,
        plot=window.plot_value,
        make_mime=mime_of,
        make_spark=window.make_spark,
    )
    return window.inspector


def _make_controls(window: "MainWindow") -> QWidget:
    window.controls = ControlsPanel(window.sessions, window.palette_tokens)
    window.controls.states.show_checkpoints = lambda: window.panels.show("checkpoints")
    return window.controls


def _make_view(window: "MainWindow") -> QWidget:
    window.view_panel = ViewPanel(
        window.palette_tokens,
        get_options=lambda: window.scene_view.grid.options,
        set_options=window.set_view_options,
        keys_of=window.actions_by_name.keys_of,
    )
    return window.view_panel


def _make_log(window: "MainWindow") -> QWidget:
    window.log_panel = LogPanel(
        window.sessions.log, window.palette_tokens, open_file=window.open_file
    )
    return window.log_panel


PANELS: tuple[PanelSpec, ...] = (
    PanelSpec(name="sessions", title="Sessions", make=_make_tree, area=PanelArea.LEFT),
    PanelSpec(name="inspector", title="Inspector", make=_make_inspector, area=PanelArea.RIGHT),
    PanelSpec(
        name="controls",
        title="Controls",
        make=_make_controls,
        area=PanelArea.RIGHT,
        words="sliders joint actuator override noise equality keyframe checkpoint options edits",
    ),
    PanelSpec(
        name="view",
        title="View",
        make=_make_view,
        area=PanelArea.RIGHT,
        words="overlays show hide groups labels frames scale lighting quality legend options",
    ),
    PanelSpec(
        name="watch",
        title="Watch",
        make=make_watch,
        area=PanelArea.RIGHT,
        words="expression compute formula signal value",
    ),
    PanelSpec(
        name="timeline",
        title="Timeline",
        make=make_timeline,
        area=PanelArea.TIMELINE,
        words="history past rewind scrub branches episodes go to step time back",
        bare=True,
    ),
    PanelSpec(name="plots", title="Plots", make=make_plots, area=PanelArea.BOTTOM_LEFT),
    PanelSpec(
        name="state",
        title="State",
        make=make_table(StatePanel),
        area=PanelArea.BOTTOM_LEFT,
        words="joints actuators bodies tendons sensors energy momentum values table",
    ),
    PanelSpec(
        name="contacts",
        title="Contacts",
        make=make_table(ContactsPanel),
        area=PanelArea.BOTTOM_LEFT,
        words="forces friction slip touch collisions table",
    ),
    PanelSpec(
        name="constraints",
        title="Constraints",
        make=make_table(ConstraintsPanel),
        area=PanelArea.BOTTOM_LEFT,
        words="solver iterations residual equality limit table",
    ),
    PanelSpec(
        name="convergence",
        title="Convergence",
        make=make_convergence,
        area=PanelArea.BOTTOM_LEFT,
        shown=False,
        words="solver iterations gradient improvement plot",
    ),
    PanelSpec(
        name="why",
        title="Why",
        make=make_table(WhyPanel),
        area=PanelArea.BOTTOM_LEFT,
        words="why does it move acceleration causes sources dof",
    ),
    PanelSpec(
        name="profiler",
        title="Profiler",
        make=make_profiler,
        area=PanelArea.BOTTOM_LEFT,
        words="time timing performance speed step duration histogram solver iterations",
    ),
    PanelSpec(
        name="stops",
        title="Stops",
        make=make_stops,
        area=PanelArea.BOTTOM_LEFT,
        words="stop condition break when rule explode nan warning why culprit breakpoint",
    ),
    PanelSpec(
        name="checkpoints",
        title="Checkpoints",
        make=make_checkpoints,
        area=PanelArea.BOTTOM_LEFT,
        words="state save restore snapshot remember compare",
    ),
    PanelSpec(
        name="rollouts",
        title="Rollouts",
        make=make_rollouts,
        area=PanelArea.BOTTOM_LEFT,
        words="candidates what if re-simulation branch ghost compare planner",
    ),
    PanelSpec(name="log", title="Log", make=_make_log, area=PanelArea.BOTTOM_RIGHT),
    PanelSpec(
        name="findings",
        title="Findings",
        make=make_findings,
        area=PanelArea.BOTTOM_RIGHT,
        words="lint check mistakes problems advice penetration",
    ),
)


class _Themed(Protocol):
    def set_theme(self, palette: Palette) -> None: ...


@runtime_checkable
class _Closing(Protocol):
    def close_panel(self) -> None: ...


class PanelSet(QObject):
    """The docks by name, in the window; remembers who stands where. GUI thread only.

    ``docks`` is in the order of the table. Until :meth:`appear` no panel is shown: there is no
    scene. ``folded_changed``: the panels below the picture were folded to their tabs (True), or
    opened.
    """

    folded_changed = Signal(bool)

    def __init__(self, window: "MainWindow") -> None:
        super().__init__(window)
        self._window = window
        self._specs = {spec.name: spec for spec in PANELS}
        self._appeared = False
        self._kept: QByteArray | None = None
        self._kept_names: list[str] = []
        self._put_away: QByteArray | None = None
        self._to_settle = 0
        self.docks: dict[str, PanelDock] = {}
        self.actions: dict[str, QAction] = {}
        for spec in PANELS:
            content = spec.make(window)
            dock = PanelDock(spec.name, spec.title, content, window.palette_tokens, window)
            dock.is_bare = spec.bare
            self.docks[spec.name] = dock
            self._add_action(spec, dock)
        window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.fold = PanelFold(
            window, self.docks, apart="timeline", first_height=lambda: self._height_below
        )
        self._kept_fold: bool | None = None
        self._tabs = DockTabs(
            window,
            self.docks,
            open_folded=lambda: self.set_folded(False),
            fold=lambda: self.set_folded(True),
        )
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(0)
        self._settle.timeout.connect(self._refresh)
        for dock in self.docks.values():
            dock.visibilityChanged.connect(self._later)
            dock.topLevelChanged.connect(self._later)
            dock.dockLocationChanged.connect(self._later)
        self._place_all()

    def __getitem__(self, name: str) -> PanelDock:
        """Return a dock."""
        return self.docks[name]

    # --- showing

    def show(self, name: str) -> None:
        """Open a panel, if need be, and bring it to the front; unknown names are ignored."""
        dock = self.docks.get(name)
        if dock is not None:
            dock.show()
            if dock.is_folded:
                self.set_folded(False)
            dock.raise_()

    def set_folded(self, folded: bool) -> None:
        """Fold the panels below the picture to their tabs, or open them."""
        self.fold.set_folded(folded)
        self.folded_changed.emit(folded)

    def toggle(self, name: str) -> None:
        """Bring a panel to the front, or close it when it is there already."""
        dock = self.docks[name]
        if dock.in_front:
            dock.close()
        else:
            self.show(name)
        self._refresh()

    def count(self, name: str, count: int) -> None:
        """Say behind a panel's title how much there is in it, 0: only the title."""
        title = self._specs[name].title
        self.docks[name].setWindowTitle(f"{title} ({count})" if count else title)

    def toggle_all(self) -> None:
        """Put all panels away, or bring back those that were there, as they were."""
        visible = [name for name, dock in self.docks.items() if not dock.isHidden()]
        if visible:
            self._put_away = self._window.saveState(_LAYOUT_VERSION)
            for name in visible:
                self.docks[name].hide()
        elif self._put_away is not None:
            self._window.restoreState(self._put_away, _LAYOUT_VERSION)
        else:
            self.reset()

    def appear(self, shown: bool) -> None:
        """Show the panels as they were last, or keep in mind how they are and hide them."""
        if shown == self._appeared:
            return
        if shown:
            self._appeared = True
            if self._kept is None or not self._restore(self._kept):
                self.reset()
            if self._kept_fold is not None:
                self.set_folded(self._kept_fold)
        else:
            self._kept_fold = self.fold.is_folded
            self._kept, self._kept_names = self._window.saveState(_LAYOUT_VERSION), list(self.docks)
            self._appeared = False
            for dock in self.docks.values():
                dock.hide()

    @property
    def have_appeared(self) -> bool:
        """Whether there is something for panels to show."""
        return self._appeared

    def fill_menu(self, menu: QMenu) -> None:
        """List the panels on top of ``menu``, area by area."""
        first = menu.actions()[0] if menu.actions() else None
        for names in self._groups():
            for name in names:
                menu.insertAction(first, self.actions[name]) if first else menu.addAction(
                    self.actions[name]
                )
            menu.insertSeparator(first) if first else menu.addSeparator()

    def palette_entries(self) -> list[tuple[str, str, QAction]]:
        """Return what the command palette lists: text, other words to find it by, action."""
        return [
            (f"Panel: {spec.title}", f"window tab dock {spec.words}", self.actions[name])
            for name, spec in self._specs.items()
        ]

    # --- all of them

    def set_theme(self, palette: Palette) -> None:
        """Give other colours to the panels and their frames."""
        for dock in self.docks.values():
            content: _Themed = dock.content  # type: ignore[assignment]
            content.set_theme(palette)
            dock.set_theme(palette)

    def close(self) -> None:
        """Let every panel stop what it does."""
        self._settle.stop()
        for dock in self.docks.values():
            content = dock.content
            if isinstance(content, _Closing):
                content.close_panel()
            else:
                content.close()

    # --- places

    def default_sizes(self) -> None:
        """Give the panels their first sizes for this window."""
        window = self._window
        horizontal, vertical = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
        if window.height() < _LOW:
            # There is room for the picture or for plots; the Window menu and Tab show these.
            for name, spec in self._specs.items():
                if spec.area in _BOTTOM:
                    self.docks[name].hide()
        left, right, timeline, plots, log = (self._first(area) for area in PanelArea)
        width, height = max(window.width(), 600), window.height()
        if self._is_roomy:
            window.resizeDocks([left, right], [220, 300], horizontal)
        else:
            column = min(304, max(200, round(width * 0.24)))
            window.resizeDocks([left, right], [column, column], horizontal)
            tree = round(height * 0.32)
            window.resizeDocks([left, right], [tree, height - tree], vertical)
        bottom = self._height_below
        window.resizeDocks([timeline, plots, log], [TIMELINE_HEIGHT, bottom, bottom], vertical)
        window.resizeDocks([plots, log], [round(width * 0.7), round(width * 0.3)], horizontal)
        if not self._is_roomy:
            self.set_folded(True)
            self._to_settle = _SETTLES
            self._later()

    @property
    def _is_roomy(self) -> bool:
        return self._window.width() >= _ROOMY[0] and self._window.height() >= _ROOMY[1]

    @property
    def _height_below(self) -> int:
        """Of plots, tables and log at first [px]."""
        part = 0.19 if self._is_roomy else 0.3
        return min(380, max(180, round(self._window.height() * part)))

    def reset(self) -> None:
        """Put every panel back to where it was in the beginning."""
        self.set_folded(False)
        for dock in self.docks.values():
            dock.setFloating(False)
            self._window.removeDockWidget(dock)
        self._place_all()
        for name, dock in self.docks.items():
            dock.setVisible(self._specs[name].shown)
        self._raise_first()
        self.default_sizes()

    def state(self) -> tuple[str, list[str], bool | None]:
        """Return what is to be remembered: Qt's layout as text, of which panels, what is folded.

        None: nobody has seen the panels yet.
        """
        if self._appeared:
            layout = _encode(self._window.saveState(_LAYOUT_VERSION))
            return layout, list(self.docks), self.fold.is_folded
        layout = _encode(self._kept) if self._kept is not None else ""
        return layout, self._kept_names, self._kept_fold

    def remember(self, layout: str, names: list[str], *, folded: bool | None) -> None:
        """Take what :meth:`state` returned in another run; used when the panels appear."""
        self._kept, self._kept_names, self._kept_fold = _decode(layout), list(names), folded

    def _restore(self, layout: QByteArray) -> bool:
        for spec in self._shown_specs():
            self.docks[spec.name].show()
        # Before the sizes come, which are those of tabs alone where it was folded.
        self.set_folded(bool(self._kept_fold))
        if not self._window.restoreState(layout, _LAYOUT_VERSION):
            return False
        # Qt leaves panels that the layout has not heard of (a newer program's) nowhere.
        for name in self.docks:
            if name not in self._kept_names:
                self._place(name)
                self.docks[name].setVisible(self._specs[name].shown)
        for area in PanelArea:
            known = [n for n in self._names(area) if n in self._kept_names]
            if known and len(known) < len(self._names(area)):
                self.docks[known[0]].raise_()
        return True

    def _place_all(self) -> None:
        # Hidden first: docks that are tabbed while shown leave tab bars behind in Qt's layout.
        for dock in self.docks.values():
            dock.hide()
        corner, side = Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea
        below = Qt.DockWidgetArea.BottomDockWidgetArea
        self._window.setCorner(corner, below if self._is_roomy else side)
        # The areas before their tabs: Qt makes a split beside a group of tabs one more tab.
        names = [self._names(area) for area in PanelArea]
        for group in names:
            self._place(group[0])
        for group in names:
            for name in group[1:]:
                self._place(name)
        for dock in self.docks.values():
            dock.hide()

    def _place(self, name: str) -> None:
        """Add a dock to its area, as a tab when another of that area is there already."""
        window, dock, area = self._window, self.docks[name], self._specs[name].area
        nowhere = Qt.DockWidgetArea.NoDockWidgetArea
        for other in self._names(area):
            neighbour = self.docks[other]
            placed = window.dockWidgetArea(neighbour) is not nowhere
            if other != name and placed and not neighbour.isFloating():
                window.tabifyDockWidget(neighbour, dock)
                return
        if area is PanelArea.LEFT and not self._is_roomy:
            window.addDockWidget(_DOCK_AREAS[PanelArea.RIGHT], dock)
            return
        window.addDockWidget(_DOCK_AREAS[area], dock)
        if area is PanelArea.RIGHT and not self._is_roomy:
            window.splitDockWidget(self._first(PanelArea.LEFT), dock, Qt.Orientation.Vertical)
        timeline = self._first(PanelArea.TIMELINE)
        stands = window.dockWidgetArea(timeline) is not nowhere and not timeline.isFloating()
        if area is PanelArea.BOTTOM_LEFT and stands:
            window.splitDockWidget(timeline, dock, Qt.Orientation.Vertical)
        if area is PanelArea.BOTTOM_RIGHT:
            plots = self._first(PanelArea.BOTTOM_LEFT)
            window.splitDockWidget(plots, dock, Qt.Orientation.Horizontal)

    def _raise_first(self) -> None:
        for area in PanelArea:
            self._first(area).raise_()

    def _first(self, area: PanelArea) -> PanelDock:
        return self.docks[self._names(area)[0]]

    def _names(self, area: PanelArea) -> list[str]:
        return [name for name, spec in self._specs.items() if spec.area is area]

    def _groups(self) -> Iterator[list[str]]:
        yield from (names for area in PanelArea if (names := self._names(area)))

    def _shown_specs(self) -> Iterator[PanelSpec]:
        return (spec for spec in self._specs.values() if spec.shown)

    # --- keeping menu and frames true

    def _add_action(self, spec: PanelSpec, dock: PanelDock) -> None:
        action = QAction(spec.title, self)
        action.setCheckable(True)
        action.setToolTip(f"Bring {spec.title} to the front; once more: close it.")
        action.triggered.connect(lambda _=False: self.toggle(spec.name))
        self.actions[spec.name] = action

    def _later(self, *_arguments: object) -> None:
        self._settle.start()

    def _refresh(self) -> None:
        for name, dock in self.docks.items():
            self.actions[name].setChecked(not dock.isHidden())
        self.fold.refresh()
        self._tabs.refresh()
        if self._to_settle:
            self._to_settle -= 1
            timeline = self._first(PanelArea.TIMELINE)
            self._window.resizeDocks([timeline], [TIMELINE_HEIGHT], Qt.Orientation.Vertical)
            self._later()


def _encode(data: QByteArray) -> str:
    return base64.b64encode(data.data()).decode()


def _decode(text: str) -> QByteArray | None:
    try:
        return QByteArray(base64.b64decode(text, validate=True)) if text else None
    except ValueError:
        return None
