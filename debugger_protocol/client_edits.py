"""What a client changes in scenes from outside, and what it is told of such changes."""

import abc
import threading
from collections.abc import Iterable
from typing import Any

from stroboscope.debugger_protocol import messages as wire
from stroboscope.debugger_protocol.edit_words import (
    control_index,
    named_place,
    option_values,
    state_index,
)
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import EditField, PerturbKind
from stroboscope.debugger_protocol.near_names import suggestion
from stroboscope.debugger_protocol.scene_description import SceneDescription, Vec3, Vec4

__all__ = ["EditingClient"]


class EditingClient(abc.ABC):
    """The part of a client that edits. Methods may be called from any thread."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._changed = threading.Condition()
        self._edits: dict[int, dict[int, wire.SceneEdited]] = {}
        self._interventions: dict[int, wire.SceneInterventions] = {}
        self._checkpoints: dict[int, tuple[wire.CheckpointInfo, ...]] = {}
        self._findings: dict[int, tuple[wire.Finding, ...]] = {}

    @abc.abstractmethod
    def description(self, scene_id: int, timeout: float = 5.0) -> SceneDescription:
        """Return the description of a scene."""

    @abc.abstractmethod
    def _done(self, kind: type[wire.Command], /, **fields: Any) -> wire.Done:
        """Send a command, wait until it is done, and return the answer."""

    def _command(self, kind: type[wire.Command], /, **fields: Any) -> int | None:
        """Send a command, wait until it is done, and return the id of what it has made."""
        return self._done(kind, **fields).value

    def edit_state(
        self, scene_id: int, field: EditField | str, index: int | str, values: Iterable[float]
    ) -> None:
        """Write ``values`` into a state array, all or nothing.

        ``index``: where they begin, or the name of the joint, dof or actuator they are of.
        ``qpos``, ``qvel`` and ``act`` only while the scene stands still.
        """
        field, numbers = EditField(field), _floats(values)
        if isinstance(index, str):
            described = self.description(scene_id)
            index = state_index(described, field.value, index, count=len(numbers))
        self._command(wire.EditState, scene_id=scene_id, field=field, index=index, values=numbers)

    def perturb(
        self, scene_id: int, body: int, *, pos: Vec3, point: Vec3 = (0.0, 0.0, 0.0)
    ) -> None:
        """Pull ``point`` [m] in a body's frame towards ``pos`` [m] in the world, until released."""
        self._command(
            wire.Perturb,
            scene_id=scene_id,
            body=body,
            kind=PerturbKind.FORCE,
            point=_floats(point),
            pos=_floats(pos),
        )

    def twist(self, scene_id: int, body: int, *, quat: Vec4) -> None:
        """Turn a body's inertial frame towards ``quat``, wxyz in the world, until released."""
        self._command(
            wire.Perturb,
            scene_id=scene_id,
            body=body,
            kind=PerturbKind.TORQUE,
            quat=_floats(quat),
        )

    def release_perturb(self, scene_id: int) -> None:
        """Let go of the perturbed body."""
        self._command(wire.ReleasePerturb, scene_id=scene_id)

    def override_control(self, scene_id: int, index: int | str, value: float | None) -> None:
        """Use ``value`` for one control whatever the script writes; None gives it back.

        ``index``: its number in ``ctrl``, or its name.
        """
        number = None if value is None else float(value)
        if isinstance(index, str):
            index = control_index(self.description(scene_id), index)
        self._command(wire.OverrideControl, scene_id=scene_id, index=index, value=number)

    def set_control_noise(self, scene_id: int, std: float, rate: float = 0.0) -> None:
        """Add noise to all controls: ``std`` of their range, correlated over ``rate`` [s]."""
        self._command(wire.SetControlNoise, scene_id=scene_id, std=float(std), rate=float(rate))

    def edit_option(self, scene_id: int, option: str, *values: float | str) -> None:
        """Set a physics option of the description, which also says its unit and how many values.

        ``edit_option(id, "timestep", 0.001)``, ``("integrator", "implicitfast")``,
        ``("disable.contact", "on")``: choices by name or index, flags as on and off or 1 and 0.
        """
        if any(isinstance(value, str) for value in values):
            options = {each.name: each for each in self.description(scene_id).options}
            if option not in options:
                raise CommandError(
                    f"there is no option {option!r}{suggestion(option, options)}; it is in the "
                    "description's options"
                )
            values = option_values(options[option], values)
        self._command(wire.EditOption, scene_id=scene_id, option=option, values=_floats(values))

    def load_keyframe(self, scene_id: int, index: int | str) -> None:
        """Reset a scene to one of its model's keyframes, given by index or name."""
        if isinstance(index, str):
            names = [each.name for each in self.description(scene_id).keyframes]
            index, _ = named_place(names, index, what="the list of keyframes")
        self._command(wire.LoadKeyframe, scene_id=scene_id, index=index)

    def save_checkpoint(self, scene_id: int, name: str) -> int:
        """Keep the state of a scene under a name; return the checkpoint's number."""
        self._command(wire.SaveCheckpoint, scene_id=scene_id, name=name)
        return self.checkpoints(scene_id)[-1].checkpoint_id

    def find_checkpoint(self, scene_id: int, chosen: int | str) -> int:
        """Return the id of the newest checkpoint of a scene that is called so, or has that id.

        Raises CommandError, which names those that there are, for a name that there is not.
        """
        if not isinstance(chosen, str):
            return chosen
        kept = self.checkpoints(scene_id)
        found = [info for info in kept if info.name == chosen] or [
            info for info in kept if str(info.checkpoint_id) == chosen
        ]
        if not found:
            newest = ", ".join(f"{info.name!r} ({info.checkpoint_id})" for info in kept[-10:])
            known = f"the newest are {newest}" if newest else "there are none"
            raise CommandError(f"there is no checkpoint {chosen!r}; {known}")
        return found[-1].checkpoint_id

    def restore_checkpoint(self, scene_id: int, checkpoint_id: int | str) -> None:
        """Put a scene back to a checkpoint, given by id or name; of several the newest."""
        number = self.find_checkpoint(scene_id, checkpoint_id)
        self._command(wire.RestoreCheckpoint, scene_id=scene_id, checkpoint_id=number)

    def drop_checkpoint(self, scene_id: int, checkpoint_id: int | str) -> None:
        """Forget a checkpoint, given by id or name."""
        number = self.find_checkpoint(scene_id, checkpoint_id)
        self._command(wire.DropCheckpoint, scene_id=scene_id, checkpoint_id=number)

    def revert_edit(self, scene_id: int, edit_id: int) -> None:
        """Undo an edit of :meth:`edits`."""
        self._command(wire.RevertEdit, scene_id=scene_id, edit_id=edit_id)

    def lint(self, scene_id: int) -> tuple[wire.Finding, ...]:
        """Look for common mistakes in the model and the state as it stands; return what there is.

        What the application has found by itself is in :meth:`findings`.
        """
        self._command(wire.Lint, scene_id=scene_id)
        return self.findings(scene_id)

    def edits(self, scene_id: int) -> list[wire.SceneEdited]:
        """Return the edits of a scene, oldest first, each as last told."""
        with self._changed:
            return list(self._edits.get(scene_id, {}).values())

    def interventions(self, scene_id: int) -> wire.SceneInterventions:
        """Return what clients do to a scene beside its script, as last told."""
        with self._changed:
            return self._interventions.get(scene_id, wire.SceneInterventions(scene_id=scene_id))

    def checkpoints(self, scene_id: int) -> tuple[wire.CheckpointInfo, ...]:
        """Return the checkpoints of a scene, oldest first, as last told."""
        with self._changed:
            return self._checkpoints.get(scene_id, ())

    def findings(self, scene_id: int) -> tuple[wire.Finding, ...]:
        """Return what was found in a scene, worst first, as last told; empty before that."""
        with self._changed:
            return self._findings.get(scene_id, ())

    # --- the network thread, with the lock held

    def _take_edit_news(self, message: Any) -> None:
        match message:
            case wire.SceneEdited(scene_id=scene_id):
                edits = self._edits.setdefault(scene_id, {})
                edits[message.edit_id] = message
                while len(edits) > self._limits.edits:
                    del edits[next(iter(edits))]
            case wire.SceneInterventions(scene_id=scene_id):
                self._interventions[scene_id] = message
            case wire.SceneCheckpoints(scene_id=scene_id):
                self._checkpoints[scene_id] = message.checkpoints
            case wire.SceneFindings(scene_id=scene_id):
                self._findings[scene_id] = message.findings

    def _forget_edits(self, scene_id: int) -> None:
        known: tuple[dict[int, Any], ...] = (
            self._edits,
            self._interventions,
            self._checkpoints,
            self._findings,
        )
        for table in known:
            table.pop(scene_id, None)


def _floats(values: Iterable[float | str]) -> tuple[float, ...]:
    return tuple(map(float, values))
