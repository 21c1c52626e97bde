"""Of which frames of a file it is not known what the model was: they may not be reproducible."""

from collections.abc import Iterable, Iterator

import msgspec

from stroboscope.engine.files.frames import FileEvent

__all__ = ["DOUBT", "Doubt", "doubt_event", "doubts_of", "lost_in_words", "unseen_event"]

DOUBT = "doubt"
"""The kind of these events. ``axis``: the first step; the one behind the last is "end" in ``data``;
``text`` says why."""
Doubt = tuple[int, int, str]
"""The first step, the one behind the last, and why in words."""

_LONGEST = 1000
# What was said while nobody had looked yet, in `data`.
_UNSEEN = "unseen"


def lost_in_words(first: int, end: int, lost: str) -> str:
    """Return the words for steps ``first`` to ``end`` - 1; ``lost``: what is not remembered."""
    rows = f"rows {first} to {end - 1}" if end - 1 > first else f"row {first}"
    return f"not reproducible: {lost} ({rows}): what follows from the state is computed with others"


def doubt_event(doubt: Doubt, *, index: int, time: float) -> FileEvent:
    """Return how a file says it of its scene ``index``; ``time`` [s]: at the first step."""
    first, end, text = doubt
    return FileEvent(kind=DOUBT, scene=index, axis=first, time=time, text=text, data={"end": end})


def unseen_event(first: int, end: int, *, index: int, time: float) -> FileEvent:
    """Return how a file says that it may end before anybody has seen what the model was.

    It counts as long as no stretch tells what was written, and since when.
    """
    rows = f"rows {first} to {end - 1}" if end - 1 > first else f"row {first}"
    text = (
        f"approximate: the script had written into the model by the end of {rows}, which was "
        "recorded before anybody saw what: what follows from the state is computed as before that"
    )
    event = doubt_event((first, end, text), index=index, time=time)
    return msgspec.structs.replace(event, data=event.data | {_UNSEEN: True})


def doubts_of(events: Iterable[FileEvent], others: Iterable[Doubt] = ()) -> list[Doubt]:
    """Return what a file says, and ``others``, in order; of two that overlap the earlier counts."""
    found: list[Doubt] = []
    for first, end, text in sorted([*_told(events), *others]):
        begin = max(first, found[-1][1]) if found else first
        if begin < end:
            found.append((begin, end, text))
    return found


def _told(events: Iterable[FileEvent]) -> Iterator[Doubt]:
    told = list(events)
    seen = [
        (since, event.axis)
        for event in told
        if isinstance(since := event.data.get("model_since"), int) and since >= 0
    ]
    for event in told:
        end = event.data.get("end")
        if event.kind == DOUBT and isinstance(end, int) and event.text:
            if event.data.get(_UNSEEN) is True and any(
                since <= event.axis <= axis for since, axis in seen
            ):
                continue  # somebody has looked since
            text = "".join(each if each.isprintable() else " " for each in event.text)
            yield event.axis, end, text[:_LONGEST]
