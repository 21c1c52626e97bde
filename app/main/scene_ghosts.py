"""Other scenes in the picture of the shown one, of the same application or another."""

import dataclasses
from collections.abc import Callable

import numpy as np

from stroboscope.app.models.body_match import BodyMatch, match_bodies
from stroboscope.app.models.frames import SceneFrame
from stroboscope.app.models.ghosts import SceneGhost
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.view3d.ghosts import OtherPose
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["SceneGhosts"]

_WHO = "ghost in another scene"


@dataclasses.dataclass(frozen=True, slots=True)
class _Match:
    """What was found out about two descriptions."""

    mine: SceneDescription
    theirs: SceneDescription
    match: BodyMatch | None


class SceneGhosts:
    """The newest poses of the scenes that are ghosts in one; GUI thread only.

    ``changed`` is called when there is something else to draw. Who moves them to the time that is
    looked at is :class:`~.linked_times.LinkedTimes`.
    """

    def __init__(self, view: ViewState, *, changed: Callable[[], None]) -> None:
        self._view = view
        self._changed = changed
        self._scene: SceneModel | None = None
        self._followed: tuple[SceneModel, ...] = ()
        self._match: dict[SceneModel, _Match] = {}
        # They stay alive, or another one could get their id.
        self._frames: tuple[SceneFrame | None, ...] = ()

    def follow(self, scene: SceneModel | None) -> None:
        """Take the ghosts of another scene, or of none."""
        if self._scene is not None:
            self._scene.ghosts.changed.disconnect(self._on_ghosts)
        self._scene = scene
        if scene is not None:
            scene.ghosts.changed.connect(self._on_ghosts)
        self._on_ghosts()

    def key(self) -> tuple[object, ...]:
        """Return what is another thing when there is something else to draw."""
        shown = self._shown()
        self._frames = tuple(self._frame(ghost) for ghost in shown)
        return (shown, *(id(frame) for frame in self._frames))

    def poses(
        self,
        description: SceneDescription,
        color: Callable[[int], tuple[float, float, float, float]],
    ) -> list[OtherPose]:
        """Return where the bodies of the shown scene are in the others."""
        found = []
        for ghost in self._shown():
            frame, other = self._frame(ghost), ghost.ref.description
            if frame is None or other is None:
                continue
            match = self._matched(ghost.ref, description, other)
            xpos, xquat = frame.arrays.get("xpos"), frame.arrays.get("xquat")
            if match is None or xpos is None or xquat is None:
                continue
            if xpos.shape != (len(other.bodies), 3) or xquat.shape != (len(other.bodies), 4):
                continue
            pos, quat = match.poses(np.asarray(xpos, np.float64), np.asarray(xquat, np.float64))
            found.append(OtherPose(pos, quat, color(ghost.colour)))
        return found

    def _shown(self) -> tuple[SceneGhost, ...]:
        scene = self._scene
        return tuple(ghost for ghost in scene.ghosts.scenes if ghost.on) if scene else ()

    def _frame(self, ghost: SceneGhost) -> SceneFrame | None:
        return ghost.ref.latest(Topic.POSE, self._view.instant)

    def _matched(
        self, other: SceneModel, mine: SceneDescription, theirs: SceneDescription
    ) -> BodyMatch | None:
        known = self._match.get(other)
        if known is None or known.mine is not mine or known.theirs is not theirs:
            known = self._match[other] = _Match(mine, theirs, match_bodies(mine, theirs))
        return known.match

    def _on_ghosts(self) -> None:
        scene = self._scene
        gone = [ghost.ref for ghost in scene.ghosts.scenes if ghost.ref.gone] if scene else []
        for other in gone:
            assert scene is not None  # noqa: S101 - it has ghosts
            scene.ghosts.remove(other)
        shown = tuple(ghost.ref for ghost in self._shown())
        before, self._followed = self._followed, shown
        for other in before:
            if other not in shown:
                other.frame_arrived.disconnect(self._on_frame)
                other.described.disconnect(self._changed)
                other.removed.disconnect(self._on_ghosts)
                other.want(_WHO, ())
                self._match.pop(other, None)
        for other in shown:
            if other not in before:
                other.frame_arrived.connect(self._on_frame)
                other.described.connect(self._changed)
                other.removed.connect(self._on_ghosts)
                other.want(_WHO, (Topic.POSE,))
        self._changed()

    def _on_frame(self, frame: SceneFrame) -> None:
        if frame.topic is Topic.POSE:
            self._changed()
