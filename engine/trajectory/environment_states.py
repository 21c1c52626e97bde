"""States of many environments in a file: each back into its own."""

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine.batch.batch_checkpoint import BatchCheckpoint
from stroboscope.engine.checkpoint import Checkpoint, CheckpointRecord, Exactness
from stroboscope.engine.files.errors import FileFormatError
from stroboscope.engine.model_option_fields import FIELD_OPTION, SAID_OF_ROWS
from stroboscope.engine.scene_loading import load_scene

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.trajectory.trajectory import Trajectory

__all__ = ["batch_of_file", "environments_in", "restore_environments"]

# A file may say any number of environments: their states alone take this many bytes at most.
_MOST_STATE_BYTES: Final = 1 << 30


def environments_in(trajectory: "Trajectory") -> "list[Trajectory]":
    """Return all environments of the scene in its file, by number; empty for one world."""
    if trajectory.record.env < 0:
        return []
    mine = frozenset(trajectory.group.scenes)
    found = [each for each in trajectory.others().values() if each.record.index in mine]
    return sorted(found, key=lambda each: each.record.env)


def restore_environments(
    scene: "BatchScene",
    given: "list[Trajectory]",
    *,
    script: bytes,
    envs_idx: object = None,
    with_model: bool = False,
) -> Exactness:
    """Put the last frame of each into the environment of its number; the others stay.

    ``envs_idx``: into these, as in :meth:`BatchScene.restore`. ``with_model``: with what each had
    of its own of the model's fields. Raises what :meth:`BatchScene.restore` does, and what reading
    the frames raises.
    """
    states = [each.stored_state(-1) for each in given]
    rows = np.array([row for row, _, _, _ in states])
    counters = [each for _, _, each, _ in states]
    first = Checkpoint(
        scene.world.codec.head,
        rows[0],
        counters=counters[0],
        timestep=states[0][3],
        edits=scene.world.edits,
        hidden=states[0][1],
        script=script,
        record=CheckpointRecord(given[0].path.stem, given[0].name),
        exactness=Exactness(given[0].exactness),
    )
    checkpoint = BatchCheckpoint(
        first,
        envs=np.array([each.record.env for each in given], dtype=np.intp),
        rows=rows,
        step_counts=np.array([each.step_count for each in counters], dtype=np.int64),
        physics_step_counts=np.array(
            [each.physics_step_count for each in counters], dtype=np.int64
        ),
        fields=_fields(scene, given, [timestep for _, _, _, timestep in states]),
    )
    return scene.restore(checkpoint, envs_idx=envs_idx, with_model=with_model)


def _fields(
    scene: "BatchScene", given: "list[Trajectory]", timesteps: list[float]
) -> dict[str, NDArray[np.generic]]:
    """Return what each environment had of its own of the model's fields, (n, …) by name."""
    fields: dict[str, NDArray[np.generic]] = {}
    if len(set(timesteps)) > 1:
        fields[SAID_OF_ROWS] = np.array(timesteps)
    for place, each in enumerate(given):
        for option, values in each.options_at_end.items():
            name = option.removeprefix(FIELD_OPTION)
            base = scene.world.codec.fields.value(name)
            if name == option or base is None or base.size != len(values):
                continue
            if name not in fields:
                fields[name] = np.repeat(np.asarray(base)[np.newaxis], len(given), axis=0)
            fields[name][place] = np.array(values).reshape(base.shape)
    return fields


def batch_of_file(trajectory: "Trajectory", given: "list[Trajectory]") -> "BatchScene":
    """Return the scene of many environments that a file is of, each where the file leaves it."""
    from stroboscope.engine.batch.batch_scene import BatchScene

    record = trajectory.record
    if 8 * record.width * record.n_envs > _MOST_STATE_BYTES:
        raise FileFormatError(
            trajectory.path,
            f"it says {record.n_envs:,} environments, out of all proportion",
            "open one of them: physics.load_trajectory(path, scene=…)",
        )
    name, content = trajectory.model_file()
    scene = load_scene(
        f"{trajectory.path}:{name}",
        name=record.name.strip() or None,
        n_envs=record.n_envs,
        content=content,
    )
    assert isinstance(scene, BatchScene)  # noqa: S101 - it was asked for many
    if len(given) < record.n_envs:
        scene.link.log_text(
            LogLevel.INFO,
            f"{trajectory.path.name} holds {len(given)} of {record.n_envs} environments: the "
            "others stand at their initial state",
        )
    return scene
