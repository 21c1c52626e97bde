"""All that MuJoCo's data held when a recorded run ended, for post-mortems.

A file holds states. What follows from them (contacts, forces of constraints, poses, sensor values)
the last step has computed from the row that it began with, so it is computed again: by that step,
on data of our own. When the last step failed and was taken back it is that step which is taken
again, fails again, and is taken back again.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.trajectory.lookup import known_names, no_such_name
from stroboscope.engine.trajectory.recorded_rows import RecordedRows
from stroboscope.engine.trajectory.steps_again import StepsAgain

if TYPE_CHECKING:
    from stroboscope.engine.trajectory.replayed_scene import ReplayedScene

__all__ = ["LastFrame", "arrays_of_data", "compute_last"]

Array = NDArray[Any]

SAME: Final = "computed again by the last step, which leads to the recorded state to the last bit"
DIFFERENT: Final = (
    "computed again by the last step, which leads to another state here: another processor, or the "
    "script's callbacks; only the state is what it was"
)
FAILED: Final = "computed again by the step that failed, and was taken back"
UNKNOWN: Final = (
    "computed again by the step at which the run stopped. The file doesn't say whether that step "
    "was taken or was stopped before (older files don't): then the data held what the step before "
    "it had computed, and other values of "
)
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
# Lists by how many of their places are written.
_LISTS: Final = {
    "nefmA": ("efm_aid", "efm_as", "efm_ak"),
    "nefmT": ("efm_tid", "efm_ts", "efm_tk"),
}
_COUNTS: Final = frozenset({"ncon", "ne", "nf", "nl", "nefc", "nisland", "nidof", "time"})


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
    for count, names in _LISTS.items():
        for name in names:
            if name in found:
                found[name][getattr(data, count) :] = 0
    if (counts := found.get("solver_nnz")) is not None:
        islands = int(found["nisland"]) if "nisland" in found else 0
        counts[max(islands, min(int(found["nefc"]), 1)) :] = 0
    return found


def compute_last(
    replayed: "ReplayedScene", rows: RecordedRows, *, has_failed: bool | None
) -> LastFrame:
    """Return what the data held when a recorded run ended.

    ``has_failed``: in a step that failed; None: nobody knows, and the note says which arrays would
    be others. Raises StateError where that can't be computed, and what building the scene raises.
    """
    again = StepsAgain(replayed, rows)
    end = rows.last_whole
    final, hidden, _ = replayed.state(end)
    note = EVALUATED
    if end and rows.axis(end - 1) == rows.axis(end) - 1:
        again.put(end - 1)
        again.step()
        reached = again.row()
        begin, behind = rows.record.inputs
        reached[begin:behind] = final[begin:behind]
        if reached.tobytes() == final.tobytes():
            note = SAME
        elif rows.follows(end):
            note = DIFFERENT
    else:
        again.put(end)
        again.evaluate()
    known: dict[str, Array] = {}
    if has_failed is None:
        again.write(final)
        known = arrays_of_data(again.model, again.data, adapter=again.adapter)
    if has_failed is not False:
        again.put_options(end)
        again.write(final)
        again.step()
        again.put_back(final, hidden)
        note = FAILED
    again.write(final)
    arrays = arrays_of_data(again.model, again.data, adapter=again.adapter)
    if known and (doubtful := _differing(known, arrays)):
        note = UNKNOWN + known_names(doubtful)
    return LastFrame(arrays, note)


def _differing(some: Mapping[str, Array], others: Mapping[str, Array]) -> list[str]:
    """Return the names of arrays that differ, to the bit."""
    return [
        name
        for name, array in some.items()
        if name not in others or array.tobytes() != others[name].tobytes()
    ]
