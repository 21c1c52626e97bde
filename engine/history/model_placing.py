"""The very step before which a script has written into its model, found by stepping.

The model is looked at now and then: a stretch says what was written, and since which step at the
earliest. Rows between the two belong to the old model or to the new one; which, says the step that
begins there, as it leads to the next row with one of them only.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import SegmentKind
from stroboscope.engine.checkpoint import Counters
from stroboscope.engine.errors import StateError
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.history.segments import Stretch
from stroboscope.engine.model_option_fields import FIELD_OPTION

__all__ = ["MODEL_TEXT", "Placed", "StepsAgain", "placed_where_it_was_written"]

_UNTOLD = (
    "approximate: the model was written into ({text}) at one of the rows {first} to {last}, and "
    "none of them tells which: what follows from the state is computed as before that"
)
_LOST = (
    "not reproducible: the rows {first} to {last} were stepped with values of the model that "
    "nobody has seen ({text} came after them): what follows from the state is computed with others"
)
_NOTHING_TELLS = (StateError, FileError, LookupError, CommandError)
# What may move nothing, and shows all the same.
_SHOWS_ALONE = (
    "site_", "sensor_", "cam_", "eq_", "body_pos", "body_quat", "geom_pos", "geom_quat",
    "geom_size", "geom_margin", "geom_gap", "hfield_size", "jnt_pos", "jnt_axis", "actuator_gear",
    "actuator_cranklength", "tendon_", "wrap_", "opt.magnetic", "geom_rgba", "mat_rgba",
)  # fmt: skip
# What is shown as it is, as options are, or as how far it is to a limit.
_SHOWN_ITSELF = (
    "opt.",
    "jnt_range",
    "jnt_actfrcrange",
    "actuator_ctrlrange",
    "actuator_forcerange",
    # And what is seen now and then: what a ray meets, how far a sensor tells.
    "geom_rgba",
    "geom_matid",
    "mat_rgba",
    "sensor_cutoff",
    "site_size",
)
# A ray meets what is not quite transparent, whatever its colour.
_COLOURS = ("geom_rgba", "mat_rgba")
# How many steps are asked of what shows in some rows only: of few objects, and of many.
_ASKED, _ASKED_OF_MANY, _FEW = 12, 3, 16
# So many objects of a field are asked one by one, more of them in groups.
_MOST_PARTS = 256
# What mj_setConst and mj_setLengthRange write besides: it comes with what it follows from.
_FOLLOWS = (
    "body_subtreemass", "body_simple", "body_sameframe", "geom_sameframe", "site_sameframe",
    "dof_simplenum", "actuator_lengthrange", "stat.",
)  # fmt: skip
MODEL_TEXT = "the model was changed"
"""How a stretch begins with which nothing but the model was another one."""


class StepsAgain(Protocol):
    """Remembered steps that can be taken again, by the axis."""

    def leads_on(self, axis: int, stretch: Stretch) -> bool:
        """Return whether the step of a row leads to the next one with the model of a stretch.

        Raises StateError, CommandError, FileError or LookupError where nothing tells.
        """

    def shows(self, axis: int, first: Stretch, second: Stretch) -> bool:
        """Return whether what follows from the state of a row differs between two models.

        Raises the same, and where nothing tells, as :meth:`leads_on`.
        """

    def values(self, stretch: Stretch, name: str) -> tuple[float, ...]:
        """Return what a field of the model had in a stretch."""

    def width(self, name: str) -> int:
        """Return how many numbers of a field belong to one object."""

    def stands_at(self, axis: int) -> tuple[Counters, int, float]:
        """Return the counters of a row, how many steps had ever been taken, and its time [s]."""

    def follows_at(self, axis: int) -> bool:
        """Return whether a row follows from the one before, but for its model."""


class Placed(NamedTuple):
    """What takes the place of a stretch, and of which steps it is not known what the model was.

    ``first`` to ``end`` - 1, and ``why``, where there are any.
    """

    stretches: list[Stretch]
    first: int = 0
    end: int = 0
    why: str = ""


def placed_where_it_was_written(stretch: Stretch, before: Stretch, steps: StepsAgain) -> Placed:
    """Have a stretch, whose model was in force before it begins, begin where it was written.

    ``before``: the one before it. Where the step can't be found, the stretch begins as it says.
    """
    begin = stretch.segment.begin
    settled = stretch.settled()
    since = max(stretch.model_since, before.segment.begin)
    if since >= begin:
        return Placed([settled])
    written = _of_model_only(stretch, before)
    try:
        search = _search(written, before, steps, since)
        untold = _untold_from(search, written, before, steps, since)
        if untold >= 0:
            known_doubt = search.first if search.first < search.end else untold
            search = search._replace(first=min(untold, known_doubt), end=begin)
        known = search.known
        begun = [] if known < 0 else [_begun_at(known, written, before, steps)]
        is_all = known >= 0 and stretch.segment.kind is SegmentKind.EDIT
        if is_all and steps.follows_at(begin):  # nothing but the model was another one
            text = stretch.segment.text
            segment = msgspec.structs.replace(begun[0].segment, text=text)
            begun = [dataclasses.replace(begun[0], segment=segment)]
        else:
            begun.append(settled)
    except _NOTHING_TELLS:
        search, begun = _Found(-1, since, begin), [settled]
    why = _LOST if search.is_lost else _UNTOLD
    what = why.format(text=stretch.model_text, first=search.first, last=search.end - 1)
    return Placed(begun, search.first, search.end, what)


def _begun_at(axis: int, stretch: Stretch, before: Stretch, steps: StepsAgain) -> Stretch:
    """Return the stretch as it begins at another step of the one before."""
    counters, total_steps, time = steps.stands_at(axis)
    segment = msgspec.structs.replace(
        stretch.segment,
        kind=SegmentKind.EDIT,
        begin=axis,
        parent_axis=axis - 1,
        episode=before.segment.episode,
        physics_step=counters.physics_step_count,
        step_count=counters.step_count,
        time=time,
        text=f"{MODEL_TEXT}: {stretch.model_text}",
    )
    return dataclasses.replace(
        stretch, segment=segment, total_steps=total_steps, model_since=axis, left=b""
    )


def _of_model_only(stretch: Stretch, before: Stretch) -> Stretch:
    """Return a stretch as its model was before it began: options were not edited yet."""
    plain = {n: v for n, v in before.options.items() if not n.startswith(FIELD_OPTION)}
    fields = stretch.options if stretch.fields_before is None else stretch.fields_before
    model = {n: v for n, v in fields.items() if n.startswith(FIELD_OPTION)}
    lost = stretch.lost if stretch.lost_before is None else stretch.lost_before
    return dataclasses.replace(
        stretch, options={**plain, **model}, lost=lost, fields_before=None, lost_before=None
    )


class _Found(NamedTuple):
    """The first step taken with a model, -1: none; and the steps of which that is not known."""

    known: int
    first: int = 0
    end: int = 0
    is_lost: bool = False
    """Whether they were taken with values that nobody has seen."""


def _search(stretch: Stretch, before: Stretch, steps: StepsAgain, low: int) -> _Found:
    begin = stretch.segment.begin
    last = begin - 1
    try:
        is_there = steps.leads_on(last, before)
    except _NOTHING_TELLS:  # of the step before a reset, where it has led was not kept
        last -= 1
        if low > last:
            raise
        is_there = steps.leads_on(last, before)
    if is_there:
        # It was written into where it was looked at, at a reset most often; unless no step tells.
        names = [name for name, _ in _parts(before, stretch, steps)]
        is_open = stretch.lost != before.lost or _is_silent(
            names, before, stretch, steps, low, last
        )
        return _Found(-1, low if is_open else last + 1, begin)
    first = _first(low, last, lambda axis: not steps.leads_on(axis, before))
    if steps.leads_on(first, stretch):
        is_certain = first == low or not steps.leads_on(first - 1, stretch)
        return _Found(first, first if is_certain else low, first)
    if not steps.leads_on(last, stretch):
        return _Found(-1, first, begin, is_lost=True)
    known = _first(first + 1, last, lambda axis: steps.leads_on(axis, stretch))
    return _Found(known, first, known, is_lost=True)


def _untold_from(
    found: _Found, stretch: Stretch, before: Stretch, steps: StepsAgain, low: int
) -> int:
    """Return from which row on something may have been written that no step tells, and that shows.

    -1: nothing. Then it may have been written at another time than the rest. Each object's numbers
    count alone: a script that moves a target that nothing touches, and then the arm, writes one
    field twice. What nothing was written of before the state was replaced is from then, as scripts
    randomise at resets; unless it is of what shows wherever it stands.
    """
    known, last = found.known, stretch.segment.begin - 1
    is_at_reset = known < 0 and not found.is_lost
    old_until = found.first if found.is_lost else last + 1 if known < 0 else known
    parts = list(_parts(before, stretch, steps))
    asked = []  # stretches of rows whose model is known
    if old_until > low:
        asked.append((low, low, old_until - 1, before, stretch))
    if known >= 0:  # that it was not there yet may be told by the step before, and not that it is
        asked.append((known if asked else low, known, last, stretch, before))
    if asked and parts and stretch.lost != before.lost:  # no step can be asked of that
        return low
    for first, begin, end, base, other in asked if len(parts) > 1 else ():  # one alone was found
        for name, part in parts:
            written = name.removeprefix(FIELD_OPTION)
            if is_at_reset and not written.startswith(_SHOWS_ALONE):
                continue
            if written.startswith(_FOLLOWS) or (written.endswith("0") and written != "qpos0"):
                continue
            tried = _with_part(base, other, name, part, steps)
            count = _ASKED if len(parts) <= _FEW else _ASKED_OF_MANY
            if _is_silent([name], base, tried, steps, begin, end, count=count):
                return first
    return -1


def _is_silent(
    names: Sequence[str],
    base: Stretch,
    tried: Stretch,
    steps: StepsAgain,
    begin: int,
    end: int,
    *,
    count: int = _ASKED,
) -> bool:
    """Return whether another model shows in a row whose step leads to the same with both.

    Where it does not show it does no harm, and where it shows and the step tells, it is noticed.
    """
    for axis in {begin + (end - begin) * place // (count - 1) for place in range(count)}:
        try:
            if steps.leads_on(axis, tried) and _shows(names, base, tried, steps, axis):
                return True
        except _NOTHING_TELLS:
            return True
    return False


def _with_part(base: Stretch, other: Stretch, name: str, part: slice, steps: StepsAgain) -> Stretch:
    """Return a stretch with some numbers of a field as another one has them."""
    own, others = steps.values(base, name), steps.values(other, name)
    values = (*own[: part.start], *others[part], *own[part.stop :])
    # What comes last counts: an option may stand among the others by a name of its own.
    rest = {n: v for n, v in base.options.items() if n != name}
    return dataclasses.replace(base, options={**rest, name: values})


def _shows(
    names: Sequence[str], first: Stretch, second: Stretch, steps: StepsAgain, axis: int
) -> bool:
    """Return whether it shows in a row which of two models it has; ``names``: what differs."""
    if any(name.removeprefix(FIELD_OPTION).startswith(_SHOWN_ITSELF) for name in names):
        return True
    return steps.shows(axis, first, second)


def _parts(base: Stretch, other: Stretch, steps: StepsAgain) -> Iterator[tuple[str, slice]]:
    """Yield the numbers of each object that differ between two models: the field, and where."""
    names = {**base.options, **other.options}
    for name in [each for each in names if each.startswith(FIELD_OPTION)]:
        own, others = steps.values(base, name), steps.values(other, name)
        if own == others:
            continue
        width = steps.width(name)
        is_colour = name.removeprefix(FIELD_OPTION) in _COLOURS
        begins = [
            begin
            for begin in range(0, len(own), width)
            if (one := own[begin : begin + width]) != (two := others[begin : begin + width])
            and not (is_colour and (one[3] == 0.0) == (two[3] == 0.0))
        ]
        together = 1 + len(begins) // _MOST_PARTS
        for at in range(0, len(begins), together):
            yield name, slice(begins[at], begins[at : at + together][-1] + width)


def _first(low: int, high: int, is_so: Callable[[int], bool]) -> int:
    """Return the first from which on something is so, which it is of the last one, ``high``."""
    while low < high:
        middle = (low + high) // 2
        if is_so(middle):
            high = middle
        else:
            low = middle + 1
    return low
