"""The main window: where models, panels, plots and the 3D view meet."""

import base64
from pathlib import Path

from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, QSize, Signal
from PySide6.QtGui import QCloseEvent, QImage
from PySide6.QtWidgets import QApplication, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from stroboscope.app.main.actions import WindowActions
from stroboscope.app.main.commands import Commands
from stroboscope.app.main.damaged_files import DamagedFiles
from stroboscope.app.main.dropped_files import DroppedFiles
from stroboscope.app.main.memory import Memory
from stroboscope.app.main.panel_set import PanelSet
from stroboscope.app.main.picture_commands import png_bytes
from stroboscope.app.main.plot_feed import (
    PlotFeed,
    has_signal,
    scene_key,
    series_of,
    series_of_element,
)
from stroboscope.app.main.scene_view import SceneView
from stroboscope.app.main.script_processes import ScriptProcesses
from stroboscope.app.main.status_line import StatusLine
from stroboscope.app.main.timeline_link import LinkedRange, TimelineLink
from stroboscope.app.main.touching import Touching
from stroboscope.app.main.travel_parts import TravelParts
from stroboscope.app.main.trusting import Trust
from stroboscope.app.main.view_buttons import ViewButtons
from stroboscope.app.main.view_grid import Arrangement
from stroboscope.app.models.element_values import ValueRow
from stroboscope.app.models.log import LogLine
from stroboscope.app.models.numbers import number_text, with_unit
from stroboscope.app.models.plot_store import PlotStore
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.selection import Element
from stroboscope.app.models.session import SessionModel
from stroboscope.app.models.sessions import Scope, SessionsModel
from stroboscope.app.models.settings import Settings
from stroboscope.app.models.view_options import (
    ViewOptions,
    options_from_dict,
    options_to_dict,
)
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.panels.banner import Banner
from stroboscope.app.panels.controls.controls_panel import ControlsPanel
from stroboscope.app.panels.info_card import InfoCard
from stroboscope.app.panels.inspector import InspectorPanel
from stroboscope.app.panels.log_panel import LogPanel
from stroboscope.app.panels.style import apply_theme, palette_named
from stroboscope.app.panels.timeline.panel import TimelinePanel
from stroboscope.app.panels.transport import TransportActions, TransportBar
from stroboscope.app.panels.travel.checkpoints_panel import CheckpointsPanel
from stroboscope.app.panels.travel.rollouts_panel import RolloutsPanel
from stroboscope.app.panels.travel.stops_panel import StopsPanel
from stroboscope.app.panels.tree import TreePanel
from stroboscope.app.panels.view_panel import ViewPanel
from stroboscope.app.panels.welcome import WelcomePage
from stroboscope.app.plots.plot_panel import PlotPanel
from stroboscope.app.plots.sparkline import Sparkline
from stroboscope.app.view3d.viewport import Viewport
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.topics import Instant
from stroboscope.resources.examples import DEMOS

__all__ = ["MainWindow"]


# Of a window that nobody has resized yet: on ordinary screens, at most, and what lies above it.
_USUAL, _LARGEST = QSize(1280, 800), QSize(2048, 1280)
_FRAME = 36


class MainWindow(QMainWindow):
    """The one window. ``closed`` is emitted when the user has closed it."""

    closed = Signal()
    theme_changed = Signal()

    # Panels that others reach into; made by the table of panels.
    tree: TreePanel
    inspector: InspectorPanel
    controls: ControlsPanel
    view_panel: ViewPanel
    plots: PlotPanel
    timeline: TimelinePanel
    timeline_range: LinkedRange
    log_panel: LogPanel
    checkpoints: CheckpointsPanel
    stops: StopsPanel
    rollouts: RolloutsPanel

    def __init__(self, sessions: SessionsModel, settings: Settings) -> None:
        super().__init__()
        self.setWindowTitle("Stroboscope")
        self.setObjectName("stroboscope")
        self.setDockNestingEnabled(True)
        self.sessions = sessions
        self.settings = settings
        self.palette_tokens = palette_named(settings.theme)
        self.view = ViewState()
        self.store = PlotStore()
        self._plots_restored: set[str] = set()
        self._attached: set[int] = set()
        self.trust = Trust(self, self.open_file)
        self.processes = ScriptProcesses(self._on_process_failed, self, refused=self.trust.refused)
        self.drops = DroppedFiles(self, self.open_file, is_coming=self.processes.prepare)
        self.commands = Commands(self)
        self.actions_by_name = WindowActions(
            self, self.commands.handlers(), shortcuts=settings.shortcuts
        )
        sessions.refreshes.paint = self._paint_news
        self._build()
        self._listen()
        self._restore_view()
        self._restore_geometry()
        self._refresh_page()

    # --- building

    def _build(self) -> None:
        p, s = self.palette_tokens, self.sessions
        a = self.actions_by_name
        self.transport = TransportBar(
            s,
            self.view,
            TransportActions(
                restore=a["restore"],
                step_back=a["step_back"],
                play=a["play"],
                step=a["step"],
                fast_forward=a["fast_forward"],
                go_first=a["go_first"],
                loop=a["loop"],
                play_backwards=a["play_backwards"],
            ),
            p,
        )
        self.banner = Banner(p, show_log=self.show_log)
        self.damaged_files = DamagedFiles(self)
        self.scene_view = SceneView(s, self.view, p)
        self.welcome = WelcomePage(s, p, demos=tuple((d.name, d.description) for d in DEMOS))
        self.welcome.start_demo.connect(self.start_demo)
        self.welcome.start_script.connect(self.start_script)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.welcome)
        self.pages.addWidget(self.scene_view)
        center = QWidget()
        column = QVBoxLayout(center)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.banner)
        column.addWidget(self.damaged_files.notice)
        column.addWidget(self.pages, 1)
        self.setCentralWidget(center)
        self._build_top()
        self._build_panels()
        self.status = StatusLine(
            s,
            s.log,
            lambda: self.scene_view.viewport,
            p,
            stop_recording=self.commands.recording.stop_files,
            show_findings=lambda: self.panels.show("findings"),
            panels_below=self.actions_by_name["panels_below"],
        )
        self.status.counter.clicked.connect(self.show_log)
        self.status.findings.told.connect(
            lambda note: self.panels.count("findings", note.count if note is not None else 0)
        )
        self.setStatusBar(self.status)
        grid = self.scene_view.grid
        self.touching: dict[Viewport, Touching] = {}
        self._on_view_added(grid.leader)
        self.memory = Memory(
            s,
            self.settings,
            get_drawn=lambda: self.scene_view.drawn_scene,
            get_camera=lambda: self.scene_view.viewport.camera,
            get_cameras=lambda: [view.camera for view in grid.views],
            set_cameras=grid.set_cameras,
        )
        self.scene_view.restore_camera = self.memory.restore_camera
        self.scene_view.keep_camera = self.memory.keep_camera
        grid.camera_changed.connect(
            lambda _: self.commands.camera.on_camera(self.scene_view.viewport.camera)
        )
        grid.added.connect(self._on_view_added)
        grid.removed.connect(self._on_view_removed)
        grid.activated.connect(lambda _: self.commands.camera.refresh())
        self.commands.pictures.build()
        self.scene_view.drawn_scene_changed.connect(self.commands.pictures.refresh)
        self.view_buttons = ViewButtons(self.scene_view, self.actions_by_name, p)
        self.info = InfoCard(
            self.scene_view,
            s,
            self.view,
            picture=self._picture_cost,
            room=self._recording_height,
        )
        self.travel = TravelParts(self)
        self.plot_feed = PlotFeed(s, self.store)
        self.plots.subscriptions_changed.connect(
            lambda key, channels: self.plot_feed.want(key, frozenset(channels))
        )
        self.timeline_link = TimelineLink(self)
        self.plots.message.connect(lambda text: s.log.add(LogLevel.INFO, text, source="plots"))

    def _paint_news(self) -> None:
        """Paint now what is to be painted: what panels cost is measured with their painting."""
        QCoreApplication.sendPostedEvents(self, QEvent.Type.UpdateRequest.value)

    def set_view_options(self, options: ViewOptions) -> None:
        """Draw the shown scene that way, and say so everywhere."""
        self.scene_view.grid.options = options
        self.scene_view.options_changed()
        self.info.set_on(options.info)
        self.commands.refresh()

    def arrange_views(self, arrangement: Arrangement) -> None:
        """Look at the shown scene from that many sides."""
        grid = self.scene_view.grid
        self.memory.keep_camera()
        before = len(grid.views)
        grid.arrange(arrangement)
        self.memory.restore_cameras_from(before)
        self.settings.views = arrangement.value
        self.commands.refresh()

    def _on_view_added(self, view: Viewport) -> None:
        self.touching[view] = Touching(
            self.sessions,
            view,
            say=lambda text, duration: self.status.showMessage(text, duration),
            show=self.scene_view.grid.set_perturbation,
            show_now=lambda: self.view.set_instant(Instant.NOW),
        )

    def _on_view_removed(self, view: Viewport) -> None:
        self.touching.pop(view).close()

    def _picture_cost(self) -> str:
        stats = self.scene_view.viewport.stats
        return with_unit(number_text(stats.frame_ms, 1), "ms") if stats.frames else ""

    def _recording_height(self) -> int:
        bar = self.commands.pictures.bar
        return 0 if bar.isHidden() else bar.geometry().bottom() + 1

    def make_spark(self) -> Sparkline:
        """Return a small recent past for a number of the inspector."""
        # The inspector makes its rows anew with every theme, so it needs no other colours later.
        spark = Sparkline(self.palette_tokens)
        spark.setFixedSize(40, 16)
        return spark

    def _build_top(self) -> None:
        # Menu and transport share the top; a QToolBar would put an extension arrow over buttons.
        top = QWidget()
        column = QVBoxLayout(top)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        menu = self.menuBar()
        column.addWidget(menu)
        column.addWidget(self.transport)
        self.setMenuWidget(top)

    def _build_panels(self) -> None:
        self.panels = PanelSet(self)
        below = self.actions_by_name["panels_below"]
        self.panels.folded_changed.connect(lambda folded: below.setChecked(not folded))
        self.docks = self.panels.docks
        self.panels.fill_menu(self.actions_by_name.menus["Window"])
        self.commands.camera.fill_menus()
        demos = self.actions_by_name["demos"]
        submenu = self.actions_by_name.menus["Session"]
        demo_menu = submenu.addMenu("Demos")
        for demo in DEMOS:
            entry = demo_menu.addAction(demo.title)
            entry.setToolTip(demo.description)
            entry.triggered.connect(lambda _=False, n=demo.name: self.start_demo(n))
        submenu.insertMenu(demos, demo_menu)
        submenu.removeAction(demos)

    def _listen(self) -> None:
        s = self.sessions
        s.session_added.connect(self._on_sessions)
        s.session_removed.connect(self._on_sessions)
        s.session_changed.connect(self._on_session)
        s.shown_changed.connect(self._on_shown)
        s.log.added.connect(self._on_log)
        s.scope_changed.connect(self._on_scope)

    # --- following the models

    def _on_sessions(self, session: SessionModel) -> None:
        if session not in self.sessions.sessions:
            self.commands.forget(session)
        self._refresh_page()
        self.commands.refresh()

    def _on_session(self, session: SessionModel) -> None:
        if session.is_connected and session.key not in self._attached:
            self._attached.add(session.key)
            self.banner.outdate()
        if session.is_connected and session.identity:
            if not self.settings.recent or self.settings.recent[0] != session.identity:
                self.settings.add_recent(session.identity)
            self._restore_plots(session.identity)
        self.commands.follow(session)

    def _on_shown(self, scene: SceneModel | None) -> None:
        self.plots.set_shown_scene(scene_key(scene) if scene is not None else None)
        self._refresh_page()
        self.commands.refresh()

    def _on_scope(self, scope: Scope) -> None:
        self.settings.scope = scope.value
        self.commands.refresh()

    def _on_log(self, line: LogLine) -> None:
        if line.level is LogLevel.ERROR and not line.found and not self.travel.says(line.text):
            first = line.text.splitlines()[0] if line.text else ""
            named = not line.source or line.source in first.partition(": ")[0]
            source = "" if named else f"{line.source}: "
            # Without a source it is this window's own problem, which nothing later mends.
            self.banner.show_message(
                f"{source}{first}", details=line.as_text(), stay=not line.source
            )

    def _on_process_failed(self, name: str, text: str) -> None:
        self.sessions.log.add(LogLevel.ERROR, text, source=name)

    def _refresh_page(self) -> None:
        has_scene = self.sessions.shown is not None or bool(self.sessions.sessions)
        page = self.scene_view if has_scene else self.welcome
        if not has_scene:
            self.welcome.set_recent(tuple(self.settings.recent))
            self.processes.prepare_soon()
        else:
            self.processes.prepare_only_for_files()
        self.pages.setCurrentWidget(page)
        self.transport.setVisible(has_scene)
        if has_scene != self.panels.have_appeared:
            self.panels.appear(has_scene)
            # Keys belong to the scene, not to whatever field comes first.
            page.setFocus()
        scene = self.sessions.shown
        name = f"{scene.session.name} — " if scene is not None else ""
        self.setWindowTitle(f"{name}Stroboscope")

    # --- what commands do

    def plot_value(self, scene: SceneModel, row: ValueRow) -> None:
        """Plot the signal behind a number of the inspector."""
        if not has_signal(scene, row):
            text = f"{row.label} has no signal to plot in this scene."
            self.sessions.log.add(LogLevel.WARNING, text, source=scene.name)
            return
        self.panels.show("plots")
        self.plots.add_signals(series_of(scene, row))

    def plot_element(self, scene: SceneModel, element: Element) -> None:
        """Plot every signal of an element, as dragging it from the tree does."""
        self.panels.show("plots")
        self.plots.add_signals(*series_of_element(scene, element))

    def start_demo(self, name: str) -> None:
        """Run a demo as a process of its own; it attaches to this window."""
        self.processes.start(f"demo {name}", ["demo", name])
        self.status.showMessage(f"Starting the demo {name}…", 4000)

    def open_file(self, path: str) -> None:
        """Show what is in a file, as a process of its own that attaches to this window."""
        if Path(path).suffix == ".py":
            text = f"{Path(path).name} is a script: run it with Session → Run script…"
            self.sessions.log.add(LogLevel.WARNING, text)
            return
        self.processes.open(Path(path).name, path)
        self.status.showMessage(f"Opening {Path(path).name}…", 4000)

    def start_script(self, script: str) -> None:
        """Run a script with the debugger; it attaches to this window."""
        self.processes.start(Path(script).name, ["run", script])
        self.status.showMessage(f"Starting {Path(script).name}…", 4000)

    def show_log(self) -> None:
        """Bring the log to the front."""
        self.panels.show("log")

    def set_theme(self, name: str) -> None:
        """Change between dark and light."""
        palette = palette_named(name)
        self.settings.theme = palette.name
        self.palette_tokens = palette
        app = QApplication.instance()
        if isinstance(app, QApplication):
            apply_theme(app, palette)
        for part in (
            self.transport,
            self.banner,
            self.damaged_files.notice,
            self.scene_view,
            self.welcome,
            self.panels,
            self.status,
            self.view_buttons,
            self.travel,
            self.commands.pictures.bar,
        ):
            part.set_theme(palette)
        self.commands.refresh()
        self.theme_changed.emit()

    def bring_to_front(self) -> None:
        """Raise the window, also when it is minimised."""
        if self.isMinimized():
            self.showNormal()
        self.show()
        self.raise_()
        self.activateWindow()

    def picture(self, *, scale: float = 1.0) -> QImage:
        """Return a picture of the whole window, 3D included; ``scale`` 2 has twice its pixels."""
        views = self.scene_view.grid.views
        for view in views:
            view.draw_now(scale)  # pictures may be begun and not finished
        ratio = self.devicePixelRatioF() * scale
        size = QSize(round(self.width() * ratio), round(self.height() * ratio))
        image = QImage(size, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(ratio)
        self.render(image)
        if scale != 1.0:
            for view in views:
                view.draw_now()
        image.setDevicePixelRatio(1.0)
        return image

    def picture_png(self) -> bytes:
        """Return the whole window, 3D included, as a PNG file."""
        return png_bytes(self.picture())

    # --- what is remembered

    def _restore_geometry(self) -> None:
        self.resize(self.sizeHint())
        geometry = _decode(self.settings.geometry)
        if geometry is not None:
            # Qt moves a window whose screen is gone onto one that is there.
            self.restoreGeometry(geometry)
        s = self.settings
        self.panels.remember(s.docks, s.panels, folded=s.folded)

    def _restore_view(self) -> None:
        grid = self.scene_view.grid
        grid.options = options_from_dict(self.settings.view)
        self.info.set_on(grid.options.info)
        known = {each.value: each for each in Arrangement}
        grid.arrange(known.get(self.settings.views, Arrangement.ONE))
        self.log_panel.choose_level(self.settings.log_level)
        if self.settings.scope == Scope.SCENE.value:
            self.sessions.set_scope(Scope.SCENE)
        self.commands.refresh()

    def _restore_plots(self, script: str) -> None:
        memory = self.settings.scripts.get(script)
        if script in self._plots_restored or memory is None:
            return
        # Once: plots that the user takes out must not come back by themselves.
        self._plots_restored.add(script)
        if memory.plots and not self.plots.plots.plots:
            self.plots.restore_state(memory.plots)

    def keep_settings(self) -> None:
        """Put everything that is remembered into the settings."""
        settings = self.settings
        self.memory.keep_camera()
        settings.log_level = self.log_panel.chosen_level.value
        settings.geometry = _encode(self.saveGeometry())
        settings.docks, settings.panels, settings.folded = self.panels.state()
        settings.view = options_to_dict(self.scene_view.grid.options)
        scene = self.sessions.shown
        if scene is not None and scene.session.identity:
            settings.script(scene.session.identity).plots = self.plots.state()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Keep the settings, finish a film, let the applications go, and stop every timer."""
        self.keep_settings()
        self.commands.pictures.recorder.close()
        self.memory.close()
        for touching in self.touching.values():
            touching.close()
        s = self.sessions
        s.session_added.disconnect(self._on_sessions)
        s.session_removed.disconnect(self._on_sessions)
        s.session_changed.disconnect(self._on_session)
        s.shown_changed.disconnect(self._on_shown)
        s.log.added.disconnect(self._on_log)
        s.scope_changed.disconnect(self._on_scope)
        self.timeline_link.close()
        self.commands.time.close()
        self.commands.beside.close()
        self.commands.recording.close()
        self.damaged_files.close()
        self.plot_feed.close()
        self.panels.close()
        s.refreshes.paint = lambda: None
        self.travel.close_panel()
        for part in (self.transport, self.banner, self.scene_view, self.status, self.info):
            part.close_panel()
        self.processes.close()
        self.trust.close()
        self.welcome.sessions.stop()
        super().closeEvent(event)
        self.closed.emit()

    def sizeHint(self) -> QSize:
        """Return the size of the first start: most of the screen, its frame and bars included."""
        room = self.screen().availableSize()
        width = min(room.width(), max(_USUAL.width(), round(0.9 * room.width())), _LARGEST.width())
        height = max(_USUAL.height(), room.height() - 2 * _FRAME)
        return QSize(width, min(room.height() - _FRAME, height, _LARGEST.height()))


def _encode(data: QByteArray) -> str:
    return base64.b64encode(data.data()).decode()


def _decode(text: str) -> QByteArray | None:
    try:
        return QByteArray(base64.b64decode(text, validate=True)) if text else None
    except ValueError:
        return None
