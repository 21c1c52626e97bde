"""What a hand in the picture does to the scene: a spring, a mocap body's pose, a free body's pose.

As in MuJoCo's viewer, mocap bodies follow the mouse at once, and so do bodies with a free joint
while the scene stands still. Everything else is pulled by a spring, which acts when time goes on.
"""

import enum
from collections.abc import Callable

from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.view3d.pulling import Pull
from stroboscope.app.view3d.viewport import Viewport
from stroboscope.debugger_protocol.edit_messages import EditField, Perturb, PerturbKind
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.scene_description import JointInfo, JointType, SceneDescription

__all__ = ["Touching"]

_REFUSAL_MS = 5000


class _Way(enum.Enum):
    """How a body is made to follow the mouse."""

    SPRING = "spring"
    MOCAP = "mocap"
    POSE = "pose"


class Touching:
    """Sends what the viewport's grip says to the shown scene. GUI thread only.

    ``say`` shows a sentence in the status bar, for so long [ms] or (0) until the next; "" takes it
    away. ``show`` draws the spring in all views, None takes it away. ``show_now`` shows the state
    as it stands: a body is moved from there, not from where the last step had it.
    """

    def __init__(
        self,
        sessions: SessionsModel,
        viewport: Viewport,
        *,
        say: Callable[[str, int], None],
        show: Callable[[Perturb | None], None],
        show_now: Callable[[], None] = lambda: None,
    ) -> None:
        self._sessions = sessions
        self._viewport = viewport
        self._say = say
        self._show_now = show_now
        self._show = show
        self._scene: SceneModel | None = None
        self._way: _Way | None = None
        self._said = ""
        viewport.grip.may_take = self._may_take
        viewport.grip.pulled.connect(self._on_pull)
        viewport.grip.let_go.connect(self._on_let_go)
        sessions.shown_changed.connect(self._on_shown)

    def close(self) -> None:
        """Let go and stop listening."""
        self._viewport.grip.release()
        self._sessions.shown_changed.disconnect(self._on_shown)

    # --- whether

    def _may_take(self, body: int) -> bool:
        scene = self._sessions.shown
        description = scene.description if scene is not None else None
        if scene is None or description is None:
            return False
        problem = _why_not(scene, description, body)
        if problem:
            self._said = ""
            self._say(problem, _REFUSAL_MS)
        self._scene = scene if not problem else None
        self._way = None
        if not problem:
            self._show_now()
        return not problem

    # --- what

    def _on_pull(self, pull: Pull) -> None:
        scene = self._scene
        if scene is None or scene.description is None or scene.is_stale:
            self._viewport.let_go()
            return
        way = _way_of(scene, scene.description, pull.body)
        if self._way is _Way.SPRING and way is not _Way.SPRING:
            scene.edits.let_go()  # it was paused meanwhile
        self._way = way
        self._send(scene, scene.description, pull)
        self._tell(_what_happens(scene, scene.description, pull, way=way))

    def _send(self, scene: SceneModel, description: SceneDescription, pull: Pull) -> None:
        turning = pull.kind is PerturbKind.TORQUE
        shown: Perturb | None = None
        match self._way:
            case _Way.MOCAP:
                at = description.bodies[pull.body].mocap_index
                if turning:
                    scene.edits.set_state(EditField.MOCAP_QUAT, 4 * at, pull.body_quat)
                else:
                    scene.edits.set_state(EditField.MOCAP_POS, 3 * at, pull.body_pos)
            case _Way.POSE:
                joint = _free_joint(description, pull.body)
                if joint is not None:
                    pose = (*pull.body_pos, *pull.body_quat)
                    scene.edits.set_state(EditField.QPOS, joint.qpos, pose)
            case _:
                shown = Perturb(
                    id=0,
                    scene_id=scene.scene_id,
                    body=pull.body,
                    kind=pull.kind,
                    point=pull.point,
                    pos=pull.pos,
                    quat=pull.quat,
                )
                if turning:
                    scene.edits.twist(pull.body, pull.quat)
                else:
                    scene.edits.pull(pull.body, pull.point, pull.pos)
        self._show(shown)

    def _on_let_go(self) -> None:
        scene, self._scene = self._scene, None
        if scene is not None and self._way is _Way.SPRING and not scene.is_stale:
            scene.edits.let_go()
        self._way = None
        self._show(None)
        self._tell("")

    def _on_shown(self, _scene: SceneModel | None) -> None:
        self._viewport.let_go()

    def _tell(self, text: str) -> None:
        if text != self._said:
            self._said = text
            self._say(text, 0)


def _why_not(scene: SceneModel, description: SceneDescription, body: int) -> str:
    """Return why a body can't be pulled, "" when it can."""
    if scene.is_stale:
        return "This scene is over: nothing can be pulled any more."
    if not scene.session.has_control:
        return "Another client controls this application. Session > Take control, then pull."
    if not 0 <= body < len(description.bodies):
        return "Double-click a body to select it, then drag it with Ctrl held."
    info = description.bodies[body]
    if body == 0:
        return "That belongs to the world, which does not move."
    if info.weld == 0 and not info.mocap:
        return f"{info.name or 'This body'} is fixed to the world: it can't be pulled."
    return ""


def _way_of(scene: SceneModel, description: SceneDescription, body: int) -> _Way:
    if description.bodies[body].mocap_index >= 0:
        return _Way.MOCAP
    still = scene.mode is PlaybackMode.PAUSED
    return _Way.POSE if still and _free_joint(description, body) is not None else _Way.SPRING


def _free_joint(description: SceneDescription, body: int) -> JointInfo | None:
    return next(
        (j for j in description.joints if j.body == body and j.type is JointType.FREE), None
    )


def _what_happens(
    scene: SceneModel, description: SceneDescription, pull: Pull, *, way: _Way
) -> str:
    name = description.bodies[pull.body].name or f"body {pull.body}"
    turning = pull.kind is PerturbKind.TORQUE
    other = "Shift: about the view's axis" if turning else "Shift: horizontally"
    if way is not _Way.SPRING:
        return f"{'Turning' if turning else 'Moving'} {name}   ·   {other}   ·   Esc: let go"
    what = "Twisting" if turning else "Pulling"
    later = "   ·   acts when the scene plays" if scene.mode is PlaybackMode.PAUSED else ""
    return f"{what} {name}{later}   ·   {other}   ·   Esc: let go"
