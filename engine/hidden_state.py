"""What the next step reads besides the row: for some models no state vector of MuJoCo holds it all.

Asleep trees keep the results of their last computation, and with ``enable.ipc`` flexes remember
multipliers and ages of their contacts. An exact copy then needs every array of ``MjData`` that lies
outside its arena, and four counters. Measured: bit for bit, where a row alone drifts.
"""

import ctypes
import functools
import pathlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.errors import StateCorruptError
from stroboscope.engine.live_data import LiveData
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["HiddenState", "inexact_reason", "needs_hidden_state"]

_COUNTERS = ("nbody_awake", "ntree_awake", "nv_awake", "nparent_awake")
# What each of them counts.
_COUNTED = {
    "nbody_awake": "body_awake_ind",
    "ntree_awake": "tree_awake",
    "nv_awake": "dof_awake_ind",
    "nparent_awake": "parent_awake_ind",
}
# Whole numbers are indices of their own array, but for these. Below zero is how many steps a tree
# still has to rest.
_LEAST = {"tree_asleep": -(1 << 20), "wrap_obj": -2, "flexvert_conage": -(1 << 31)}
_MOST = {"tree_awake": 2, "body_awake": 2, "flexvert_conage": (1 << 31) - 1}
# Rows of sparse matrices, paths of tendons: where each begins in another array, and how long it is.
_ROWS = {
    "moment_rowadr": ("moment_rownnz", "moment_colind"),
    "ten_J_rowadr": ("ten_J_rownnz", "ten_J_colind"),
    "ten_wrapadr": ("ten_wrapnum", "wrap_obj"),
}
_LENGTHS = {length: target for length, target in _ROWS.values()}
# Handles of this process, not numbers that could be copied elsewhere.
_NOT_NUMBERS = frozenset({"plugin_data"})
# What the model says; another process may know the same plugin by another number.
_OF_MODEL = frozenset({"plugin"})
_COUNTER_BYTES = 8
# Their plugins keep all that changes in plugin_state or act.
_TRUSTED_PLUGINS = ("mujoco.pid", "mujoco.sensor.touch_grid", "mujoco.sdf.", "mujoco.elasticity.")


def needs_hidden_state(model: Any, *, adapter: MujocoAdapter) -> bool:
    """Return whether a row alone does not continue bit for bit."""
    flag = getattr(adapter.module.mjtEnableBit, "mjENBL_IPC", None)
    ipc = flag is not None and bool(model.opt.enableflags & int(flag))
    return ipc or adapter.sleeps(model)


def inexact_reason(model: Any, *, adapter: MujocoAdapter) -> str:
    """Return why a checkpoint of ``model`` can only be approximate; empty when it is exact."""
    names = _plugin_names(model, adapter)
    doubtful = sorted({name for name in names if not name.startswith(_TRUSTED_PLUGINS)})
    if not doubtful:
        return ""
    return f"the plugin {doubtful[0]} may keep state of its own that MuJoCo does not expose"


class HiddenState:
    """Copies the arrays outside the arena of one ``MjData``; owner thread only."""

    def __init__(self, live: LiveData) -> None:
        self._live = live
        data = live()
        # Names, not arrays: an array would keep the script's data alive.
        self._names = _names_outside_arena(data)
        self._counters = tuple(name for name in _COUNTERS if hasattr(data, name))
        self.nbytes = _COUNTER_BYTES * len(self._counters) + sum(
            int(getattr(data, name).nbytes) for name in self._names
        )

    def copy_to(self, target: memoryview) -> None:
        """Write ``nbytes`` bytes."""
        data = self._live()
        at = 0
        for name in self._counters:
            value = int(getattr(data, name))
            target[at : at + _COUNTER_BYTES] = value.to_bytes(_COUNTER_BYTES, "little", signed=True)
            at += _COUNTER_BYTES
        for name in self._names:
            array = getattr(data, name)
            end = at + array.nbytes
            target[at:end] = memoryview(array).cast("B")
            at = end

    def check(self, source: bytes) -> None:
        """Raise StateCorruptError for what :meth:`copy_to` never wrote: it may come from anybody.

        MuJoCo believes the numbers of trees, bodies and dofs in it: others would have it read and
        write where nothing of its own is.
        """
        if len(source) != self.nbytes:
            raise StateCorruptError(
                f"what sleeps takes {self.nbytes:,} bytes in this model, not {len(source):,}"
            )
        data = self._live()
        at = 0
        for name in self._counters:
            value = int.from_bytes(source[at : at + _COUNTER_BYTES], "little", signed=True)
            at += _COUNTER_BYTES
            most = int(getattr(data, _COUNTED[name]).size)
            if not 0 <= value <= most:
                raise StateCorruptError(f"{name} is {value}, of {most} at most")
        whole: dict[str, NDArray[np.integer[Any]]] = {}
        for name in self._names:
            array = getattr(data, name)
            end = at + array.nbytes
            if array.dtype.kind in "iu" and name not in _OF_MODEL:
                whole[name] = values = np.frombuffer(source[at:end], dtype=array.dtype)
                least, most = _LEAST.get(name, -1), _most(name, data)
                lowest, highest = int(values.min()), int(values.max())
                if lowest < least or highest > most:
                    wrong = lowest if lowest < least else highest
                    raise StateCorruptError(f"{name} holds {wrong}, of {least} to {most}")
            at = end
        for begins, (lengths, target) in _ROWS.items():
            if begins in whole and lengths in whole:
                furthest = int((whole[begins].astype(np.int64) + whole[lengths]).max())
                if furthest > getattr(data, target).size:
                    raise StateCorruptError(
                        f"{begins} and {lengths} reach to {furthest}, {target} has "
                        f"{getattr(data, target).size}"
                    )

    def copy_from(self, source: memoryview) -> None:
        """Put back what :meth:`copy_to` wrote for the same model."""
        data = self._live()
        at = 0
        for name in self._counters:
            value = int.from_bytes(source[at : at + _COUNTER_BYTES], "little", signed=True)
            setattr(data, name, value)
            at += _COUNTER_BYTES
        for name in self._names:
            array = getattr(data, name)
            end = at + array.nbytes
            if name not in _OF_MODEL:
                memoryview(array).cast("B")[:] = source[at:end]
            at = end


def _most(name: str, data: Any) -> int:
    """Return the largest number that MuJoCo writes into an array of whole numbers."""
    if name in _MOST:
        return _MOST[name]
    if name in _ROWS:
        return int(getattr(data, _ROWS[name][1]).size)
    if name in _LENGTHS:
        return int(getattr(data, _LENGTHS[name]).size)
    if name == "wrap_obj":
        return len(data.geom_xpos) - 1
    if name.endswith("_colind"):
        return int(data.qvel.size) - 1
    return int(getattr(data, name).size) - 1


def _names_outside_arena(data: Any) -> tuple[str, ...]:
    """Return the names of the arrays of ``data`` that live in its buffer, in memory order.

    The buffer begins with qpos; arena arrays move with every step and lie elsewhere.
    """
    begin = data.qpos.ctypes.data
    end = begin + int(data.nbuffer)
    found = {}
    for name in dir(type(data)):
        if name.startswith("_") or name in _NOT_NUMBERS:
            continue
        value = getattr(data, name)
        if isinstance(value, np.ndarray) and value.nbytes and value.flags.c_contiguous:
            address = value.ctypes.data
            if begin <= address < end:
                found[address] = name
    return tuple(found[address] for address in sorted(found))


def _plugin_names(model: Any, adapter: MujocoAdapter) -> tuple[str, ...]:
    """Return the names of the plugins in ``model``; "(unknown)" where MuJoCo does not tell."""
    slots = [int(slot) for slot in getattr(model, "plugin", ())]
    if not slots:
        return ()
    name_at = _plugin_lookup(str(adapter.module.__file__))
    if name_at is None:
        return ("(unknown)",)
    return tuple(bytes(name_at(slot)[0]).decode("utf-8", "replace") for slot in slots)


@functools.cache
def _plugin_lookup(module_file: str) -> Any | None:
    """Return MuJoCo's ``mjp_getPluginAtSlot``, which its Python part does not offer.

    A plugin's name is the first member of what it points to.
    """
    for library in sorted(pathlib.Path(module_file).parent.glob("*mujoco*.*")):
        if library.suffix not in (".dll", ".dylib") and ".so" not in library.name:
            continue
        try:
            lookup = ctypes.CDLL(str(library)).mjp_getPluginAtSlot
        except (OSError, AttributeError):
            continue
        lookup.restype = ctypes.POINTER(ctypes.c_char_p)
        lookup.argtypes = [ctypes.c_int]
        return lookup
    return None
