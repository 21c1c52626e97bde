"""Verifying a recorded run: its file is read on several threads, and told why it may differ."""

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.files.frames import SceneRecord
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.history.segments import Stretch
from stroboscope.engine.trajectory.building import compiled_model
from stroboscope.engine.trajectory.recorded_rows import RecordedRows
from stroboscope.engine.trajectory.recorded_where import why_different
from stroboscope.engine.trajectory.steps_again import refuse_callbacks
from stroboscope.engine.trajectory.verify import Outcome, Verification, verify_rows

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["none_whole", "verify_file"]


def verify_file(
    reader: TrajectoryReader,
    record: SceneRecord,
    stretches: Sequence[Stretch],
    scene: "Scene",
    *,
    jobs: int | None,
    progress: Callable[[float], None],
) -> Verification:
    """Take every recorded step of ``record`` again and compare; ``scene`` was built from it.

    ``jobs``: threads, None: one per core, which call ``progress`` with 0 to 1. Raises StateError
    where that would call callbacks of the script.
    """
    world = scene.world
    refuse_callbacks(world.model, adapter=world.adapter)
    readers: list[TrajectoryReader] = []

    def rows() -> RecordedRows:
        readers.append(TrajectoryReader(reader.path))
        made = RecordedRows(readers[-1], record)
        made.go_into(world.codec.indices)
        return made

    try:
        found = verify_rows(
            rows,
            stretches,
            lambda: copy.copy(world.model),
            digest=world.codec.digest,
            adapter=world.adapter,
            options=scene.history.recorded_options,
            jobs=jobs,
            progress=progress,
        )
    finally:
        for each in readers:
            each.close()
    told = [found.note, *_other_model(reader, record, scene)]
    if found.outcome is Outcome.DIFFERS:
        doubt = scene.history.segments.doubt_of(found.first.axis - 1) if found.first else ""
        why = why_different(reader.manifest, record, version=world.adapter.version)
        told = [doubt, why, *told[1:]]
    return dataclasses.replace(found, note="; ".join(filter(None, told)))


def _other_model(reader: TrajectoryReader, record: SceneRecord, scene: "Scene") -> list[str]:
    """Return what the file says of its model that the one in it has not."""
    told, rows = [], RecordedRows(reader, record)
    digest = scene.world.codec.digest.hex()
    if record.model_digest != digest:
        told.append(
            f"the model in the file is another one ({_short(digest)}) than the file says that the "
            f"scene had ({_short(record.model_digest)})"
        )
    model = float(compiled_model(reader, record).opt.timestep)
    known = {model}
    for frame in (0, rows.count - 1):
        with contextlib.suppress(FileDamagedError):  # that is told
            known.add(rows.timestep(frame))
    # A part, or a file that follows another one, says how long steps were when recording began.
    if record.env < 0 and record.timestep not in known:
        told.append(
            f"the file says that steps take {record.timestep:g} s, those of its model take "
            f"{model:g} s"
        )
    return told


def _short(digest: str) -> str:
    return digest[:12]


def none_whole(rows: RecordedRows) -> Verification:
    """Return what is found of a scene none of whose blocks can be read."""
    lost = "none of its frames can be read: every block is damaged"
    return Verification(Outcome.DAMAGED, rows.count, 0, lost=(lost,))
