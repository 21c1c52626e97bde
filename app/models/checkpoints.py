"""The checkpoints of an application: where each may be restored, and how a new one is called."""

import dataclasses

from stroboscope.app.models.numbers import THIN_SPACE
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.session import SessionModel
from stroboscope.debugger_protocol.messages import CheckpointInfo, RestoreCheckpoint, SaveCheckpoint
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.time_messages import GhostRef, GhostSource

__all__ = [
    "KeptCheckpoint",
    "capture",
    "kept_checkpoints",
    "next_name",
    "restore",
    "same_model",
    "scenes_to_restore",
    "size_text",
]


@dataclasses.dataclass(frozen=True, slots=True)
class KeptCheckpoint:
    """A checkpoint and the scene that keeps it."""

    scene: SceneModel
    info: CheckpointInfo

    @property
    def ref(self) -> GhostRef:
        """How it is referred to."""
        return GhostRef(
            source=GhostSource.CHECKPOINT,
            number=self.info.checkpoint_id,
            scene_id=self.scene.scene_id,
        )


def size_text(nbytes: int) -> str:
    """Return a number of bytes with a unit."""
    if nbytes < 1024:
        return f"{nbytes}{THIN_SPACE}B"
    if nbytes < 1 << 20:
        return f"{nbytes / 1024:.1f}{THIN_SPACE}KiB"
    if nbytes < 1 << 30:
        return f"{nbytes / (1 << 20):.1f}{THIN_SPACE}MiB"
    return f"{nbytes / (1 << 30):.1f}{THIN_SPACE}GiB"


def kept_checkpoints(session: SessionModel | None) -> tuple[KeptCheckpoint, ...]:
    """Return every checkpoint of an application, scene by scene, oldest first."""
    scenes = () if session is None else tuple(session.scenes.values())
    return tuple(
        KeptCheckpoint(scene, info) for scene in scenes for info in scene.edits.checkpoints
    )


def next_name(scene: SceneModel) -> str:
    """Return a name that says when, for a checkpoint of what is looked at."""
    told, status = scene.history.told, scene.status
    if told is not None and told.view is not None:
        time = told.view_time
    else:
        time = status.time if status is not None else 0.0
    name = f"t {time:.3f} s"
    taken = {info.name for info in scene.edits.checkpoints}
    number = 2
    while name in taken:
        name = f"t {time:.3f} s ({number})"
        number += 1
    return name


def capture(scene: SceneModel, name: str = "", *, note: str = "") -> str:
    """Keep the state that is looked at; return the name that it gets, empty: nothing is sent."""
    if scene.is_stale:
        return ""
    chosen = " ".join(name.split()) or next_name(scene)
    scene.session.send(
        lambda i: SaveCheckpoint(id=i, scene_id=scene.scene_id, name=chosen, note=note)
    )
    return chosen


def restore(kept: KeptCheckpoint, into: SceneModel) -> None:
    """Put a scene into a checkpoint, its own or that of another scene of the same model."""
    if into.is_stale:
        return
    source = None if into is kept.scene else kept.scene.scene_id
    into.session.send(
        lambda i: RestoreCheckpoint(
            id=i,
            scene_id=into.scene_id,
            checkpoint_id=kept.info.checkpoint_id,
            source_scene_id=source,
        )
    )


def scenes_to_restore(kept: KeptCheckpoint) -> tuple[SceneModel, ...]:
    """Return the other scenes of the application that look as if they had the same model.

    Whether they have, to the last number, the engine decides when it is asked to.
    """
    mine = kept.scene.description
    if mine is None:
        return ()
    return tuple(
        scene
        for scene in kept.scene.session.scenes.values()
        if scene is not kept.scene
        and not scene.is_stale
        and scene.description is not None
        and same_model(mine, scene.description)
    )


def same_model(a: SceneDescription, b: SceneDescription) -> bool:
    """Return whether two scenes have the same elements under the same names."""
    return all(
        getattr(a, kind) == getattr(b, kind)
        for kind in ("bodies", "joints", "actuators", "geoms", "equalities", "sensors")
    )
