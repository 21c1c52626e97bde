"""Whether the steps of a file lead elsewhere here: another MuJoCo, another processor."""

from typing import TYPE_CHECKING

from stroboscope.engine.recording.scene_records import this_machine

if TYPE_CHECKING:
    from stroboscope.engine.files.frames import Manifest, SceneRecord

__all__ = ["why_different"]


def why_different(manifest: "Manifest", record: "SceneRecord", *, version: str) -> str:
    """Return what may make the same steps lead elsewhere; empty where nothing is known to."""
    reasons = [record.exactness]
    if manifest.engine_version != version:
        reasons.append(f"it was recorded with MuJoCo {manifest.engine_version}, this is {version}")
    here = this_machine()
    if manifest.platform != here:
        reasons.append(f"it was recorded on {manifest.platform}, this is {here}")
    return "; ".join(reason for reason in reasons if reason)
