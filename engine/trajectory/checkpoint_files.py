"""Checkpoints in files: a scene built to stand at one, and one put into a scene that runs.

A checkpoint file is a trajectory of one frame; the last frame of any trajectory will do.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from stroboscope.engine.checkpoint import Checkpoint, CheckpointRecord, Exactness
from stroboscope.engine.errors import ModelError, StateMismatchError
from stroboscope.engine.files.errors import FileError, FileFormatError
from stroboscope.engine.trajectory.standing import compute_derived
from stroboscope.engine.trajectory.trajectory import Trajectory, load_trajectory

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["load_checkpoint", "restore_checkpoint_file"]


def load_checkpoint(path: str | os.PathLike[str], *, show: bool = False) -> "Scene":
    """Build the scene in a checkpoint file and return it standing there, step and time included.

    What it does from there on is what the captured scene did, bit for bit, where the file says no
    other. ``show``: open it in the debugger's window. The file may come from anybody: nothing in
    it is executed. Raises FileError and its kinds; FileFormatError for a file that was saved
    without its scene, which :meth:`Scene.load_checkpoint` takes.
    """
    with load_trajectory(path) as trajectory:
        if not trajectory.carries_model:
            raise FileFormatError(
                trajectory.path,
                "it holds a state without its scene",
                "make the scene, and call scene.load_checkpoint(path)",
            )
        trajectory.seek(-1)
        scene = trajectory.scene
    if show:
        from stroboscope.engine import debugger

        debugger.attach()
    return scene


def restore_checkpoint_file(scene: "Scene", path: str | os.PathLike[str]) -> Exactness:
    """Put the state in a checkpoint file into ``scene``, all of it or nothing."""
    with load_trajectory(path) as trajectory:
        _check_model(scene, trajectory)
        row, hidden, counters, timestep = trajectory.stored_state(-1)
        checkpoint = Checkpoint(
            scene.world.codec.head,
            row,
            counters=counters,
            timestep=timestep,
            edits=scene.world.edits,
            hidden=hidden,
            script=b"",
            record=CheckpointRecord(Path(path).stem, trajectory.name),
            exactness=Exactness(trajectory.exactness),
        )
        exactness = scene.restore(checkpoint)
    compute_derived(scene)
    return exactness


def _check_model(scene: "Scene", trajectory: Trajectory) -> None:
    """Raise StateMismatchError, which says what differs, for the state of another model."""
    codec = scene.world.codec
    if trajectory.model_digest == codec.digest.hex():
        return
    how = ""
    if trajectory.carries_model:
        try:
            how = codec.fields.differences(trajectory.model_fields())
        except (FileError, ModelError) as error:
            how = str(error)
    raise StateMismatchError(
        f"{trajectory.path} holds a state of another model than {scene.name!r}"
        f"{f': {how}' if how else ''}; load it with physics.load_checkpoint(path), which builds "
        "the scene that it is of"
    )
