"""Of which frames of a file it is not known what the model was: they may not be reproducible."""

from collections.abc import Iterable, Iterator

from stroboscope.engine.files.frames import FileEvent

__all__ = ["DOUBT", "Doubt", "doubt_event", "doubts_of", "lost_in_words"]

DOUBT = "doubt"
"""The kind of these events. ``axis``: the first step; the one behind the last is "end" in ``data``;
``text`` says why."""
Doubt = tuple[int, int, str]
"""The first step, the one behind the last, and why in words."""

_LONGEST = 1000


def lost_in_words(first: int, end: int, lost: str) -> str:
    """Return the words for steps ``first`` to ``end`` - 1; ``lost``: what is not remembered."""
    rows = f"rows {first} to {end - 1}" if end - 1 > first else f"row {first}"
    return f"not reproducible: {lost} ({rows}): what follows from the state is computed with others"


def doubt_event(doubt: Doubt, *, index: int, time: float) -> FileEvent:
    """Return how a file says it of its scene ``index``; ``time`` [s]: at the first step."""
    first, end, text = doubt
    return FileEvent(kind=DOUBT, scene=index, axis=first, time=time, text=text, data={"end": end})


def doubts_of(events: Iterable[FileEvent], others: Iterable[Doubt] = ()) -> list[Doubt]:
    """Return what a file says, and ``others``, in order; of two that overlap the earlier counts."""
    found: list[Doubt] = []
    for first, end, text in sorted([*_told(events), *others]):
        begin = max(first, found[-1][1]) if found else first
        if begin < end:
            found.append((begin, end, text))
    return found


def _told(events: Iterable[FileEvent]) -> Iterator[Doubt]:
    for event in events:
        end = event.data.get("end")
        if event.kind == DOUBT and isinstance(end, int) and event.text:
            text = "".join(each if each.isprintable() else " " for each in event.text)
            yield event.axis, end, text[:_LONGEST]
