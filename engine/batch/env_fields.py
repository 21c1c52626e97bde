"""Model fields that environments have values of their own of, against those of a checkpoint."""

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.backend import Stayed
from stroboscope.engine.checkpoint import Checkpoint
from stroboscope.engine.errors import StateCorruptError, StateMismatchError
from stroboscope.engine.model_fields import ModelFields, write_field
from stroboscope.engine.physics_options import options_stayed

if TYPE_CHECKING:
    from stroboscope.engine.batch.environments import Environments

__all__ = ["EnvFields", "model_as_made"]

Fields = Mapping[str, NDArray[Any]]
"""Values by name, (n, …): one per environment that is meant."""
Indices = NDArray[np.intp]


def model_as_made(envs: "Environments", base: ModelFields) -> tuple[Any, list[str]]:
    """Return a copy of the model as the batch was made with it, whose fields are ``base``.

    What a script has written into it since has no effect in the batch. And which of it can't be
    put back, as only a checksum is kept.
    """
    model, lost = copy.copy(envs.model), []
    for name in base.changed(model):
        before = base.value(name)
        if before is None:
            lost.append(name)
        else:
            write_field(model, name, before)
    return model, lost


class EnvFields:
    """Compares and puts back; ``base``: the fields of the model as the batch was made with it."""

    def __init__(self, envs: "Environments", base: ModelFields) -> None:
        self._envs = envs
        self._base = base

    def of(self, checkpoint: Checkpoint, count: int, *, with_model: bool) -> Fields:
        """Return what had been written into the model of one world, for ``count`` environments.

        Raises StateMismatchError where that is needed (``with_model``) and not known.
        """
        record = checkpoint.record
        if with_model and not record.compared:
            raise StateMismatchError(
                "the checkpoint has no name, so it did not compare the model: with_model=True "
                "needs one made with scene.checkpoint(name)"
            )
        fields = {}
        for saved in record.changes:
            like = self._base.value(saved.field)
            value = np.empty(0) if like is None else saved.values(like)
            fields[saved.field] = np.repeat(value[np.newaxis], count, axis=0)
        return fields

    def check(self, fields: Fields) -> None:
        """Raise StateMismatchError or StateCorruptError for what no environment can have."""
        for name, values in fields.items():
            try:
                mine = self._envs.own(name)
            except ValueError as error:
                raise StateMismatchError(
                    f"the checkpoint holds {name} with another value, which environments can't "
                    f"have of their own ({error}): restore it without with_model"
                ) from error
            if mine.shape[1:] != values.shape[1:] or mine.dtype.kind != values.dtype.kind:
                raise StateCorruptError(
                    f"the checkpoint holds {name} as {values.dtype} {values.shape[1:]}, the model "
                    f"has {mine.dtype} {mine.shape[1:]}"
                )

    def put(self, fields: Fields, targets: Indices) -> None:
        """Put values back; what a checkpoint says nothing of had the model's own value then."""
        for name in self._names(fields):
            then = self._then(name, fields, len(targets))
            if then is not None:
                self._envs.own(name)[targets] = then
        self._envs.flags.settle()

    def difference(self, fields: Fields, targets: Indices) -> str:
        """Return which fields have other values now; empty when none has."""
        different = list(self._different(fields, targets))
        if not different:
            return ""
        have = "has" if len(different) == 1 else "have"
        first = min(places[0] for _, places, _, _ in different)
        return (
            f"{', '.join(name for name, *_ in different)} {have} other values now than at the "
            f"checkpoint (in environment {int(targets[first])})"
        )

    def stayed(self, fields: Fields, targets: Indices) -> tuple[Stayed, ...]:
        """Return what of environments' models a restore has left as it is, each of the first."""
        found: list[Stayed] = []
        for name, places, then, now in self._different(fields, targets):
            where = f" in environment {int(targets[places[0]])}"
            where += f" (+{len(places) - 1} more)" if len(places) > 1 else ""
            if then is None or now is None:
                found.append(Stayed(f"{name} stays as it was written since then{where}"))
                continue
            options = options_stayed(name, then=then, now=now, adapter=self._envs.adapter)
            if options:
                found += [
                    dataclasses.replace(
                        each,
                        text=f"{each.text}{where}",
                        option=each.option if len(places) == 1 else "",  # an edit is of one
                    )
                    for each in options
                ]
            else:
                text = self._base.value_text(name, now, then, "now", "then")
                found.append(Stayed(f"the model stays as it is: {text}{where}"))
        return tuple(found)

    def _different(
        self, fields: Fields, targets: Indices
    ) -> Iterator[tuple[str, list[int], NDArray[Any] | None, NDArray[Any] | None]]:
        """Yield fields with other values: the places, and the first one's values then and now."""
        count = len(targets)
        for name in self._names(fields) if count else ():
            then = self._then(name, fields, count)
            own = self._envs.expanded.get(name)
            now = self._then(name, {}, count) if own is None else own[targets]
            if then is None or now is None or then.shape != now.shape:
                yield name, [0], None, None
                continue
            unequal = (then != now) & ~((then != then) & (now != now))
            rows = np.flatnonzero(unequal.reshape(count, -1).any(axis=1))
            if len(rows):
                yield name, rows.tolist(), then[rows[0]], now[rows[0]]

    def _names(self, fields: Fields) -> list[str]:
        return sorted({*fields, *self._envs.expanded})

    def _then(self, name: str, fields: Fields, count: int) -> NDArray[Any] | None:
        """Return the values that a checkpoint says, (n, …); None where that is not known."""
        found = fields.get(name)
        if found is not None:
            return found
        base = self._base.value(name)
        return None if base is None else np.broadcast_to(base, (count, *base.shape))
