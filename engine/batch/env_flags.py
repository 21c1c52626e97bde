"""What ``mj_setConst`` finds of each environment's model and its steps ask first: flags.

MuJoCo's batch has them of each environment and lets nobody write them. They stand among the fields
that environments have of their own, so that whatever carries fields carries them.
"""

import contextlib
import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.model_fields import read_field, write_field

if TYPE_CHECKING:
    from stroboscope.engine.batch.environments import Environments

__all__ = ["EnvFlags", "is_flag"]

Places = NDArray[np.intp]
Values = NDArray[Any]

_PREFIX: Final = "flg_"
# Which fields each of them is found of: is any number of these not zero?
_SOURCES: Final = {
    "flg_gravcomp": ("body_gravcomp",),
    "flg_surfacevel": ("geom_surfacevel",),
    "flg_adhesion": ("geom_adhesion", "pair_adhesion"),
}


def is_flag(name: str) -> bool:
    """Return whether a field is one that ``mj_setConst`` alone writes."""
    return name.startswith(_PREFIX)


class EnvFlags:
    """Those of the environments ``envs``; owner thread only."""

    def __init__(self, envs: "Environments") -> None:
        self._envs, model = envs, envs.model
        self._first = {name: bool(getattr(model, name)) for name in dir(model) if is_flag(name)}
        self._in_force: dict[str, NDArray[np.bool_]] = {}
        self._count = int(getattr(model, "ngravcomp", 0))
        """A size of the model that is counted with one of them."""

    def own(self, name: str) -> NDArray[np.bool_]:
        """Return one of them of each environment, (n_envs,); ValueError for what is none.

        What is written there counts from :meth:`settle` on.
        """
        if name not in self._first:
            raise ValueError(f"{name} is no flag of this MuJoCo's models")
        if name not in self._in_force:
            self._in_force[name] = np.full(self._envs.count, self._first[name])
            self._envs.expanded[name] = self._in_force[name].copy()
        values: NDArray[np.bool_] = self._envs.expanded[name]
        return values

    # --- models of environments

    def fill(self, env: int, model: Any) -> None:
        """Write the values that one environment steps with into ``model``.

        MuJoCo refuses one whose ``ngravcomp`` is not the batch's, as it has written it itself for
        an environment that has another one.
        """
        if self._first and self._has_other_count(model):
            model.flg_gravcomp = self._first["flg_gravcomp"]  # makes it 0 or 1
        if not self._has_other_count(model):
            self._envs.batch.get_model(env, model)
            return
        for name, values in self._envs.expanded.items():
            now = read_field(model, name)
            if now.ndim:
                _part(now, values)[...] = values[env]
            else:
                write_field(model, name, np.asarray(values[env]))

    def _has_other_count(self, model: Any) -> bool:
        return int(getattr(model, "ngravcomp", 0)) != self._count

    # --- found, and put in force

    def note(self, chosen: Places) -> None:
        """Note what ``mj_setConst`` has found of the models of these environments."""
        if not self._first or not len(chosen):
            return
        sources = [_SOURCES.get(name) for name in self._first]
        own = self._envs.expanded.keys()
        is_alike = all(each is not None and own.isdisjoint(each) for each in sources)
        looked = chosen[:1] if is_alike else chosen
        found = {name: np.empty(len(looked), dtype=bool) for name in self._first}
        model = copy.copy(self._envs.model)
        for place, env in enumerate(looked.tolist()):
            self.fill(env, model)
            for name, values in found.items():
                values[place] = getattr(model, name)
        for name, values in found.items():
            if name in self._in_force or (values != self._first[name]).any():
                self.own(name)[chosen] = values
                self._in_force[name][chosen] = values

    def settle(self) -> str:
        """Have environments step with what was written into :meth:`own`.

        Where MuJoCo does not let them, what they step with stands there again: says which.
        """
        expanded = self._envs.expanded
        unequal = [expanded[name] != now for name, now in self._in_force.items()]
        targets = np.flatnonzero(np.any(unequal, axis=0)) if unequal else np.empty(0, dtype=np.intp)
        if not len(targets):
            return ""
        wanted = {name: expanded[name][targets] for name in self._in_force}
        self._switch(targets, wanted)
        refused = [n for n, each in wanted.items() if (expanded[n][targets] != each).any()]
        return f"MuJoCo's batch does not take over {', '.join(refused)}" if refused else ""

    def _switch(self, targets: Places, wanted: dict[str, NDArray[np.bool_]]) -> None:
        """Have ``mj_setConst`` find what is wanted: of other values, for as long as it takes."""
        envs = self._envs
        sources = [(name, each) for name in wanted for each in self._sources(name)]
        saved = {
            name: (values, values[targets])
            for name, values in envs.expanded.items()
            if not is_flag(name)
        }
        before = envs.model_of(int(targets[0]))
        try:
            for name, (values, _) in saved.items():
                # The model's own, in which it has found nothing wrong.
                values[targets] = _part(read_field(envs.model, name), values)
            for name, values in sources:
                values[targets] = 0
                values[targets, ..., 0] = wanted[name].reshape(-1, *(1,) * (values.ndim - 2))
            with contextlib.suppress(envs.simulation_error):
                envs.set_const(targets)
        finally:
            for name, values in envs.expanded.items():
                if name in saved:
                    values[targets] = saved[name][1]
                elif not is_flag(name):  # it was the same in all of them
                    values[targets] = _part(read_field(before, name), values)

    def _sources(self, flag: str) -> Iterator[Values]:
        """Go through the fields, (n_envs, …), that a flag is found of."""
        for name in _SOURCES.get(flag, ()):
            if read_field(self._envs.model, name).size:
                yield self._envs.expand(name)


def _part(field: Values, values: Values) -> Values:
    """Return a view of what environments may have of a field: of bounding volumes the bodies'."""
    return field[: values.shape[1]] if field.ndim else field
