"""What people change in a scene beside its script, and what came of it. GUI thread only.

Everything here is sent as a command and believed only when the application says so. What is
dragged (a spring, a slider) is sent as often as it is answered: the newest value waits for the
answer to the last one, older ones are never sent.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.messages import (
    CheckpointInfo,
    Command,
    EditField,
    EditOption,
    EditState,
    Finding,
    Lint,
    LoadKeyframe,
    OverrideControl,
    Perturb,
    PerturbKind,
    ReleasePerturb,
    RevertEdit,
    SceneCheckpoints,
    SceneEdited,
    SceneFindings,
    SceneInterventions,
    SetControlNoise,
)

if TYPE_CHECKING:
    from stroboscope.app.models.scene import SceneModel
    from stroboscope.debugger_protocol.scene_description import Vec3, Vec4

__all__ = ["EditEntry", "SceneEdits"]

# The application undoes no older ones either.
_KEPT_EDITS = 200

_Make = Callable[[int], Command]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EditEntry:
    """One edit: ``text`` says what, ``axis`` and ``time`` [s] when; ``reverted``: undone."""

    edit_id: int
    text: str
    axis: int
    time: float
    reverted: bool = False


class SceneEdits:
    """Edits, interventions, checkpoints and findings of one scene, and the commands for them.

    ``changed`` is emitted when the list of edits has changed, the others for what they name.
    """

    def __init__(self, scene: "SceneModel") -> None:
        self.changed: Signal[[]] = Signal()
        self.interventions_changed: Signal[[]] = Signal()
        self.checkpoints_changed: Signal[[]] = Signal()
        self.findings_changed: Signal[[]] = Signal()
        self.interventions = SceneInterventions(scene_id=scene.scene_id)
        self.checkpoints: tuple[CheckpointInfo, ...] = ()
        self.findings: tuple[Finding, ...] | None = None
        """None until somebody has looked."""
        self._scene = scene
        self._entries: dict[int, EditEntry] = {}
        # What is dragged: the command under way for each target, and what to send after it.
        self._under_way: dict[object, int] = {}
        self._waiting: dict[object, _Make] = {}
        self._closed = False
        scene.session.answered.connect(self._answered)

    # --- what the application says

    @property
    def entries(self) -> tuple[EditEntry, ...]:
        """The edits, oldest first; an edit that was dragged further has its newest text."""
        return tuple(self._entries.values())

    @property
    def last(self) -> EditEntry | None:
        """The newest edit that can be undone."""
        return next((e for e in reversed(self._entries.values()) if not e.reverted), None)

    def override(self, index: int) -> float | None:
        """Return what ``ctrl[index]`` is overridden with, or None."""
        return dict(self.interventions.overrides).get(index)

    def receive(
        self, message: SceneEdited | SceneInterventions | SceneCheckpoints | SceneFindings
    ) -> None:
        """Take one piece of news."""
        match message:
            case SceneEdited():
                self._edited(message)
            case SceneInterventions():
                self.interventions = message
                self.interventions_changed.emit()
            case SceneCheckpoints():
                self.checkpoints = message.checkpoints
                self.checkpoints_changed.emit()
            case SceneFindings():
                self.findings = message.findings
                self.findings_changed.emit()

    def _edited(self, message: SceneEdited) -> None:
        self._entries[message.edit_id] = EditEntry(
            edit_id=message.edit_id,
            text=message.text,
            axis=message.axis,
            time=message.time,
            reverted=message.reverted,
        )
        while len(self._entries) > _KEPT_EDITS:
            del self._entries[next(iter(self._entries))]
        self.changed.emit()

    # --- commands

    def set_state(self, field: EditField, index: int, values: Sequence[float]) -> None:
        """Write into a state array; qpos, qvel and act only while the scene stands still."""
        numbers = tuple(map(float, values))
        self._drag(
            (EditState, field, index),
            lambda i, scene_id: EditState(
                id=i, scene_id=scene_id, field=field, index=index, values=numbers
            ),
        )

    def pull(self, body: int, point: "Vec3", pos: "Vec3") -> None:
        """Pull ``point`` [m] in the body's frame towards ``pos`` [m] in the world."""
        self._drag(
            Perturb,
            lambda i, scene_id: Perturb(
                id=i, scene_id=scene_id, body=body, kind=PerturbKind.FORCE, point=point, pos=pos
            ),
        )

    def twist(self, body: int, quat: "Vec4") -> None:
        """Turn the inertial frame of a body towards ``quat``, wxyz in the world."""
        self._drag(
            Perturb,
            lambda i, scene_id: Perturb(
                id=i, scene_id=scene_id, body=body, kind=PerturbKind.TORQUE, quat=quat
            ),
        )

    def let_go(self) -> None:
        """End the perturbation."""
        self._waiting.pop(Perturb, None)
        self._send(lambda i, scene_id: ReleasePerturb(id=i, scene_id=scene_id))

    def set_override(self, index: int, value: float | None) -> None:
        """Override ``ctrl[index]`` whatever the script writes; None: give it back."""
        self._drag(
            (OverrideControl, index),
            lambda i, scene_id: OverrideControl(
                id=i, scene_id=scene_id, index=index, value=None if value is None else float(value)
            ),
        )

    def set_noise(self, std: float, rate: float) -> None:
        """Add noise to all controls: ``std`` of their range, correlated over ``rate`` [s]."""
        self._drag(
            SetControlNoise,
            lambda i, scene_id: SetControlNoise(
                id=i, scene_id=scene_id, std=float(std), rate=float(rate)
            ),
        )

    def set_option(self, option: str, values: Sequence[float]) -> None:
        """Set one of the description's physics options."""
        numbers = tuple(map(float, values))
        self._drag(
            (EditOption, option),
            lambda i, scene_id: EditOption(id=i, scene_id=scene_id, option=option, values=numbers),
        )

    def load_keyframe(self, index: int) -> None:
        """Reset the scene to one of its model's keyframes."""
        self._send(lambda i, scene_id: LoadKeyframe(id=i, scene_id=scene_id, index=index))

    def revert(self, edit_id: int) -> None:
        """Undo an edit."""
        self._send(lambda i, scene_id: RevertEdit(id=i, scene_id=scene_id, edit_id=edit_id))

    def look_over(self) -> None:
        """Look for common mistakes anew."""
        self._send(lambda i, scene_id: Lint(id=i, scene_id=scene_id))

    # --- inside

    def _send(self, make: Callable[[int, int], Command]) -> int | None:
        scene = self._scene
        if scene.is_stale:
            return None
        return scene.session.send(lambda i: make(i, scene.scene_id))

    def _drag(self, target: object, make: Callable[[int, int], Command]) -> None:
        scene_id = self._scene.scene_id
        self._waiting[target] = lambda i: make(i, scene_id)
        if target not in self._under_way:
            self._send_waiting(target)

    def _send_waiting(self, target: object) -> None:
        make = self._waiting.pop(target, None)
        if make is None or self._scene.is_stale:
            return
        sent = self._scene.session.send(make)
        if sent is not None:
            self._under_way[target] = sent

    def _answered(self, command_id: int) -> None:
        for target, under_way in tuple(self._under_way.items()):
            if under_way == command_id:
                del self._under_way[target]
                self._send_waiting(target)

    def close(self) -> None:
        """Stop listening: the scene is gone."""
        self._under_way.clear()
        self._waiting.clear()
        if not self._closed:
            self._closed = True
            self._scene.session.answered.disconnect(self._answered)
