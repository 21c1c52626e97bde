"""Writing the state of a scene into a file: a trajectory of one frame."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from stroboscope.engine.arguments import checked_path
from stroboscope.engine.files.copying import whole_trajectory
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.frames import FileEvent, SceneRecord
from stroboscope.engine.recording.feed import Attachments, FinalRow
from stroboscope.engine.recording.scene_records import manifest_of, record_of
from stroboscope.engine.recording.scene_tap import begin_event, final_row
from stroboscope.engine.recording.trajectory_file import TrajectoryFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stroboscope.engine.mujoco_adapter import MujocoAdapter
    from stroboscope.engine.scene import Scene

__all__ = ["State", "save_scene_checkpoint", "write_states"]

State = tuple[SceneRecord, FileEvent, FinalRow]


def save_scene_checkpoint(
    scene: "Scene",
    path: str | os.PathLike[str],
    *,
    with_scene: bool,
    disk: Disk | None = None,
) -> Path:
    """Write the state that a scene stands in; by its owner."""
    wanted = TrajectoryFile(checked_path(path, "path"))
    attachments: Attachments = {}
    record = record_of(scene, wanted, index=0, attachments=attachments, with_model=with_scene)
    state = (record, begin_event(scene, 0, "checkpoint"), final_row(scene, scene.world))
    adapter = scene.world.adapter
    return write_states(wanted.path, [state], attachments, adapter=adapter, disk=disk)


def write_states(
    path: Path,
    states: "Sequence[State]",
    attachments: Attachments,
    *,
    adapter: "MujocoAdapter",
    disk: Disk | None,
) -> Path:
    """Write one state per record into a file that is there as a whole or not at all."""
    manifest = manifest_of([record for record, _, _ in states], adapter=adapter)
    with whole_trajectory(path, manifest, attachments=attachments, disk=disk) as writer:
        writer.write_events([event for _, event, _ in states])
        for record, _, final in states:
            block = final.block(record.index)
            if block is not None:
                writer.write_block(block)
    return path
