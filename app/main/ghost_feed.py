"""Brings ghosts, other scenes and other environments into the picture of the shown one."""

import dataclasses
import math
import weakref

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from stroboscope.app.main.scene_ghosts import SceneGhosts
from stroboscope.app.main.scene_view import SceneView
from stroboscope.app.models.frames import SceneFrame
from stroboscope.app.models.ghosts import GhostEntry, ghost_colour
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.view3d.camera import ViewMode
from stroboscope.app.view3d.environments import EnvironmentGrid
from stroboscope.app.view3d.ghosts import OtherPose
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Instant, Topic
from stroboscope.resources.themes import Palette

__all__ = ["GhostFeed", "environment_offsets", "grid_spacing"]

_WHO = "ghosts"
_OPACITY = 0.5
# Room between environments, as a part of what one needs.
_ROOM = 1.4

Floats = NDArray[np.float64]
Rgba = tuple[float, float, float, float]


@dataclasses.dataclass(frozen=True, slots=True)
class _Grid:
    """How many columns a grid has, and where in it the selected environment stands (x, y) [m]."""

    columns: int = 1
    place: tuple[float, float] = (0.0, 0.0)


def _rgba(name: str) -> Rgba:
    color = QColor(name)
    return color.redF(), color.greenF(), color.blueF(), 1.0


def _columns(count: int) -> int:
    return math.ceil(math.sqrt(max(count, 1)))


def environment_offsets(shown: tuple[int, ...], selected: int, *, spacing: float) -> Floats:
    """Return where each environment stands in the grid, (k, 3) [m], the selected one at 0."""
    columns = _columns(len(shown))
    places = np.zeros((len(shown), 3))
    number = np.arange(len(shown))
    places[:, 0] = spacing * (number % columns)
    places[:, 1] = -spacing * (number // columns)
    at = shown.index(selected) if selected in shown else 0
    return places - places[at] if len(shown) else places


def grid_spacing(xpos: Floats, description: SceneDescription) -> float:
    """Return how far apart environments stand [m], from their poses ``xpos`` (k, nbody, 3)."""
    moving = xpos[:, 1:, :2]
    span = float(np.nanmax(np.ptp(moving, axis=1))) if moving.size else 0.0
    radius = max((max(geom.size) for geom in description.geoms if geom.body), default=0.1)
    return _ROOM * max(span + 2.0 * radius, 0.5)


class GhostFeed:
    """Subscribes to what there is of ghosts and environments; GUI thread only.

    ``close_panel`` stops listening.
    """

    def __init__(
        self, sessions: SessionsModel, view: ViewState, scene_view: SceneView, palette: Palette
    ) -> None:
        self._sessions = sessions
        self._view = view
        self._scene_view = scene_view
        self._palette = palette
        self._scene: SceneModel | None = None
        self._drawn: object = None
        self._frames: tuple[SceneFrame | None, ...] = ()
        # Of each scene: how its grid was when the camera was last put right for it.
        self._grids: weakref.WeakKeyDictionary[SceneModel, _Grid] = weakref.WeakKeyDictionary()
        # By what is shown: distances don't change with every step.
        self._spacing: tuple[object, float] = (None, 1.0)
        self._scenes = SceneGhosts(view, changed=self._draw)
        sessions.shown_changed.connect(self._follow)
        view.instant_changed.connect(self._on_instant)
        scene_view.grid.environment_picked.connect(self._on_picked)
        self._follow(sessions.shown)

    def close_panel(self) -> None:
        """Stop listening."""
        self._sessions.shown_changed.disconnect(self._follow)
        self._view.instant_changed.disconnect(self._on_instant)
        self._scene_view.grid.environment_picked.disconnect(self._on_picked)
        self._follow(None)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._drawn = None
        self._draw()

    def _follow(self, scene: SceneModel | None) -> None:
        before = self._scene
        if before is not None:
            before.ghosts.changed.disconnect(self._on_wanted)
            before.environments.changed.disconnect(self._on_wanted)
            before.frame_arrived.disconnect(self._on_frame)
            before.described.disconnect(self._on_described)
            before.want(_WHO, ())
        self._scene, self._drawn = scene, None
        self._scenes.follow(scene)
        if scene is not None:
            scene.ghosts.changed.connect(self._on_wanted)
            scene.environments.changed.connect(self._on_wanted)
            scene.frame_arrived.connect(self._on_frame)
            scene.described.connect(self._on_described)
            self._on_wanted()

    def _topics(self, scene: SceneModel) -> tuple[Topic, ...]:
        topics = []
        if scene.ghosts.drawn:
            topics.append(Topic.GHOSTS)
        if len(scene.environments.shown) > 1 and scene.environments.count:
            topics.append(Topic.ENVIRONMENTS)
        return tuple(topics)

    def _on_wanted(self) -> None:
        scene = self._scene
        if scene is None:
            return
        scene.want(_WHO, self._topics(scene))
        self._draw()

    def _on_picked(self, number: int) -> None:
        """Look at the environment that was double-clicked."""
        scene = self._scene
        if scene is not None:
            scene.environments.look_at(number)

    def _put_cameras(self, scene: SceneModel, grid: _Grid) -> None:
        """Bring all of another grid into the picture; let nothing move in the same one."""
        before = self._grids.get(scene, _Grid())
        self._grids[scene] = grid
        for each in self._scene_view.grid.views if grid != before else ():
            camera = each.camera
            if camera.mode is not ViewMode.FREE:
                if grid.columns != before.columns:
                    factor = grid.columns / before.columns
                    each.set_camera(dataclasses.replace(camera, distance=camera.distance * factor))
            elif grid.columns != before.columns:
                each.frame_scene()
            else:
                # The selected one is the scene itself, which stands where it does.
                x, y, z = camera.lookat
                moved = (x + before.place[0] - grid.place[0], y + before.place[1] - grid.place[1])
                each.set_camera(dataclasses.replace(camera, lookat=(*moved, z)))

    def _on_described(self) -> None:
        self._drawn = None

    def _on_instant(self, _instant: Instant) -> None:
        self._draw()

    def _on_frame(self, frame: SceneFrame) -> None:
        if frame.topic in (Topic.GHOSTS, Topic.ENVIRONMENTS):
            self._draw()

    def _draw(self) -> None:
        scene = self._scene
        description = scene.description if scene is not None else None
        if scene is None or description is None or self._scene_view.drawn_scene is not scene:
            return
        wanted = self._topics(scene)
        frames = {topic: scene.latest(topic, self._view.instant) for topic in wanted}
        key = (
            *(id(frame) for frame in frames.values()),
            scene.ghosts.drawn,
            scene.environments.told,
            self._scenes.key(),
        )
        if key == self._drawn:
            return
        self._drawn = key
        # The frames stay alive, or another one could get their id.
        self._frames = tuple(frames.values())
        others: list[OtherPose] = []
        marks: EnvironmentGrid | None = None
        grid = _Grid()
        if (ghosts := frames.get(Topic.GHOSTS)) is not None:
            others += self._ghosts(ghosts, scene.ghosts.drawn, len(description.bodies))
        others += self._scenes.poses(description, self._ghost_rgba)
        if (environments := frames.get(Topic.ENVIRONMENTS)) is not None:
            found, marks, grid = self._environments(environments, scene, description)
            others += found
        elif Topic.ENVIRONMENTS in wanted:
            grid = self._grids.get(scene, grid)  # it is about to come
        self._scene_view.grid.set_others(others, marks)
        self._put_cameras(scene, grid)

    def _ghosts(
        self, frame: SceneFrame, drawn: tuple[GhostEntry, ...], bodies: int
    ) -> list[OtherPose]:
        found = []
        for xpos, xquat, number in _poses(frame, "number", bodies):
            if 0 <= number < len(drawn):
                found.append(OtherPose(xpos, xquat, self._ghost_rgba(drawn[number].colour)))
        return found

    def _ghost_rgba(self, number: int) -> Rgba:
        return (*_rgba(ghost_colour(self._palette, number))[:3], _OPACITY)

    def _environments(
        self, frame: SceneFrame, scene: SceneModel, description: SceneDescription
    ) -> tuple[list[OtherPose], EnvironmentGrid | None, "_Grid"]:
        poses = _poses(frame, "env", len(description.bodies))
        shown = tuple(number for _, _, number in poses)
        selected = scene.environments.told.selected
        if not poses:
            return [], None, self._grids.get(scene, _Grid())
        of = (description, shown)
        if self._spacing[0] != of:
            self._spacing = of, grid_spacing(np.stack([pose for pose, _, _ in poses]), description)
        spacing = self._spacing[1]
        offsets = environment_offsets(shown, selected, spacing=spacing)
        others = [
            OtherPose(xpos + offset, xquat, (1.0, 1.0, 1.0, 1.0), tint=0.0, env=number)
            for (xpos, xquat, number), offset in zip(poses, offsets, strict=True)
            if number != selected
        ]
        root = min(1, len(description.bodies) - 1)
        marks = EnvironmentGrid(
            numbers=shown,
            pos=np.stack([xpos[root] for xpos, _, _ in poses]) + offsets,
            selected=selected,
            failed=frozenset(scene.environments.told.failed),
            side=spacing,
            colors=self._colors(),
        )
        x, y, _ = (float(each) for each in -offsets[0])
        return others, marks, _Grid(_columns(len(shown)), (x, y))

    def _colors(self) -> tuple[Rgba, Rgba, Rgba]:
        palette = self._palette
        # A bright picture is grey, not white as panels are.
        other = palette.text if palette.name == "light" else palette.muted
        return _rgba(palette.accent), _rgba(palette.warn), _rgba(other)


def _poses(frame: SceneFrame, number: str, bodies: int) -> list[tuple[Floats, Floats, int]]:
    """Return the poses in a frame with their numbers; those of another model are left out."""
    xpos, xquat = frame.arrays.get("xpos"), frame.arrays.get("xquat")
    numbers = frame.arrays.get(number)
    if xpos is None or xquat is None or numbers is None or xpos.ndim != 3:
        return []
    if xpos.shape[1:] != (bodies, 3) or xquat.shape[1:] != (bodies, 4):
        return []
    return [
        (np.asarray(p, np.float64), np.asarray(q, np.float64), int(n))
        for p, q, n in zip(xpos, xquat, numbers.reshape(-1), strict=False)
    ]
