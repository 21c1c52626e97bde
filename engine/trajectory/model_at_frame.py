"""What a file says was written into its model by a frame, as a named checkpoint knows it."""

import copy
from typing import TYPE_CHECKING, Any

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.engine.changed_fields import write_changes
from stroboscope.engine.checkpoint import SavedField
from stroboscope.engine.files.bundle import Archive
from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.files.scene_manifest import SCENE_LIMITS, ChangedField, read_manifest
from stroboscope.engine.files.suffixes import SCENE
from stroboscope.engine.model_digest import digest_of_mjb
from stroboscope.engine.model_fields import write_field
from stroboscope.engine.physics_options import write_option

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene
    from stroboscope.engine.trajectory.trajectory import Trajectory

__all__ = ["written_at"]


def written_at(scene: "Scene", trajectory: "Trajectory", frame: int) -> tuple[SavedField, ...]:
    """Return what the model of a frame has other than ``scene`` was made with.

    Both were made of the same model. Nothing is compiled, where the file can say it without.
    Raises FileError and its kinds.
    """
    world = scene.world
    model: Any = None
    written: tuple[ChangedField, ...] = ()
    if trajectory.carries_model:
        name, content = trajectory.model_file()
        if name.endswith(SCENE):
            written = _written(trajectory, content)
        elif digest_of_mjb(bytearray(content), adapter=world.adapter) != world.codec.digest:
            model = trajectory.compiled_model()
    options = trajectory.model_at(frame)[0]
    if model is None and not written and not options:
        return ()
    if model is None:
        model = _as_made(scene)
    try:
        write_changes(model, written)
        for option, values in options.items():
            write_option(model, option, values, known=values, adapter=world.adapter)
    except (ValueError, CommandError) as error:
        raise FileDamagedError(
            trajectory.path,
            f"says what was written into its model, which that does not have: {error}",
            "take it from its source again",
        ) from error
    return tuple(
        SavedField.of(each.field, each.now, each.text) for each in world.codec.fields.changes(model)
    )


def _written(trajectory: "Trajectory", content: bytes) -> tuple[ChangedField, ...]:
    """Return what a scene in a file says was written into its model."""
    with Archive(content, path=trajectory.path, limits=SCENE_LIMITS, what="a scene") as archive:
        return read_manifest(archive).changes


def _as_made(scene: "Scene") -> Any:
    """Return a copy of the model with the values that the scene was made with; assets aside."""
    fields, model = scene.world.codec.fields, copy.copy(scene.world.model)
    for name in scene.world.codec.compared.changed():
        before = fields.value(name)
        if before is not None:
            write_field(model, name, before)
    return model
