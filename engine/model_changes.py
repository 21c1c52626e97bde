"""What was written into a scene's model since the scene got it, and how a checkpoint sees that."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.backend import Stayed
from stroboscope.engine.checkpoint import Checkpoint, CheckpointRecord, SavedField
from stroboscope.engine.errors import StateMismatchError
from stroboscope.engine.model_fields import read_field, write_field
from stroboscope.engine.physics_options import options_stayed

if TYPE_CHECKING:
    from stroboscope.engine.world import World

__all__ = ["ModelChanges"]

_SHOWN = 3


class ModelChanges:
    """Compares the model of a world with what it was at first; owner thread only.

    Looking through a model takes about a millisecond the first time, so only named checkpoints do
    it.
    """

    def __init__(self, world: "World") -> None:
        self._world = world
        self._fields = world.codec.fields

    def saved(self) -> tuple[SavedField, ...]:
        """Return what is different now, for a checkpoint to keep."""
        return tuple(
            SavedField.of(change.field, change.now, change.text)
            for change in self._world.codec.compared.changes()
        )

    def put_back(self, record: CheckpointRecord) -> Callable[[], None]:
        """Write the model's values as they were at a named checkpoint; return how to undo that.

        Raises StateMismatchError when the checkpoint did not compare, when an asset was changed
        (only a checksum of those is kept), or when the model has no such field.
        """
        if not record.compared:
            raise StateMismatchError(
                "the checkpoint has no name, so it did not compare the model: with_model=True "
                "needs one made with scene.checkpoint(name)"
            )
        model, first = self._world.model, self._fields
        wanted = {saved.field: saved for saved in record.changes}
        # Back to the first values, and from there to those of the checkpoint.
        names = {*self._world.codec.compared.changed(), *wanted}
        values = {}
        for name in names:
            before = first.value(name)
            if before is None:
                raise StateMismatchError(
                    f"{name} was written into, and only a checksum of it is kept: it can't be "
                    "put back; restore without with_model"
                )
            values[name] = wanted[name].values(before) if name in wanted else before
        old = {name: np.array(read_field(model, name)) for name in names}

        def write(fields: dict[str, NDArray[Any]]) -> None:
            for name, value in fields.items():
                write_field(model, name, value)
            self._world.refresh_codec()

        write(values)
        return lambda: write(old)

    def difference(self, checkpoint: Checkpoint) -> str:
        """Return how the model differs from what it was at the checkpoint; empty when it doesn't.

        Checkpoints without a name only know how often the debugger had edited options.
        """
        record = checkpoint.record
        if not record.compared:
            return self._edits(checkpoint)
        model, first = self._world.model, self._fields
        texts = [
            f"{name} was written into since"
            if then is None
            else first.value_text(name, then, read_field(model, name), "at the checkpoint", "now")
            for name, then in self._different(record)
        ]
        more = f" (+{len(texts) - _SHOWN} more)" if len(texts) > _SHOWN else ""
        said = f"the model differs: {'; '.join(texts[:_SHOWN])}{more}" if texts else ""
        return "; ".join(filter(None, (said, record.doubt)))

    def stayed(self, record: CheckpointRecord) -> tuple[Stayed, ...]:
        """Return what of the model a restore of a named checkpoint has left as it is."""
        world = self._world
        model, first = world.model, self._fields
        found: list[Stayed] = []
        for name, then in self._different(record):
            if then is None:
                found.append(Stayed(f"{name} stays as it was written since then"))
                continue
            now = read_field(model, name)
            options = options_stayed(name, then=then, now=now, adapter=world.adapter)
            if options:
                found += options
            else:
                text = first.value_text(name, now, then, "now", "then")
                found.append(Stayed(f"the model stays as it is: {text}"))
        return tuple(found)

    def _different(self, record: CheckpointRecord) -> Iterator[tuple[str, NDArray[Any] | None]]:
        """Yield fields that have other values than at a checkpoint, and those; None: not known."""
        first = self._fields
        wanted = {saved.field: saved for saved in record.changes}
        for name in dict.fromkeys(self._world.codec.compared.changed()) | wanted:
            before = first.value(name)
            if before is None:
                if name not in wanted:
                    yield name, None
                continue
            then = wanted[name].values(before) if name in wanted else before
            if then.tobytes() != read_field(self._world.model, name).tobytes():
                yield name, then

    def _edits(self, checkpoint: Checkpoint) -> str:
        edits = self._world.edits
        if checkpoint.edits == edits:
            return ""
        return (
            f"the debugger had edited physics options {checkpoint.edits} times when it was "
            f"captured, {edits} times now"
        )
