"""Verifying a recorded run: its file is read on several threads, and told why it may differ."""

import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stroboscope.engine.files.frames import SceneRecord
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.history.segments import Stretch
from stroboscope.engine.recording.scene_records import this_machine
from stroboscope.engine.trajectory.recorded_rows import RecordedRows
from stroboscope.engine.trajectory.verify import Outcome, Verification, verify_rows

if TYPE_CHECKING:
    from stroboscope.engine.files.frames import Manifest
    from stroboscope.engine.scene import Scene

__all__ = ["verify_file"]


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

    ``jobs``: threads, None: one per core, which call ``progress`` with 0 to 1.
    """
    world = scene.world
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
    if found.outcome is Outcome.DIFFERS:
        doubt = scene.history.segments.doubt_of(found.first.axis - 1) if found.first else ""
        why = _why_different(reader.manifest, record, version=world.adapter.version)
        note = "; ".join(filter(None, (doubt, why)))
        return dataclasses.replace(found, note=note)
    return found


def _why_different(manifest: "Manifest", record: SceneRecord, *, version: str) -> str:
    """Return what may make the same steps lead elsewhere; empty where nothing is known to."""
    reasons = [record.exactness]
    if manifest.engine_version != version:
        reasons.append(f"it was recorded with MuJoCo {manifest.engine_version}, this is {version}")
    here = this_machine()
    if manifest.platform != here:
        reasons.append(f"it was recorded on {manifest.platform}, this is {here}")
    return "; ".join(reason for reason in reasons if reason)
