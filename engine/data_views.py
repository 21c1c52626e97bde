"""Raw views of what has to be looked at around every physics step of one ``MjData``.

Reading ``data.time`` through the bindings takes half a microsecond, as long as copying a state; an
item of a memoryview takes a tenth of that. None of these views keeps the data alive: use them only
while something else does.
"""

import ctypes
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.live_data import LiveData
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["DataViews", "motion_of", "raw_view", "timestep_before_gravity"]

_DOUBLE = 8
# How many numbers before gravity MuJoCo's options may begin.
_OPTIONS_BEFORE_GRAVITY = 16


class DataViews:
    """``time[0]`` [s], ``timestep[0]`` [s], ``warnings``, ``motion``, ``qvel``, ``mocap``."""

    def __init__(self, model: Any, live: LiveData, *, adapter: MujocoAdapter) -> None:
        data = live()
        self.time: Any = _time_view(data) or _Attribute(live, "time")
        self.timestep: Any = _timestep_view(model, adapter) or _Attribute(
            lambda: model.opt, "timestep"
        )
        numbers = data.warning.number
        self.warnings = raw_view(int(data.warning.lastinfo.ctypes.data), 2 * 4 * len(numbers)).cast(
            "i"
        )
        """``lastinfo`` and ``number`` of each kind of warning in turn, as integers."""
        self.motion = motion_of(data)
        """Positions, velocities, activations and what else a step alone may write, as bytes."""
        self.qvel: NDArray[np.float64] = data.qvel
        self.mocap: memoryview | None = _mocap(data)
        """Where mocap bodies are and how they are turned, as bytes; None where there are none."""
        self.mocap_parts = (data.mocap_pos.ravel(), data.mocap_quat.ravel())
        """The same as numbers, (3·nmocap,) and (4·nmocap,)."""


class _Attribute:
    """Reads a number through the bindings where it could not be found in memory."""

    def __init__(self, of: Any, name: str) -> None:
        self._of, self._name = of, name

    def __getitem__(self, _index: int) -> float:
        return float(getattr(self._of(), self._name))


def raw_view(address: int, size: int) -> memoryview:
    """Return ``size`` bytes of memory; whoever uses them keeps alive what they belong to."""
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


def _time_view(data: Any) -> Any | None:
    """Return a view of ``data.time``, which stands just before the energies; None if it doesn't."""
    view = raw_view(int(data.energy.ctypes.data) - _DOUBLE, _DOUBLE).cast("d")
    kept = float(data.time)
    try:
        for probe in (1234.5, -0.0625):
            data.time = probe
            if view[0] != probe:
                return None
    finally:
        data.time = kept
    return view


def _timestep_view(model: Any, adapter: MujocoAdapter) -> Any | None:
    """Return a view of ``model.opt.timestep``; None when it isn't where it is expected."""
    before = timestep_before_gravity(adapter.module)
    option = model.opt
    if before is None:
        return None
    view = raw_view(int(option.gravity.ctypes.data) - _DOUBLE * before, _DOUBLE).cast("d")
    return view if view[0] == option.timestep else None


@functools.cache
def timestep_before_gravity(module: Any) -> int | None:
    """Return how many numbers the timestep stands before gravity in MuJoCo's options."""
    option = module.MjOption()
    option.timestep = probe = 0.8671875
    gravity = int(option.gravity.ctypes.data)
    for before in range(1, _OPTIONS_BEFORE_GRAVITY):
        if ctypes.c_double.from_address(gravity - _DOUBLE * before).value == probe:
            return before
    return None


def _mocap(data: Any) -> memoryview | None:
    """Return the bytes of both arrays, which MuJoCo lays out one after the other."""
    arrays = (data.mocap_pos, data.mocap_quat)
    if not data.mocap_pos.size:
        return None
    begin = min(int(array.ctypes.data) for array in arrays)
    return raw_view(begin, max(int(array.ctypes.data) + array.nbytes for array in arrays) - begin)


def motion_of(data: Any) -> memoryview:
    """Return the bytes from qpos up to the controls: what only a physics step writes.

    MuJoCo lays out a state's arrays one after the other, qpos first and what the script may write
    before every step (ctrl, applied forces) last.
    """
    begin = int(data.qpos.ctypes.data)
    if not data.qpos.size:
        return memoryview(b"")
    own = [a for a in (data.qvel, data.act, data.qacc_warmstart) if a.size]
    inputs = (data.ctrl, data.qfrc_applied, data.xfrc_applied)
    after = [int(a.ctypes.data) for a in inputs if a.size and int(a.ctypes.data) > begin]
    last = max((int(a.ctypes.data) + a.nbytes for a in own), default=begin + data.qpos.nbytes)
    end = min(after, default=last)
    return raw_view(begin, end - begin) if end >= last else raw_view(begin, data.qpos.nbytes)
