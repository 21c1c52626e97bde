"""Checkpoints in files: a scene built to stand at one, and one put into a scene that runs.

A checkpoint file is a trajectory of one frame; any frame of any trajectory will do.
"""

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine.arguments import flag, whole_number
from stroboscope.engine.checkpoint import Checkpoint, CheckpointRecord, Exactness
from stroboscope.engine.errors import ModelError, StateCorruptError, StateMismatchError
from stroboscope.engine.files.errors import FileDamagedError, FileError, FileFormatError
from stroboscope.engine.files.manifest import FIELDS_NAME, SCRIPT_NAME
from stroboscope.engine.model_fields import FieldTable
from stroboscope.engine.scene_loading import show_scene
from stroboscope.engine.script_state import too_much_for_a_file, unpacked
from stroboscope.engine.trajectory.environment_frames import environments_in
from stroboscope.engine.trajectory.environment_states import batch_of_file, restore_environments
from stroboscope.engine.trajectory.model_at_frame import written_at
from stroboscope.engine.trajectory.standing import compute_derived
from stroboscope.engine.trajectory.trajectory import Trajectory, load_trajectory

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.scene import Scene

__all__ = ["load_checkpoint", "restore_checkpoint_file"]

_log = logging.getLogger(__name__)


def load_checkpoint(
    path: str | os.PathLike[str], *, frame: int = -1, show: bool = False
) -> "Scene | BatchScene":
    """Build the scene in a checkpoint file and return it standing there, step and time included.

    A file of several environments makes the scene of many that they are of; of one, that alone.
    ``frame``: which one of a recorded run, the last unless said; negative numbers count from the
    end. Of environments it is one instant, and each has what it had of its own of the model then.
    What it does from there on is what the captured scene did, bit for bit, where the file says no
    other: then a warning says why. What its script had registered waits in it:
    ``scene.register_state`` hands each value to its setter at once. ``show``: open it in the
    debugger's window. The file may come from anybody: nothing in it is executed. Raises FileError
    and its kinds; FileFormatError for a file that was saved without its scene, which
    :meth:`Scene.load_checkpoint` takes; NoSuchFrameError, which says which environments lack the
    frame; StateError where it is to be shown and there is no window.
    """
    frame = whole_number(frame, "frame", least=-sys.maxsize, most=sys.maxsize)
    is_shown = flag(show, "show")
    with load_trajectory(path) as trajectory:
        if not trajectory.carries_model:
            raise FileFormatError(
                trajectory.path,
                "it holds a state without its scene",
                "make the scene, and call scene.load_checkpoint(path)",
            )
        script = _script_of(trajectory)
        values = unpacked(script)
        environments = environments_in(trajectory)
        scene: Scene | BatchScene
        if len(environments) > 1:
            scene = batch_of_file(trajectory, environments)
            try:
                exactness = restore_environments(
                    scene, environments, frame=frame, script=b"", with_model=True
                )
            except BaseException:
                scene.destroy()
                raise
        else:
            trajectory.seek(frame)
            scene, exactness = trajectory.scene, _exactness(trajectory, frame)
    if not exactness.is_exact:
        text = f"{Path(path).name} goes on only approximately: {exactness.reason}"
        _log.warning("scene %r: %s", scene.name, text)
        scene.link.log_text(LogLevel.WARNING, text)
    scene.states.script.pending.update(values)
    if values:
        names = ", ".join(map(repr, sorted(values)))
        text = f"{Path(path).name} holds script state ({names}): scene.register_state takes it"
        scene.link.log_text(LogLevel.INFO, text)
    if is_shown:
        show_scene(scene)
    return scene


def restore_checkpoint_file(
    scene: "Scene",
    path: str | os.PathLike[str],
    *,
    frame: int = -1,
    envs_idx: object = None,
    with_model: bool = False,
) -> Exactness:
    """Put the state in a checkpoint file into ``scene``, all of it or nothing.

    ``frame``: which one of a recorded run. ``envs_idx``: of a scene of many, the environments that
    are meant. ``with_model``: with what was written into the model by then.
    """
    frame, with_model = (
        whole_number(frame, "frame", least=-sys.maxsize, most=sys.maxsize),
        flag(with_model, "with_model"),
    )
    with load_trajectory(path) as trajectory:
        _check_model(scene, trajectory)
        environments = environments_in(trajectory)
        if not hasattr(scene, "n_envs"):
            _refuse_several(scene, environments)
        elif environments:
            script = _script_of(trajectory)
            many = cast("BatchScene", scene)
            return restore_environments(
                many,
                environments,
                frame=frame,
                script=script,
                envs_idx=envs_idx,
                with_model=with_model,
            )
        is_many = hasattr(scene, "n_envs")
        written = () if is_many else written_at(scene, trajectory, frame)
        row, hidden, counters, timestep = trajectory.stored_state(frame)
        name = Path(path).stem
        checkpoint = Checkpoint(
            scene.world.codec.head,
            row,
            counters=counters,
            timestep=timestep,
            edits=scene.world.edits,
            hidden=hidden,
            script=_script_of(trajectory),
            record=CheckpointRecord(name, trajectory.name, "", not is_many, written),
            exactness=_exactness(trajectory, frame),
        )
        if is_many:
            exactness = cast("BatchScene", scene).restore(
                checkpoint, envs_idx=envs_idx, with_model=with_model
            )
        else:
            exactness = scene.restore(checkpoint, with_model=with_model)
    compute_derived(scene)
    return exactness


def _exactness(trajectory: Trajectory, frame: int) -> Exactness:
    """Return whether a scene goes on exactly from a frame, or why only approximately."""
    return Exactness(trajectory.exactness or trajectory.model_at(frame)[1])


def _refuse_several(scene: "Scene", environments: list[Trajectory]) -> None:
    """Raise StateMismatchError where one world is to stand at the states of many."""
    if len(environments) > 1:
        first = environments[0]
        raise StateMismatchError(
            f"{first.path} holds {len(environments)} environments, {scene.name!r} is one world: "
            f"choose one of them, as in physics.load_trajectory(path, scene={first.name!r}), and "
            "restore what its scene stands at: trajectory.seek(-1), scene.restore("
            "trajectory.scene.checkpoint())"
        )


def _script_of(trajectory: Trajectory) -> bytes:
    """Return what the script has registered, packed; raises FileDamagedError for anything else."""
    packed = trajectory.attachment(SCRIPT_NAME)
    try:
        if too_much := too_much_for_a_file(packed):
            raise StateCorruptError(too_much)
        unpacked(packed)
    except StateCorruptError as error:
        raise FileDamagedError(
            trajectory.path,
            f"holds script state that can't be read: {error}",
            "take it from its source again",
        ) from error
    return packed


def _check_model(scene: "Scene", trajectory: Trajectory) -> None:
    """Raise StateMismatchError, which says what differs, for the state of another model."""
    codec = scene.world.codec
    if trajectory.model_digest == codec.digest.hex():
        return
    how, manifest = "", trajectory.manifest
    if trajectory.carries_model:
        advice = "load it with physics.load_checkpoint(path), which builds the scene that it is of"
        try:
            how = codec.fields.differences(trajectory.model_fields())
        except (FileError, ModelError) as error:
            how = str(error)
    else:
        advice = "make the scene that it is of first: the file was saved without it"
        table = FieldTable.unpacked(trajectory.attachment(FIELDS_NAME), scene.world.model)
        how = codec.fields.differences(table) if table is not None else ""
    adapter = scene.world.adapter
    if not how and manifest.engine_version != adapter.version:
        how = f"it was saved with MuJoCo {manifest.engine_version}, this is {adapter.version}"
    raise StateMismatchError(
        f"{trajectory.path} holds a state of another model than {scene.name!r}"
        f"{f': {how}' if how else ''}; {advice}"
    )
