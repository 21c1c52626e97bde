"""What waits to be sent to one client: bounded in every lane, whatever the client does.

* **control**: ordered; its overflow ends the connection. What is said about a scene replaces or
  joins what waits about it, so scenes, their resets and their edits never overflow it, however
  many there are; of the edits of a scene the newest wait, as many as a scene keeps.
* **log**: the oldest entries are dropped, and an entry says how many.
* **signals**: an append ring; dropped rows are counted as an explicit gap in the next frame.
* **frames**: one slot per (scene, topic, instant); a newer frame replaces the older and counts it.
* **assets**: as many ranges as a client may ask for at once.

Not thread-safe: the thread of the event loop owns these.
"""

import collections
import itertools
from collections.abc import Hashable, Iterable

import msgspec

from stroboscope.debugger_protocol.exceptions import LimitExceeded
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import (
    AssetChunk,
    Environments,
    Frame,
    Heartbeat,
    LogEntry,
    LogLevel,
    SceneAdded,
    SceneChannels,
    SceneCheckpoints,
    SceneConditions,
    SceneDescribed,
    SceneEdited,
    SceneFindings,
    SceneGhosts,
    SceneHistory,
    SceneInterventions,
    SceneNotes,
    SceneRecording,
    SceneRemoved,
    SceneRestored,
    SceneRollouts,
    SceneStatus,
    SceneStops,
    SessionStatus,
)
from stroboscope.debugger_protocol.told_segments import join_histories
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["FrameQueue", "OutgoingLanes", "signal_rows"]

# A frame costs more than its blob; counted so that many tiny frames are bounded too.
_FRAME_OVERHEAD = 512
_LATEST_OF_SCENE = (
    SceneAdded,
    SceneStatus,
    SceneChannels,
    SceneRestored,
    SceneRemoved,
    SceneInterventions,
    SceneCheckpoints,
    SceneFindings,
    SceneHistory,
    SceneNotes,
    SceneRollouts,
    SceneStops,
    SceneConditions,
    SceneGhosts,
    SceneRecording,
    Environments,
)
_ABOUT_SCENES = tuple(
    str(kind.__struct_config__.tag) for kind in (*_LATEST_OF_SCENE, SceneDescribed)
)


def signal_rows(frame: Frame) -> int:
    """Return how many rows a frame of :attr:`Topic.SIGNALS` holds."""
    for entry in frame.arrays:
        if entry.name == "axis" and entry.shape:
            return entry.shape[0]
    return 0


class FrameQueue:
    """Latest-value slots for data and a bounded ring for signals; used at both ends."""

    def __init__(self, limits: Limits) -> None:
        self._max_bytes = limits.signal_queue_bytes
        self._slots: dict[tuple[int, Topic, str], Frame] = {}
        self._signals: collections.deque[Frame] = collections.deque()
        self._signal_bytes = 0
        # Rows lost per stream since its last frame went out.
        self._lost: dict[Hashable, int] = {}
        self._signals_next = True

    def __len__(self) -> int:
        return len(self._slots) + len(self._signals)

    @property
    def signal_bytes(self) -> int:
        """Bytes of signals that wait."""
        return self._signal_bytes

    def put(self, frame: Frame) -> None:
        """Queue a frame; replaces the waiting one of its slot, or appends when it is signals."""
        if frame.topic is Topic.SIGNALS:
            self._append(frame)
            return
        key = (frame.scene_id, frame.topic, frame.instant.value)
        waiting = self._slots.get(key)
        if waiting is not None:
            missed = waiting.dropped + 1 + frame.dropped
            frame = msgspec.structs.replace(frame, dropped=missed)
        self._slots[key] = frame

    def next(self) -> Frame | None:
        """Return the frame to send now; signals and slots take turns."""
        take_signals = bool(self._signals) and (self._signals_next or not self._slots)
        if take_signals:
            self._signals_next = False
            return self._pop_signals()
        self._signals_next = True
        if not self._slots:
            return None
        return self._slots.pop(next(iter(self._slots)))

    def discard_values(self, scene_id: int, *, before: int) -> None:
        """Forget latest values of a scene that wait, of instants before the axis ``before``.

        Signals are no latest values: all of them count.
        """
        self._slots = {
            key: f for key, f in self._slots.items() if key[0] != scene_id or f.axis >= before
        }

    def discard_scene(self, scene_id: int) -> None:
        """Forget everything that waits about a scene."""
        self._slots = {key: f for key, f in self._slots.items() if key[0] != scene_id}
        self._signals = collections.deque(f for f in self._signals if f.scene_id != scene_id)
        self._signal_bytes = sum(len(f.blob) + _FRAME_OVERHEAD for f in self._signals)
        self._lost = {key: n for key, n in self._lost.items() if key[0] != scene_id}  # type: ignore[index]

    def _append(self, frame: Frame) -> None:
        self._signals.append(frame)
        self._signal_bytes += len(frame.blob) + _FRAME_OVERHEAD
        while self._signal_bytes > self._max_bytes and len(self._signals) > 1:
            oldest = self._signals.popleft()
            self._signal_bytes -= len(oldest.blob) + _FRAME_OVERHEAD
            key = _stream(oldest)
            lost = self._lost.get(key, 0) + oldest.dropped + signal_rows(oldest)
            self._lost[key] = lost

    def _pop_signals(self) -> Frame:
        frame = self._signals.popleft()
        self._signal_bytes -= len(frame.blob) + _FRAME_OVERHEAD
        lost = self._lost.pop(_stream(frame), 0)
        return msgspec.structs.replace(frame, dropped=frame.dropped + lost) if lost else frame


def _stream(frame: Frame) -> tuple[int, tuple[str, ...]]:
    """Rows of different channel sets of a scene are counted apart."""
    return frame.scene_id, tuple(entry.name for entry in frame.arrays)


class OutgoingLanes:
    """All that waits for one client, in the order in which it should leave."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        # Insertion order is sending order. Statuses have a fixed key and are replaced in place.
        self._control: dict[_Key, msgspec.Struct] = {}
        # Which edits of each scene wait there, the oldest first.
        self._edits: dict[int, dict[int, None]] = {}
        self._counted = 0
        self._numbers = itertools.count()
        self._log: collections.deque[LogEntry] = collections.deque()
        self._log_dropped = 0
        self._assets: collections.deque[AssetChunk] = collections.deque()
        self.frames = FrameQueue(limits)
        self._asset_next = False

    def put(self, message: msgspec.Struct) -> None:
        """Queue a message in its lane.

        Raises LimitExceeded when the control lane is full: the connection has to end.
        """
        if isinstance(message, Frame):
            self.frames.put(message)
        elif isinstance(message, LogEntry):
            self._put_log(message)
        elif isinstance(message, AssetChunk):
            self._assets.append(message)
        else:
            self._put_control(message, "counted")

    def put_snapshot(self, messages: Iterable[msgspec.Struct]) -> None:
        """Queue what a client is told at its start: however many scenes there are, no overflow."""
        for message in messages:
            self._put_control(message, "snapshot")

    def next(self) -> msgspec.Struct | None:
        """Return the message to send now, or None when nothing waits."""
        if self._control:
            return self._pop_control()
        if self._log:
            return self._pop_log()
        # Meshes must not hold up frames, nor frames meshes.
        if self._assets and (self._asset_next or not len(self.frames)):
            self._asset_next = False
            return self._assets.popleft()
        self._asset_next = True
        return self.frames.next()

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not (self._control or self._log or self._assets or len(self.frames))

    def next_control(self) -> msgspec.Struct | None:
        """Return the next control message only: for a connection that is ending."""
        return self._pop_control() if self._control else None

    def _put_control(self, message: msgspec.Struct, kind: str) -> None:
        if isinstance(message, SceneRemoved) and self._forget_scene(message.scene_id):
            return
        key = _replaceable(message)
        if key is None:
            key = (kind, next(self._numbers), 0)
            if kind == "counted":
                self._counted += 1
        if self._counted > self._limits.control_queue:
            raise LimitExceeded(
                f"{self._counted} control messages wait for this client, at most "
                f"{self._limits.control_queue} may: it does not read, or reads too slowly"
            )
        waiting = self._control.get(key)
        self._control[key] = message if waiting is None else _merge(waiting, message)
        if isinstance(message, SceneEdited):
            self._keep_newest_edits(message)

    def _keep_newest_edits(self, newest: SceneEdited) -> None:
        """Drop the oldest edit of the scene that waits when there are more than a scene keeps."""
        waiting = self._edits.setdefault(newest.scene_id, {})
        waiting[newest.edit_id] = None
        if len(waiting) > self._limits.edits:
            oldest = next(iter(waiting))
            del waiting[oldest]
            del self._control["scene_edited", newest.scene_id, oldest]

    def _forget_scene(self, scene_id: int) -> bool:
        """Drop what waits about a scene; True when the client was not told of it yet."""
        self.frames.discard_scene(scene_id)
        for edit_id in self._edits.pop(scene_id, ()):
            del self._control["scene_edited", scene_id, edit_id]
        waiting = [self._control.pop((kind, scene_id, 0), None) for kind in _ABOUT_SCENES]
        return any(isinstance(message, SceneAdded) for message in waiting)

    def _pop_control(self) -> msgspec.Struct:
        key = next(iter(self._control))
        kind, scene_id, edit_id = key
        if kind == "counted":
            self._counted -= 1
        elif kind == "scene_edited":
            edits = self._edits[scene_id]
            del edits[edit_id]
            if not edits:
                del self._edits[scene_id]
        return self._control.pop(key)

    def _put_log(self, entry: LogEntry) -> None:
        self._log.append(entry)
        if len(self._log) > self._limits.log_queue:
            self._log.popleft()
            self._log_dropped += 1

    def _pop_log(self) -> LogEntry:
        if not self._log_dropped:
            return self._log.popleft()
        text = f"{self._log_dropped} log entries before this one were dropped: too many at once"
        self._log_dropped = 0
        return LogEntry(level=LogLevel.WARNING, text=text, wall_time=self._log[0].wall_time)


_Key = tuple[str, int, int]
"""Kind, scene and edit, 0 where there is none; what is counted has its number instead."""


def _replaceable(message: msgspec.Struct) -> _Key | None:
    """Return the key of a message of which one at a time needs to wait."""
    if isinstance(message, _LATEST_OF_SCENE):
        return str(message.__struct_config__.tag), message.scene_id, 0
    if isinstance(message, SceneEdited):
        return "scene_edited", message.scene_id, message.edit_id
    if isinstance(message, SceneDescribed):
        return "scene_described", message.description.scene_id, 0
    if isinstance(message, SessionStatus):
        return "session_status", 0, 0
    if isinstance(message, Heartbeat):
        return "heartbeat", 0, 0
    return None


def _merge(waiting: msgspec.Struct, newer: msgspec.Struct) -> msgspec.Struct:
    """Return what to send instead of both: nearly always the newer."""
    if isinstance(waiting, SceneRestored) and isinstance(newer, SceneRestored):
        return msgspec.structs.replace(newer, count=waiting.count + newer.count)
    if isinstance(waiting, SceneChannels) and isinstance(newer, SceneChannels):
        channels = {channel.name: channel for channel in (*waiting.channels, *newer.channels)}
        return msgspec.structs.replace(newer, channels=tuple(channels.values()))
    if isinstance(waiting, SceneHistory) and isinstance(newer, SceneHistory):
        return join_histories(waiting, newer)
    return newer
