"""States of many environments in a file: each back into its own."""

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine.batch.batch_checkpoint import BatchCheckpoint
from stroboscope.engine.checkpoint import Checkpoint, CheckpointRecord, Counters, Exactness
from stroboscope.engine.env_indices import env_indices
from stroboscope.engine.files.errors import FileFormatError
from stroboscope.engine.model_option_fields import FIELD_OPTION, SAID_OF_ROWS
from stroboscope.engine.scene_loading import load_scene
from stroboscope.engine.trajectory.environment_frames import at_instant, each_at
from stroboscope.engine.trajectory.recorded_rows import Row

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.trajectory.trajectory import Trajectory

__all__ = ["batch_of_file", "restore_environments"]

# A file may say any number of environments: their states alone take this many bytes at most.
_MOST_STATE_BYTES: Final = 1 << 30


def restore_environments(
    scene: "BatchScene",
    given: "list[Trajectory]",
    *,
    frame: int,
    script: bytes,
    envs_idx: object = None,
    with_model: bool = False,
) -> Exactness:
    """Put a frame of each into the environment of its number; the others stay.

    ``frame``: of all of them, see :func:`at_instant`. ``envs_idx``: into these, as in
    :meth:`BatchScene.restore`; others are not read then. ``with_model``: with what each had of its
    own of the model's fields. Raises what :meth:`BatchScene.restore` does, and what reading the
    frames raises.
    """
    given = _wanted(scene, given, envs_idx)
    frames = at_instant(given, frame)
    states = each_at(given, frames, _state_of)
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
        exactness=Exactness(given[0].exactness or _doubt(given, frames)),
    )
    checkpoint = BatchCheckpoint(
        first,
        envs=np.array([each.record.env for each in given], dtype=np.intp),
        rows=rows,
        step_counts=np.array([each.step_count for each in counters], dtype=np.int64),
        physics_step_counts=np.array(
            [each.physics_step_count for each in counters], dtype=np.int64
        ),
        fields=_fields(scene, given, frames, [timestep for _, _, _, timestep in states]),
    )
    return scene.restore(checkpoint, envs_idx=envs_idx, with_model=with_model)


def _wanted(scene: "BatchScene", given: "list[Trajectory]", envs_idx: object) -> "list[Trajectory]":
    """Return those that go into environments of their own numbers, in the order that these have."""
    if envs_idx is None or len(given) == 1:
        return given
    chosen = env_indices(envs_idx, n_envs=scene.n_envs).tolist()
    by_number = {each.record.env: each for each in given}
    if len(chosen) == len(given) or not chosen or not by_number.keys() >= set(chosen):
        return given
    return [by_number[env] for env in chosen]


def _state_of(each: "Trajectory", frame: int) -> tuple[Row, bytes, Counters, float]:
    """Return the state of a frame, and end what had to be built to simulate it again."""
    try:
        return each.stored_state(frame)
    finally:
        each.release()


def _fields(
    scene: "BatchScene", given: "list[Trajectory]", frames: list[int], timesteps: list[float]
) -> dict[str, NDArray[np.generic]]:
    """Return what each environment had of its own of the model's fields, (n, …) by name."""
    fields: dict[str, NDArray[np.generic]] = {}
    plain = float(scene.world.model.opt.timestep)
    is_expanded = SAID_OF_ROWS in scene.environments.expanded
    if is_expanded or any(timestep != plain for timestep in timesteps):
        fields[SAID_OF_ROWS] = np.array(timesteps)
    for place, each in enumerate(given):
        for option, values in each.model_at(frames[place])[0].items():
            name = option.removeprefix(FIELD_OPTION)
            base = scene.world.codec.fields.value(name)
            if name == option or base is None or base.size != len(values):
                continue
            if name not in fields:
                fields[name] = np.repeat(np.asarray(base)[np.newaxis], len(given), axis=0)
            fields[name][place] = np.array(values).reshape(base.shape)
    return fields


def _doubt(given: "list[Trajectory]", frames: list[int]) -> str:
    """Say why the model of an environment is not known to be what it was, the first one; or ""."""
    for each, frame in zip(given, frames, strict=True):
        if doubt := each.model_at(frame)[1]:
            return f"environment {each.record.env}: {doubt}"
    return ""


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
