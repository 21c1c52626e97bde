"""News about a scene's past: what is remembered and looked at, rollouts, stops, conditions."""

import bisect
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from stroboscope.debugger_protocol.note_messages import SceneNotes
from stroboscope.debugger_protocol.recording_messages import SceneRecording
from stroboscope.debugger_protocol.time_messages import (
    Environments,
    SceneConditions,
    SceneGhosts,
    SceneHistory,
    SceneRollouts,
    SceneStops,
)
from stroboscope.debugger_protocol.told_segments import newest_segments

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_link import SceneLink

__all__ = ["PastNews"]

_Told: TypeAlias = (
    SceneRollouts
    | SceneStops
    | SceneConditions
    | Environments
    | SceneRecording
    | SceneNotes
    | SceneGhosts
    | None
)

# What is remembered grows with every step; it is told so often [s].
_HISTORY_INTERVAL: Final = 0.1


class PastNews:
    """How much of a scene's past the clients have been told; server thread only."""

    def __init__(self, link: "SceneLink") -> None:
        self.is_due = False
        """Whether the history is told at once, if more is new than that it has grown."""
        self.is_waiting = False
        """Whether something was put off."""
        self._past = link.past
        self._history = link.past.history
        self._told_at = -math.inf
        self._others = self._present()

    def snapshot(self) -> Iterator[msgspec.Struct]:
        """Return what a new client has to know."""
        if self._history is not None:
            yield self._with_older_segments(self._history)
        for message in self._others:
            if message is not None and not _says_nothing(message):
                yield message

    def _with_older_segments(self, history: SceneHistory) -> SceneHistory:
        """Return what is told only once: clients remember the older segments."""
        segments = self._past.segments
        if not history.older_segments:
            return history
        told = newest_segments(segments)
        older = len(segments) - len(told)
        return msgspec.structs.replace(history, segments=told, older_segments=older)

    def take(self, now: float, *, ends: bool) -> Iterator[msgspec.Struct]:
        """Return what has changed since the last call, at ``now`` [s, monotonic]."""
        due, self.is_due, self.is_waiting = self.is_due, False, False
        for before, message in zip(self._others, present := self._present(), strict=True):
            if message is not None and message is not before and message != before:
                yield message
        self._others = present
        history = self._past.history
        if history is None or history is self._history:
            return
        early = now - self._told_at < _HISTORY_INTERVAL
        if early and not ends and not (due and _is_news(history, self._history)):
            self.is_waiting = True
            return
        is_first = self._history is None
        told = self._with_older_segments(history) if is_first else self._with_missed(history)
        self._told_at, self._history = now, history
        yield told

    def _with_missed(self, history: SceneHistory) -> SceneHistory:
        """Return what is told, with what has begun since the last time and is not among it."""
        before = self._history.segments if self._history is not None else ()
        if not history.older_segments or not before:
            return history
        segments, last = self._past.segments, before[-1].segment_id
        begin = bisect.bisect_right(segments, last, key=lambda each: each.segment_id)
        if begin >= history.older_segments:
            return history
        told = newest_segments(segments[begin:])
        older = len(segments) - len(told)
        return msgspec.structs.replace(history, segments=told, older_segments=older)

    def _present(self) -> tuple[_Told, ...]:
        past = self._past
        return (
            past.rollouts.told,
            past.stops.stops,
            past.stops.conditions,
            past.environments.told,
            past.recording.told,
            past.notes.told,
            past.ghosts.told,  # after what they are of
        )


def _is_news(history: SceneHistory, told: SceneHistory | None) -> bool:
    """Return whether a history is not only a longer one."""
    return told is None or _what_lasts(history) != _what_lasts(told)


def _what_lasts(history: SceneHistory) -> tuple[object, ...]:
    newest = history.segments[-1:]
    looked_at = history.view, history.view_note, history.invalid, history.asks_play
    return *looked_at, history.keeps, history.max_bytes, history.busy, newest


def _says_nothing(message: msgspec.Struct) -> bool:
    """Return whether a message says what is so without it."""
    return message in (
        SceneStops(scene_id=getattr(message, "scene_id", 0), stops=()),
        SceneConditions(scene_id=getattr(message, "scene_id", 0), conditions=()),
        SceneRecording(scene_id=getattr(message, "scene_id", 0)),
        SceneNotes(scene_id=getattr(message, "scene_id", 0)),
        SceneGhosts(scene_id=getattr(message, "scene_id", 0)),
    )
