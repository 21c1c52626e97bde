"""What follows from one row: computed on scratch data, beside the run."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["Contacts", "RowProbe"]

Contacts = frozenset[tuple[int, ...]]
"""Which pairs touch: geom, geom, and for flexes what of them."""


class RowProbe:
    """Computes poses, energies and contacts of rows of one model; owner thread only.

    ``scratch`` returns data that nobody else needs meanwhile; by default the probe makes its own,
    on first use.
    """

    def __init__(
        self, model: Any, *, adapter: MujocoAdapter, scratch: Callable[[], Any] | None = None
    ) -> None:
        self.model = model
        self._adapter = adapter
        self._scratch = scratch
        self._own: Any = None

    @property
    def data(self) -> Any:
        """The scratch data."""
        if self._scratch is not None:
            return self._scratch()
        if self._own is None:
            self._own = self._adapter.module.MjData(self.model)
        return self._own

    def put(self, row: NDArray[np.float64]) -> Any:
        """Return the scratch data with the state of ``row`` (row,), nothing computed yet."""
        data = self.data
        self._adapter.mj_setState(self.model, data, row, self._adapter.integration)
        return data

    def pose(self, row: NDArray[np.float64]) -> Arrays:
        """Return ``xpos`` (nbody, 3) [m], ``xquat`` (nbody, 4) wxyz and ``time`` (1,) [s]."""
        data = self.put(row)
        self._adapter.module.mj_kinematics(self.model, data)
        return {
            "xpos": np.array(data.xpos),
            "xquat": np.array(data.xquat),
            "time": np.array(row[:1]),
        }

    def energy(self, row: NDArray[np.float64]) -> float:
        """Return potential and kinetic energy together [J]."""
        adapter, data = self._adapter, self.put(row)
        adapter.prepare_energy(self.model, data)
        adapter.forget_lazy_results(data)
        adapter.module.mj_energyPos(self.model, data)
        adapter.module.mj_energyVel(self.model, data)
        return float(data.energy[0] + data.energy[1])

    def contacts(self, row: NDArray[np.float64]) -> Contacts:
        """Return which pairs touch, or are within their margin.

        Calls a contact filter of the script: ask ``callbacks_in_the_way`` first.
        """
        adapter, data = self._adapter, self.put(row)
        module = adapter.module
        module.mj_kinematics(self.model, data)
        module.mj_comPos(self.model, data)
        module.mj_flex(self.model, data)
        module.mj_collision(self.model, data)
        contact, count = data.contact, int(data.ncon)
        if not count:
            return frozenset()
        columns = [np.asarray(contact.geom).reshape(count, 2)]
        if self.model.nflex:
            columns += [
                np.asarray(getattr(contact, name)).reshape(count, 2)
                for name in ("flex", "elem", "vert")
            ]
        return frozenset(map(tuple, np.concatenate(columns, axis=1).tolist()))
