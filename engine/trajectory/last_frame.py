"""All that MuJoCo's data held when a recorded run ended, for post-mortems.

A file holds states. What follows from them (contacts, forces of constraints, poses, sensor values)
the last step has computed from the row that it began with, so it is computed again: by that step,
on data of our own. When the last step failed and was taken back it is that step which is taken
again, fails again, and is taken back again.
"""

import copy
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.time_messages import StopReason
from stroboscope.engine.checkpoint_codec import CheckpointCodec
from stroboscope.engine.errors import StateError
from stroboscope.engine.live_data import HeldData
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.physics_options import write_option
from stroboscope.engine.trajectory.lookup import known_names, no_such_name
from stroboscope.engine.trajectory.recorded_rows import RecordedRows, Row

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene
    from stroboscope.engine.trajectory.replayed_scene import ReplayedScene

__all__ = ["LastFrame", "arrays_of_data", "compute_last"]

Array = NDArray[Any]

SAME: Final = "computed again by the last step, which leads to the recorded state to the last bit"
DIFFERENT: Final = (
    "computed again by the last step, which leads to another state here: another processor, or the "
    "script's callbacks; only the state is what it was"
)
FAILED: Final = "computed again by the step that failed, and was taken back"
EVALUATED: Final = (
    "computed from the last state: no recorded step leads there, so what the data held was of "
    "another moment"
)
# Handles, what the debugger counts for itself, and memory that is no result.
_LEFT_OUT: Final = frozenset({"plugin_data", "plugin", "maxuse_threadstack"})
_OF_SPARSE: Final = frozenset({"efc_J_rownnz", "efc_J_rowadr", "efc_J_rowsuper", "efc_J_colind"})
_OF_ISLANDS: Final = frozenset({
    "iacc", "iacc_smooth", "ifrc_smooth", "ifrc_constraint", "iefc_aref", "iefc_force", "iefc_state"
})  # fmt: skip
_COUNTS: Final = frozenset({"ncon", "ne", "nf", "nl", "nefc", "nisland", "nidof", "time"})
# What goes wrong without a step: nothing is taken back then.
_WITHOUT_STEP: Final = frozenset({StopReason.CONDITION, StopReason.SCRIPT_ERROR})


class LastFrame(Mapping[str, Array]):
    """All arrays of ``MjData`` by MuJoCo's names and in its shapes, copies.

    Those of contacts are ``contact.dist``, ``contact.geom``, …; counts (``ncon``, ``nefc``,
    ``time``, …) are arrays without dimensions. Poses, contacts and forces are those of the state
    that the last step began with, as in the data itself; ``qpos`` and the like are the state after
    it. ``note`` says how it was had.
    """

    def __init__(self, arrays: Mapping[str, Array], note: str) -> None:
        self._arrays = arrays
        self.note = note

    def __getitem__(self, name: str) -> Array:
        """Return an array; NoSuchNameError says which there are."""
        if not isinstance(name, str) or name not in self._arrays:
            raise no_such_name(name, "MuJoCo's data has no array", self._arrays)
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        return iter(self._arrays)

    def __len__(self) -> int:
        """Return how many arrays there are."""
        return len(self._arrays)

    def __getattr__(self, name: str) -> Array:
        """Return an array; AttributeError says which there are."""
        if name.startswith("_") or name not in self._arrays:
            has = "" if name.startswith("_") else f": it has {known_names(self)}"
            raise AttributeError(f"MuJoCo's data has no array {name!r}{has}")
        return self._arrays[name]

    def __repr__(self) -> str:
        """Say what it is."""
        return f"<LastFrame: {len(self)} arrays, {self.note}>"


def arrays_of_data(model: Any, data: Any, *, adapter: MujocoAdapter) -> dict[str, Array]:
    """Return copies of all arrays and counts of ``data``, by name; see :class:`LastFrame`.

    What MuJoCo itself never writes stays out, as whatever was in that memory stands there: indices
    of a sparse Jacobian where it is dense, copies that only solvers which go by islands make.
    """
    left_out = set(_LEFT_OUT)
    if not adapter.module.mj_isSparse(model):
        left_out |= _OF_SPARSE
    if model.opt.solver == adapter.module.mjtSolver.mjSOL_PGS:
        left_out |= _OF_ISLANDS
    found: dict[str, Array] = {}
    for prefix, source in (("", data), ("contact.", data.contact)):
        for name in dir(type(source)):
            if name.startswith("_") or name in left_out:
                continue
            value = getattr(source, name)
            if isinstance(value, np.ndarray) and value.dtype != object:
                found[prefix + name] = value.copy()
            elif not prefix and name in _COUNTS:
                found[name] = np.array(value)
    if (counts := found.get("solver_nnz")) is not None:
        islands = int(found["nisland"]) if "nisland" in found else 0
        counts[max(islands, min(int(found["nefc"]), 1)) :] = 0
    return found


def compute_last(replayed: "ReplayedScene", rows: RecordedRows, stop: str) -> LastFrame:
    """Return what the data held when a recorded run ended; ``stop``: the reason that ended it.

    Raises StateError where that can't be computed, and what building the scene raises.
    """
    scene = replayed.build()
    adapter, world = scene.world.adapter, scene.world
    callbacks = list(adapter.callbacks_in_the_way(world.model))
    if adapter.has_control_callback():
        callbacks.append("control")
    if callbacks:
        raise StateError(
            "what the data held can't be computed: that would call the script's callbacks "
            f"({', '.join(callbacks)}); read the file in a process that has none"
        )
    return _Steps(scene, replayed, rows).last(stop)


class _Steps:
    """Takes a recorded step again on data and with a model of its own."""

    def __init__(self, scene: "Scene", replayed: "ReplayedScene", rows: RecordedRows) -> None:
        world = scene.world
        self._scene, self._replayed, self._rows = scene, replayed, rows
        self._adapter = world.adapter
        self._model = copy.copy(world.model)
        self._data = self._adapter.module.MjData(self._model)
        self._codec = CheckpointCodec(
            self._model, HeldData(self._data), digest=world.codec.digest, adapter=self._adapter
        )

    def last(self, stop: str) -> LastFrame:
        """Return what the data holds when all that was done last is done again."""
        rows, end = self._rows, self._rows.count - 1
        final, hidden, _ = self._replayed.state(end)
        if end and rows.axis(end - 1) == rows.axis(end) - 1:
            self._put(end - 1)
            self._step()
            reached = self._codec.read_row()[0]
            begin, stop_at = rows.record.inputs
            reached[begin:stop_at] = final[begin:stop_at]
            is_same = reached.tobytes() == final.tobytes()
            if rows.follows(end) and not is_same:
                note = DIFFERENT
            else:
                note = SAME if is_same else EVALUATED
        else:
            self._put(end)
            self._adapter.mj_forward(self._model, self._data)
            note = EVALUATED
        if stop and stop not in _WITHOUT_STEP:
            self._options(end)
            self._write(final)
            self._step()
            self._codec.put_row(final, hidden)
            note = FAILED
        self._write(final)
        return LastFrame(arrays_of_data(self._model, self._data, adapter=self._adapter), note)

    def _put(self, frame: int) -> None:
        row, hidden, _ = self._replayed.state(frame)
        self._options(frame)
        self._codec.put_row(row, hidden)

    def _options(self, frame: int) -> None:
        stretch, _ = self._replayed.place(frame)
        options = {**self._scene.history.recorded_options, **stretch.options}
        for name, values in options.items():
            write_option(self._model, name, values, known=values, adapter=self._adapter)
        self._model.opt.timestep = self._rows.timestep(frame)

    def _step(self) -> None:
        """Take a step, as far as it goes."""
        try:
            self._adapter.mj_step(self._model, self._data)
        except self._adapter.module.FatalError:
            self._adapter.free_stack(self._data)

    def _write(self, row: Row) -> None:
        self._adapter.mj_setState(self._model, self._data, row, self._adapter.integration)
