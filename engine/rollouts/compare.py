"""Two states, or two rollouts: what differs most, and from which step on."""

import time as clock
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import StateDifference, StatesCompared
from stroboscope.engine.rollouts.row_names import RowNames
from stroboscope.engine.rollouts.row_probe import Contacts

__all__ = ["MOST_DIFFERENCES", "compare_rollouts", "compare_states"]

MOST_DIFFERENCES = 200
"""How many values are named; people read the first ones."""
# Contacts are looked for step by step, on the thread that owns the scene.
_CONTACTS_S = 0.25

Array = NDArray[np.float64]
ContactsOf = Callable[[Array], Contacts]
BothContacts = tuple[ContactsOf, ContactsOf] | str


def compare_states(
    first: Array,
    second: Array,
    *,
    names: RowNames,
    contacts: BothContacts,
    tolerance: float = 0.0,
) -> StatesCompared:
    """Compare two rows, (row,); the most different first.

    Values of one kind (positions, velocities, …) are measured by the largest of their kind, so
    that metres and radians per second stand in one order. ``contacts``: of the first and of the
    second, each with its own model; or why they are not compared.
    """
    return _compared(
        first[None],
        second[None],
        names=names,
        contacts=contacts,
        tolerance=tolerance,
        steps=np.zeros(1, dtype=np.intp),
        note="",
    )


def compare_rollouts(
    first: Array,
    second: Array,
    *,
    names: RowNames,
    contacts: BothContacts,
    tolerance: float = 0.0,
) -> StatesCompared:
    """Compare two rollouts, (steps + 1, row) each, where both have a state of the same time.

    Both are counted from their beginnings. With other timesteps those of the one with fewer steps
    are compared, each with the state of the other that stands there or just before; steps are the
    first rollout's. Raises CommandError when one is empty.
    """
    if not len(first) or not len(second):
        raise CommandError("one of the rollouts has no states to compare")
    mine, its = _same_times(first, second)
    parts = []
    begins = float(first[0, 0]), float(second[0, 0])
    if begins[0] != begins[1]:
        parts.append(f"they begin at {begins[0]:g} s and {begins[1]:g} s")
    if len(mine) < max(len(first), len(second)):
        parts.append(f"compared at {len(mine)} of {len(first)} and {len(second)} states")
    return _compared(
        first[mine],
        second[its],
        names=names,
        contacts=contacts,
        tolerance=tolerance,
        steps=mine,
        note="; ".join(parts),
    )


def _same_times(first: Array, second: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which rows of the two belong together."""
    times = [rows[:, 0] - rows[0, 0] for rows in (first, second)]
    durations = [float(t[1] - t[0]) if len(t) > 1 else 0.0 for t in times]
    shared = min(len(first), len(second))
    # Those that take the same steps are compared step by step, whatever rounding does to times.
    if abs(durations[0] - durations[1]) <= 1e-6 * max(durations):
        both = np.arange(shared)
        return both, both
    coarse, fine = (0, 1) if durations[0] > durations[1] else (1, 0)
    slack = 1e-6 * durations[fine]
    within = np.flatnonzero(times[coarse] <= times[fine][-1] + slack)
    at = np.searchsorted(times[fine], times[coarse][within] + slack, side="right") - 1
    return (within, at) if coarse == 0 else (at, within)


def _compared(
    first: Array,
    second: Array,
    *,
    names: RowNames,
    contacts: BothContacts,
    tolerance: float,
    steps: NDArray[np.intp],
    note: str,
) -> StatesCompared:
    other_bits: NDArray[np.bool_] = first.view(np.int64) != second.view(np.int64)
    distance = _distance(first, second)
    beyond = distance > tolerance
    at_bit, at_beyond = _first(other_bits.any(axis=1)), _first(beyond.any(axis=1))
    at_contacts, contacts_note = -1, ""
    if isinstance(contacts, str):
        contacts_note = f"contacts were not compared: {contacts}"
    elif contacts[0] != contacts[1]:  # the same state may touch in one model only
        at_contacts, contacts_note = _first_contacts(first, second, 0, contacts, steps)
    elif at_bit >= 0:
        at_contacts, contacts_note = _first_contacts(first, second, at_bit, contacts, steps)
    differences = _differences(first, second, distance, names, steps)
    parts = [_in_words(differences, at_bit, len(first), steps), note, contacts_note]
    return StatesCompared(
        id=0,
        scene_id=0,
        differences=tuple(differences[:MOST_DIFFERENCES]),
        more=max(0, len(differences) - MOST_DIFFERENCES),
        first_bit=_step(at_bit, steps),
        first_beyond=_step(at_beyond, steps),
        first_contacts=_step(at_contacts, steps),
        text="; ".join(filter(None, parts)),
    )


def _distance(first: Array, second: Array) -> Array:
    """Return |first - second|: Inf where only one of them is a number."""
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(first - second)
    strange = ~np.isfinite(distance)
    if strange.any():
        alike = (first == second) | (np.isnan(first) & np.isnan(second))
        distance[strange] = np.where(alike[strange], 0.0, np.inf)
    return distance


def _differences(
    first: Array, second: Array, distance: Array, names: RowNames, steps: NDArray[np.intp]
) -> list[StateDifference]:
    """Return what differs, by its largest distance relative to the largest value of its kind."""
    worst = distance.argmax(axis=0)
    largest = distance[worst, np.arange(distance.shape[1])]
    different = np.flatnonzero(largest > 0.0)
    sizes = np.maximum(_largest_finite(first), _largest_finite(second))
    scale = np.zeros(int(names.kinds.max(initial=0)) + 1)
    np.maximum.at(scale, names.kinds, sizes)
    relative = largest[different] / np.maximum(scale[names.kinds[different]], 1e-300)
    # Whatever stands for itself to people comes before what MuJoCo keeps for itself.
    order = different[np.lexsort((-relative, names.internal[different]))]
    return [
        StateDifference(
            name=names.names[column],
            unit=names.units[column],
            first=float(first[worst[column], column]),
            second=float(second[worst[column], column]),
            at_step=int(steps[worst[column]]),
        )
        for column in order.tolist()
    ]


def _largest_finite(rows: Array) -> Array:
    sizes: Array = np.abs(np.where(np.isfinite(rows), rows, 0.0)).max(axis=0)
    return sizes


def _first_contacts(
    first: Array,
    second: Array,
    begin: int,
    contacts: tuple[ContactsOf, ContactsOf],
    steps: NDArray[np.intp],
) -> tuple[int, str]:
    """Return the first state with other contacts from ``begin`` on, and how far was looked."""
    deadline = clock.monotonic() + _CONTACTS_S
    for at in range(begin, len(first)):
        if contacts[0](first[at]) != contacts[1](second[at]):
            return at, ""
        if clock.monotonic() > deadline:
            return -1, f"contacts were compared up to step {steps[at]} only"
    return -1, ""


def _in_words(
    differences: list[StateDifference], at_bit: int, count: int, steps: NDArray[np.intp]
) -> str:
    if at_bit < 0:
        return "no bit differs"
    where = "" if count == 1 else f" from step {steps[at_bit]} on"
    if not differences:
        return f"only signs of zeros differ{where}"
    return f"{len(differences)} values differ{where}, most of all {differences[0].name}"


def _first(mask: Any) -> int:
    found = np.flatnonzero(mask)
    return int(found[0]) if found.size else -1


def _step(at: int, steps: NDArray[np.intp]) -> int:
    return -1 if at < 0 else int(steps[at])
