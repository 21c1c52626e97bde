"""Connects the shown scene with the 3D view: the only place where both are known."""

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from stroboscope.app.main.view_grid import ViewGrid
from stroboscope.app.models.assets import asset_digests, tree_digests
from stroboscope.app.models.frames import SceneFrame
from stroboscope.app.models.ghosts import scene_title
from stroboscope.app.models.overlay_topics import topics_of
from stroboscope.app.models.refreshes import PAUSED, Pace
from stroboscope.app.models.scene import USUAL_RATE, SceneModel
from stroboscope.app.models.selection import Element
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.models.visibility import hidden_parts
from stroboscope.app.panels.labels import label
from stroboscope.app.panels.loading_cover import Cover, LoadingCover
from stroboscope.app.view3d.viewport import Viewport
from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Instant, Topic
from stroboscope.resources.themes import Palette

__all__ = ["FAST_FORWARD_FPS", "SceneView"]

_WHO = "3d view"
_NO_PICTURE = (
    "No picture was received before the {what}: pictures are sent only of the scene that is shown."
)
_EMPTY = "The application has no scene yet. It is drawn here when the script creates one."
# Pictures per second while a scene runs unthrottled and the processor draws: the simulation needs
# its core, and nobody follows more than this anyway.
FAST_FORWARD_FPS = 6.5
# Pictures per second on the screen beside those of a film.
FILMING_FPS = 4.0
# Frames per second that are asked for: as many as can be drawn. Numbers in tables come as often as
# panels refresh, and rows of signals, which hold every step since the last, as often as plots do.
PLAYING_RATE_ON_SOFTWARE = 25.0
FAST_FORWARD_RATE = 30.0
FAST_FORWARD_RATE_ON_SOFTWARE = FAST_FORWARD_FPS
FAST_FORWARD_SIGNALS_ON_SOFTWARE = 3.0
SIGNALS_ON_SOFTWARE = 10.0
# What panels may use of the thread that also draws, by whether the processor draws the pictures.
_PLAYING = {True: Pace(share=0.15, saved=0.012), False: Pace(share=0.35, saved=0.03)}
_FAST_FORWARD = {
    True: Pace(share=0.07, saved=0.012, least=1.25),
    False: Pace(share=0.20, saved=0.03),
}


class SceneView(QWidget):
    """Holds the views and feeds them: description, assets, poses, contacts, selection.

    ``pose_shown`` comes with each instant that the views have been given, as a SceneFrame;
    ``drawn_scene_changed`` when another scene, or none, is in the picture.
    """

    pose_shown = Signal(object)
    drawn_scene_changed = Signal()

    def __init__(
        self,
        sessions: SessionsModel,
        view: ViewState,
        palette: Palette,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._sessions = sessions
        self._view = view
        self._scene: SceneModel | None = None
        self._description: SceneDescription | None = None
        self._drawn_scene: SceneModel | None = None
        self._drawn_pose: SceneFrame | None = None
        self._drawn_values: dict[Topic, SceneFrame] = {}
        self._topics: frozenset[Topic] = frozenset()
        self._topics_of: ViewOptions | None = None
        self._topics_in: SceneDescription | None = None
        self._filming = False
        # Before the first poses the camera is still that of another scene.
        self._has_poses = False
        # Called before another scene is drawn: its camera is about to be lost.
        self.keep_camera: Callable[[], None] = lambda: None
        # Called with script and scene name when a scene appears: puts the camera where it was.
        self.restore_camera: Callable[[str, str], bool] = lambda _script, _scene: False
        self.grid = ViewGrid(palette)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.grid)
        self.empty = label(_EMPTY, "muted", wrap=True)
        self.empty.setParent(self)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setMargin(24)
        self.empty.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.cover = LoadingCover(self, palette)
        self.cover.stackUnder(self.empty)
        # Whose picture is on show: that of before until the one of another scene is drawn.
        self._pictured: SceneModel | None = None
        # The last one of which nothing was missing in the picture.
        self._was_whole: SceneModel | None = None
        self.setFocusProxy(self.viewport)
        self.grid.added.connect(self._on_view_added)
        self.grid.leader.drawn.connect(self._refresh_cover)
        self.grid.activated.connect(self.setFocusProxy)
        self.grid.picked.connect(self._on_picked)
        sessions.shown_changed.connect(self._on_shown)
        sessions.session_changed.connect(self._on_session)
        sessions.selection.changed.connect(self._on_selection)
        sessions.visibility.changed.connect(self._on_visibility)
        sessions.assets.arrived.connect(self._on_asset)
        sessions.assets.failed.connect(self._on_asset_failed)
        sessions.refreshes.rate_changed.connect(self._set_rates)
        sessions.refreshes.prepares_picture = lambda: self.viewport.is_preparing
        view.instant_changed.connect(self._on_instant)
        self._on_shown(sessions.shown)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the message over the whole picture."""
        super().resizeEvent(event)
        self.empty.setGeometry(self.rect())

    @property
    def viewport(self) -> Viewport:
        """The view that keys and menus act on."""
        return self.grid.active

    @property
    def drawn_pose(self) -> SceneFrame | None:
        """The poses in the picture, None before there are any."""
        return self._drawn_pose if self._has_poses else None

    def set_filming(self, filming: bool) -> None:
        """Ask for frames often also in fast forward, and leave the processor to the film's."""
        self._filming = filming
        self._on_status()

    @property
    def drawn_scene(self) -> SceneModel | None:
        """The scene in the picture, once its poses have come; None before.

        That of before while the shown one is not described yet.
        """
        return self._drawn_scene if self._has_poses else None

    def close_panel(self) -> None:
        """Stop listening and give the GL resources back."""
        self._sessions.shown_changed.disconnect(self._on_shown)
        self._sessions.session_changed.disconnect(self._on_session)
        self._sessions.selection.changed.disconnect(self._on_selection)
        self._sessions.visibility.changed.disconnect(self._on_visibility)
        self._sessions.assets.arrived.disconnect(self._on_asset)
        self._sessions.assets.failed.disconnect(self._on_asset_failed)
        self._sessions.refreshes.rate_changed.disconnect(self._set_rates)
        self._sessions.refreshes.prepares_picture = lambda: False
        self._view.instant_changed.disconnect(self._on_instant)
        self._follow(None)
        self.cover.close_panel()
        self.grid.close_views()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self.grid.set_theme(palette)
        self.cover.set_theme(palette)

    def options_changed(self) -> None:
        """Subscribe to exactly what is switched on in the viewport's options; draw it."""
        scene, description = self._scene, self._description
        if scene is not None and not scene.is_stale and description is not None:
            scene.want(_WHO, self._wanted_topics())
            self._fetch_trees(scene, description)
        self._draw()

    def _wanted_assets(self, description: SceneDescription | None) -> tuple[str, ...]:
        if description is None:
            return ()
        options = self.grid.options
        trees = options.body_trees or options.mesh_trees or options.flex_trees
        return asset_digests(description) + (tree_digests(description) if trees else ())

    def _fetch_trees(self, scene: SceneModel, description: SceneDescription) -> None:
        """Bring the trees when somebody first wants to see them."""
        for digest in set(self._wanted_assets(description)) & set(tree_digests(description)):
            arrays = self._sessions.assets.get(digest)
            if arrays is not None:
                self.grid.set_asset(digest, arrays)
            else:
                self._sessions.assets.fetch(scene.session, (digest,))

    def _follow(self, scene: SceneModel | None) -> None:
        if self._scene is not None:
            self._scene.described.disconnect(self._on_described)
            self._scene.frame_arrived.disconnect(self._on_frame)
            self._scene.status_changed.disconnect(self._on_status)
            self._scene.want(_WHO, ())
        self._scene = scene
        if scene is not None:
            scene.described.connect(self._on_described)
            scene.frame_arrived.connect(self._on_frame)
            scene.status_changed.connect(self._on_status)

    def _on_shown(self, scene: SceneModel | None) -> None:
        self._follow(scene)
        self._drawn_pose = None
        self._drawn_values.clear()
        self._describe()
        self._on_status()
        self.options_changed()

    def _on_described(self) -> None:
        self._describe()
        self.options_changed()

    def _describe(self) -> None:
        scene = self._scene
        description = scene.description if scene is not None else None
        if scene is not None and description is None and not scene.is_stale:
            return  # the picture of the scene before stays until this one can be drawn
        if description is self._description:
            self._draw()
            return
        self.keep_camera()
        self._description = description
        self._drawn_scene = scene
        self._has_poses = False
        self.drawn_scene_changed.emit()
        digests = self._wanted_assets(description)
        known = {digest: self._sessions.assets.get(digest) for digest in digests}
        here = {digest: arrays for digest, arrays in known.items() if arrays is not None}
        self.grid.set_description(description, here)
        if scene is None or description is None:
            return
        self._on_visibility(scene)
        self._sessions.assets.fetch(scene.session, digests)
        # Before the first poses, which would frame a scene that nothing is remembered of.
        self.restore_camera(scene.session.identity, scene.name)
        self._drawn_pose = None
        self._drawn_values.clear()
        self._draw()
        self._on_selection(self._sessions.selection.element)

    def _on_frame(self, frame: SceneFrame) -> None:
        if frame.topic is Topic.POSE or frame.topic in self._wanted_topics():
            self._draw()

    def _on_instant(self, _instant: Instant) -> None:
        self._draw()

    def _on_asset(self, digest: str, arrays: Arrays) -> None:
        if digest in self._wanted_assets(self._description):
            self.grid.set_asset(digest, arrays)
            self._refresh_cover()

    def _on_asset_failed(self, _digest: str, _reason: str) -> None:
        self._refresh_cover()

    def _on_visibility(self, scene: SceneModel) -> None:
        if scene is self._drawn_scene and self._description is not None:
            hidden = self._sessions.visibility.hidden(scene)
            self.grid.set_hidden(hidden_parts(self._description, hidden))

    def _on_selection(self, element: Element | None) -> None:
        self.grid.set_selection(element)

    def _on_session(self, _session: object) -> None:
        self._on_status()

    def _on_status(self) -> None:
        scene = self._scene
        self.grid.set_stale(scene is not None and scene.is_stale)
        never = scene is not None and scene.is_stale and scene.latest(Topic.POSE) is None
        connected = scene is not None and scene.session.is_connected
        what = "scene was destroyed" if connected else "application ended"
        self.empty.setText(_NO_PICTURE.format(what=what) if never else _EMPTY)
        self.empty.setVisible(scene is None or never)
        self.empty.raise_()
        self._refresh_cover()
        fast = scene is not None and not scene.is_stale and scene.mode is PlaybackMode.FAST_FORWARD
        software = self.viewport.on_software
        self.grid.set_frame_limit(FAST_FORWARD_FPS if fast and software else 0.0)
        if software and self._filming:
            self.grid.set_frame_limit(FILMING_FPS)
        moves = scene is not None and not scene.is_stale and scene.mode is not PlaybackMode.PAUSED
        paces = _FAST_FORWARD if fast else _PLAYING
        self._sessions.refreshes.set_pace(paces[software] if moves else PAUSED)
        self._set_rates()
        self._draw()

    def _on_view_added(self, view: Viewport) -> None:
        view.drawn.connect(self._refresh_cover)

    def _refresh_cover(self) -> None:
        """Say what is still to come; cover a picture that is of another scene than the shown."""
        scene = self._scene
        if scene is None or not self.empty.isHidden():
            self.cover.tell()
            return
        if self.drawn_scene is scene and not any(v.awaits_picture for v in self.grid.views):
            self._pictured = scene
        missing = 0
        if scene.description is not None and scene.description is self._description:
            missing = self._sessions.assets.coming(self._wanted_assets(scene.description))
        text = f"loading {missing} {'mesh' if missing == 1 else 'meshes'}" if missing else ""
        if not text and self.grid.leader.lacks_shapes:
            text = "preparing meshes"
        before = self._pictured
        if before is not scene:
            other = before is not None and before.session.identity != scene.session.identity
            words, covers = text or "loading", Cover.NOTHING
            self.cover.tell(scene_title(scene), words, covers=covers, at_once=other)
            return
        if not text:
            self._was_whole = scene
        covers = Cover.ALL if self._was_whole is scene else Cover.DIM
        self.cover.tell(scene_title(scene), text, covers=covers)

    def _set_rates(self, _panels: float = 0.0) -> None:
        """Ask for as much as is drawn and read."""
        scene, software = self._scene, self.viewport.on_software
        if scene is None:
            return
        values = self._sessions.refreshes.rate
        fast = not scene.is_stale and scene.mode is PlaybackMode.FAST_FORWARD
        if self._filming or not (software or fast):
            scene.set_rate(USUAL_RATE, values=values)
        elif not software:
            scene.set_rate(FAST_FORWARD_RATE, values=values)
        elif fast:
            scene.set_rate(
                FAST_FORWARD_RATE_ON_SOFTWARE,
                values=values,
                signals=FAST_FORWARD_SIGNALS_ON_SOFTWARE,
            )
        else:
            scene.set_rate(PLAYING_RATE_ON_SOFTWARE, values=values, signals=SIGNALS_ON_SOFTWARE)

    def _on_picked(self, element: Element | None) -> None:
        self._sessions.selection.select(element)

    def _wanted_topics(self) -> frozenset[Topic]:
        """Return what is switched on; asked for at every frame that arrives."""
        options, description = self.grid.options, self._description
        if description is None:
            return frozenset()
        if self._topics_of is not options or self._topics_in is not description:
            self._topics_of, self._topics_in = options, description
            self._topics = topics_of(options, description)
        return self._topics

    def _draw(self) -> None:
        """Give the viewport what has changed, all of it of one instant; it draws only then.

        Frames of an instant arrive one by one, so a picture waits for the last of them. A topic
        that this engine never sends, or no longer, does not hold the others up.
        """
        scene, description = self._scene, self._description
        if scene is None or scene.description is not description or description is None:
            return
        instant = self._view.instant
        newest = scene.latest(Topic.POSE, instant)
        if newest is None:
            return
        wanted = self._wanted_topics()
        known = {topic for topic in wanted if scene.latest(topic, instant) is not None}
        # A large drawing comes once, for as long as it stays: nothing waits for it.
        still = self._still_drawing(instant) if Topic.DRAWING in wanted else None
        waited_for = known - {Topic.DRAWING} if still else known
        found = scene.frame_set((Topic.POSE, *waited_for), instant)
        frames = dict(found.frames if found is not None else {Topic.POSE: newest})
        if still is not None:
            frames[Topic.DRAWING] = still
        pose = frames[Topic.POSE]
        is_new = pose is not self._drawn_pose
        self._draw_pose(pose, description)
        for topic in wanted | set(self._drawn_values):
            self._draw_values(topic, frames.get(topic) if topic in wanted else None)
        if is_new:
            self.pose_shown.emit(pose)

    def _still_drawing(self, instant: Instant) -> SceneFrame | None:
        """Return the newest drawing when it is so large that it comes only when it changes."""
        frame = self._scene.latest(Topic.DRAWING, instant) if self._scene is not None else None
        if frame is None:
            return None
        size = sum(array.nbytes for array in frame.arrays.values())
        return frame if size >= Limits().repeated_drawing_bytes else None

    def _draw_pose(self, pose: SceneFrame, description: SceneDescription) -> None:
        if pose is self._drawn_pose:
            return
        self._drawn_pose = pose
        xpos, xquat = pose.arrays.get("xpos"), pose.arrays.get("xquat")
        if xpos is not None and xquat is not None and len(xpos) == len(description.bodies):
            self.grid.set_poses(np.asarray(xpos, np.float64), np.asarray(xquat, np.float64))
            if not self._has_poses:
                self._has_poses = True
                for view in self.grid.views if self._pictured is not self._drawn_scene else ():
                    view.await_picture()
                self.drawn_scene_changed.emit()

    def _draw_values(self, topic: Topic, frame: SceneFrame | None) -> None:
        if frame is self._drawn_values.get(topic):
            return
        if frame is None:
            del self._drawn_values[topic]
        else:
            self._drawn_values[topic] = frame
        self.grid.set_values(topic, frame.arrays if frame is not None else None)
