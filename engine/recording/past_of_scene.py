"""What a scene's history holds, handed to a file as if it had been recorded while it happened."""

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.history.block import Block
from stroboscope.engine.history.segments import LOST_FIELDS
from stroboscope.engine.recording.doubts import Doubt, doubt_event, doubts_of, lost_in_words
from stroboscope.engine.recording.feed import FinalRow, SceneFeed
from stroboscope.engine.recording.rows_entry import RowsEntry
from stroboscope.engine.recording.scene_tap import begin_event, stretch_event
from stroboscope.engine.recording.told_models import fields_of, lost_names, with_fields

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["fill_with_past"]


def fill_with_past(
    feed: SceneFeed, scene: "Scene", *, final: FinalRow, seconds: float | None = None
) -> None:
    """Put the stored rows of a scene into ``feed``, and ``final`` behind them; by the owner.

    ``seconds``: the newest of simulation time only, of which all are stored.
    """
    history = scene.history
    if final.row is not None:  # else nobody knows how the scene stands
        history.look_at_model()
    blocks = list(_newest(history.ring.stored_blocks(), seconds))
    index = feed.record.index
    doubts: list[Doubt] = []
    if not blocks:
        first = final.axis
        feed.add_event(begin_event(scene, index, "nothing is remembered of what was before"))
    else:
        first = blocks[0][0].axis_at(blocks[0][1])
        models = history.models
        for event in with_fields(
            _stretches(scene, first, index),
            own=fields_of(models.fields),
            first=fields_of(models.first),
        ):
            feed.add_event(event)
        doubts = _doubts(scene, first)
        for doubt in doubts:
            feed.add_event(doubt_event(doubt, index=index, time=history.ring.time(doubt[0])))
    # Also where there is no row: of the very first step it may be known why it failed.
    notes = scene.recorders.notes
    feed.events.extend(each for each in notes.events if each.axis >= first)
    feed.values.extend(each for each in notes.values if each.axis >= first)
    if feed.hidden is not None:
        feed.hidden.update(history.keyframes.all())
    for block, at in blocks:
        begin, last = block.axis_at(at), block.axis_at(block.count - 1)
        in_doubt = any(first <= last and begin < end for first, end, _ in doubts)
        entry = RowsEntry(block, history.packing, ring=None, at=at, is_of_other_model=in_doubt)
        feed.items.append(entry)
    feed.items.append(final)
    feed.is_over = True


def _doubts(scene: "Scene", first: int) -> list[Doubt]:
    """Return of which remembered steps from ``first`` on it is not known what the model was."""
    segments = scene.history.segments
    known = max(segments.fields_from, first)
    lost = (first, known, lost_in_words(first, known, LOST_FIELDS))
    later = ((max(begin, known), end, why) for begin, end, why in segments.doubts)
    return doubts_of((), [lost, *later])


def _newest(blocks: Iterable[Block], seconds: float | None) -> list[tuple[Block, int]]:
    """Return blocks with the place of the first row that is wanted, oldest first."""
    if seconds is None:
        return [(block, 0) for block in blocks]
    found: list[tuple[Block, int]] = []
    left = seconds
    for block in reversed(list(blocks)):
        if block.stride > 1:
            break
        back = np.cumsum(block.timesteps[: block.count][::-1])
        # One more than fits: the last state is that long after the first.
        count = min(int(np.searchsorted(back, left * (1.0 - 1e-12))) + 1, block.count)
        found.append((block, block.count - count))
        left -= float(back[-1])
        if left <= 0.0 or count < block.count:
            break
    return found[::-1]


def _stretches(scene: "Scene", first: int, index: int) -> list[FileEvent]:
    """Return how the stretches began that the rows from ``first`` on belong to."""
    history, ring = scene.history, scene.history.ring
    own = {**scene.world.unedited_options, **history.recorded_options, **history.first_fields}
    events = []
    for stretch in history.segments.newest_first():
        options = {**{n: v for n, v in own.items() if n not in stretch.options}, **stretch.options}
        event = stretch_event(dataclasses.replace(stretch, options=options), index)
        if lost := lost_names(stretch.lost, of_file=history.models.lost):
            event = msgspec.structs.replace(event, data=event.data | {"lost": lost})
        if event.axis > first:
            events.append(event)
            continue
        if event.axis < first:  # what came before that is not in the file
            kept = ("options", "fields", "lost")
            data = {key: each for key, each in event.data.items() if key in kept}
            event = _at(event, first, time=ring.time(first), step=ring.step(first))
            event = msgspec.structs.replace(event, kind="begin", data=data)
        events.append(event)
        break
    return events[::-1]


def _at(event: FileEvent, axis: int, *, time: float, step: int) -> FileEvent:
    """Return an event as it would be at another axis of its stretch."""
    return msgspec.structs.replace(
        event,
        axis=axis,
        time=time,
        physics_step=event.physics_step + axis - event.axis,
        step_count=event.step_count + step - event.total_steps,
        total_steps=step,
    )
