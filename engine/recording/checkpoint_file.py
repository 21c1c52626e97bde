"""Writing the state of a scene into a file: a trajectory of one frame."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from stroboscope.engine.files.copying import whole_trajectory
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.errors import FileWriteError
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.files.manifest import FIELDS_NAME, SCRIPT_NAME
from stroboscope.engine.model_option_fields import is_recordable
from stroboscope.engine.recording.batch_tap import env_begin, env_final, with_own_fields
from stroboscope.engine.recording.feed import Attachments, FinalRow
from stroboscope.engine.recording.scene_records import manifest_of, records_of
from stroboscope.engine.recording.scene_tap import begin_event, final_row
from stroboscope.engine.recording.trajectory_file import TrajectoryFile
from stroboscope.engine.script_state import too_much_for_a_file

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.scene import Scene

__all__ = ["save_checkpoint_file"]

_TEXT = "checkpoint"
_log = logging.getLogger(__name__)


def save_checkpoint_file(
    scene: "Scene | BatchScene",
    wanted: TrajectoryFile,
    *,
    with_scene: bool,
    disk: Disk | None = None,
) -> Path:
    """Write the state that a scene stands in, or that of each environment chosen; by its owner."""
    attachments = Attachments()
    records = records_of(scene, wanted, first=0, attachments=attachments)
    if not with_scene:
        attachments.clear()
        # Enough to say in what another model differs.
        attachments[FIELDS_NAME] = scene.world.codec.fields.table.packed()
        records = [msgspec.structs.replace(record, model="") for record in records]
    _add_script_state(scene, attachments, wanted.path)
    states: list[tuple[FileEvent, FinalRow]] = []
    for record in records:
        if record.env < 0:
            one = cast("Scene", scene)
            begin = begin_event(one, record.index, _TEXT)
            if not with_scene:
                begin = _with_written(begin, one)
            states.append((begin, final_row(one, one.world)))
        else:
            many = cast("BatchScene", scene)
            begin = env_begin(many, record.env, index=record.index, kind="begin", text=_TEXT)
            begin = with_own_fields(begin, many, record.env)
            states.append((begin, env_final(many, record.env)))
    manifest = manifest_of(records, adapter=scene.world.adapter)
    with whole_trajectory(wanted.path, manifest, attachments=attachments, disk=disk) as writer:
        writer.write_events([event for event, _ in states])
        for record, (_, final) in zip(records, states, strict=True):
            block = final.block(record.index)
            if block is not None:
                writer.write_block(block)
    return wanted.path


def _with_written(begin: FileEvent, scene: "Scene") -> FileEvent:
    """Return how a file without its model begins with what was written into that model."""
    written = {
        each.field: each.now.reshape(-1).tolist()
        for each in scene.world.codec.compared.changes()
        if is_recordable(each.field, each.now)
    }
    if not written:
        return begin
    told = begin.data.get("fields")
    fields = {**told, **written} if isinstance(told, dict) else written
    return msgspec.structs.replace(begin, data={**begin.data, "fields": fields})


def _add_script_state(scene: "Scene | BatchScene", attachments: Attachments, path: Path) -> None:
    """Add what the script has registered; raises FileWriteError for more than a file may hold."""
    script = scene.states.script
    if not script.registered:
        return
    names = ", ".join(map(repr, script.registered))
    if hasattr(scene, "n_envs"):
        _log.warning(
            "scene %r: the script state %s is of all environments together and not in %s, whose "
            "states each stand alone: keep it with scene.checkpoint()",
            scene.name, names, path,
        )  # fmt: skip
        return
    packed = script.capture()
    if too_much := too_much_for_a_file(packed):
        raise FileWriteError(
            path,
            f"can't hold the script state {names}: {too_much}",
            "keep what is large in an array, or in a file of the script's own",
        )
    attachments[SCRIPT_NAME] = packed
