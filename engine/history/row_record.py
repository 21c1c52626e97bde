"""What is known of a row of the past besides its state, when it becomes a checkpoint."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from stroboscope.engine.checkpoint import CheckpointRecord, SavedField
from stroboscope.engine.model_option_fields import FIELD_OPTION

if TYPE_CHECKING:
    from stroboscope.engine.world import World

__all__ = ["record_of_row"]

_OPTIONS = "opt."


def record_of_row(
    model: Any, options: Iterable[str], *, name: str, scene_name: str, world: "World", doubt: str
) -> CheckpointRecord:
    """Return the record of a row with the ``model`` of then, which compares as a named one does.

    ``options``: the names of those, and of fields, that ever had other values; the others, which
    no step reads, are as they are now. ``doubt``: why some of it may be another one than then.
    """
    fields = world.codec.fields
    told = {each.removeprefix(FIELD_OPTION) for each in options if each.startswith(FIELD_OPTION)}
    told.update(each for each in fields.compared if each.startswith(_OPTIONS))
    then = fields.changes(model, only=[each for each in fields.compared if each in told])
    now = (each for each in world.codec.compared.changes() if each.field not in told)
    changes = tuple(SavedField.of(each.field, each.now, each.text) for each in (*then, *now))
    return CheckpointRecord(name, scene_name, "", True, changes, doubt)
