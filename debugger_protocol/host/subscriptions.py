"""What one client wants of one scene, and the frames that are therefore due to it.

Server thread only. Frames are picked from the scene's slots when they are newer than what this
client has seen; signals are read from the rings behind the client's own cursors.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import pack_arrays
from stroboscope.debugger_protocol.host.publishing import PublishedFrame
from stroboscope.debugger_protocol.host.scene_link import SceneLink
from stroboscope.debugger_protocol.host.signals import (
    Ring,
    RingReader,
    RowRing,
    SignalRing,
    SignalRows,
    UserChannel,
)
from stroboscope.debugger_protocol.messages import ArrayEntry, Frame
from stroboscope.debugger_protocol.topics import Instant, Topic

__all__ = ["FramePacker", "SceneSubscription"]

_SIGNAL_FRAME_BYTES: Final = 256 << 10
# So much of rings that were replaced may wait for one client.
_KEPT_BYTES: Final = 16 << 20

Packed = tuple[tuple[ArrayEntry, ...], bytes]


class FramePacker:
    """Packs each published frame once, however many clients get it."""

    def __init__(self) -> None:
        self._packed: dict[tuple[int, Topic, Instant], tuple[PublishedFrame, Packed]] = {}

    def pack(self, scene_id: int, frame: PublishedFrame) -> Packed:
        """Return offset table and blob; raises TypeError for arrays that can't travel."""
        key = (scene_id, frame.topic, frame.instant)
        known = self._packed.get(key)
        if known is not None and known[0] is frame:
            return known[1]
        packed = pack_arrays(frame.arrays)
        self._packed[key] = (frame, packed)
        return packed

    def forget(self, scene_id: int) -> None:
        """Drop what was packed for a scene."""
        self._packed = {key: value for key, value in self._packed.items() if key[0] != scene_id}


class SceneSubscription:
    """One client's subscriptions to one scene.

    At most ``kept_bytes`` of rings that were replaced wait for the client to read them.
    """

    def __init__(self, link: SceneLink, *, kept_bytes: int = _KEPT_BYTES) -> None:
        self.link = link
        self._kept_bytes = kept_bytes
        self.described_revision: int | None = None
        self.intervals: dict[Topic, float] = {}
        self.channels: dict[str, None] = {}
        # Sequence numbers last sent and last looked at; when a topic may be sent next.
        self._sent: dict[tuple[Topic, Instant], int] = {}
        self._seen: dict[tuple[Topic, Instant], int] = {}
        self._not_before: dict[Topic, float] = {}
        # Where this client is in the ring of engine channels, and in those of user channels.
        self._reader: RingReader[SignalRing] | None = None
        self._readers: dict[str, RingReader[UserChannel]] = {}

    # --- what is wanted

    def add(self, topics: Iterable[Topic], channels: Iterable[str], *, interval: float) -> None:
        """Want these topics, at most every ``interval`` seconds, and channels of SIGNALS."""
        for topic in topics:
            self.intervals[topic] = interval
            # A new window sees the scene at once, even if it stands still.
            for instant in Instant:
                self._sent.pop((topic, instant), None)
                self._seen.pop((topic, instant), None)
            self._skip_outdated(topic)
            self._not_before.pop(topic, None)
        self.channels.update(dict.fromkeys(channels))
        if self.channels and self._reader is None:
            # Others may plot already: their past is not ours, but what is written from now on is,
            # in this ring and in the one that the owner makes for us.
            ring = self.link.newest_ring
            self._reader = RingReader(ring, start=ring.count)

    def _skip_outdated(self, topic: Topic) -> None:
        """Leave out what an edit has made wrong; the right frame is on its way."""
        publisher, key = self.link.publisher, (topic, Instant.NOW)
        frame = publisher.slots.get(key)
        if frame is not None and publisher.is_outdated(frame):
            self._sent[key] = self._seen[key] = frame.sequence

    def remove(self, topics: Iterable[Topic], channels: Iterable[str]) -> None:
        """Stop topics, or only these channels."""
        channels = tuple(channels)
        if channels:
            for channel in channels:
                self.channels.pop(channel, None)
                self._readers.pop(channel, None)
            if self.channels:
                return
        for topic in topics:
            self.intervals.pop(topic, None)
            if topic is Topic.SIGNALS:
                self.channels.clear()
                self._reader = None
                self._readers.clear()

    # --- what is due

    def frames(self, pack: FramePacker, *, now: float, standing: bool) -> Iterator[Frame]:
        """Yield the frames that this client has not seen; all of them when the scene stands."""
        slots = self.link.publisher.slots
        fresh = [
            frame
            for (topic, instant), frame in tuple(slots.items())
            if topic in self.intervals and self._sent.get((topic, instant)) != frame.sequence
        ]
        for frame in sorted(fresh, key=lambda frame: frame.clock.axis):
            key = (frame.topic, frame.instant)
            if not standing and now < self._not_before.get(frame.topic, 0.0):
                self._seen[key] = frame.sequence  # above the asked rate: not wanted, not missed
                continue
            interval = self.intervals[frame.topic]
            if frame.instant is Instant.EXECUTED:
                # A little early, or a client at the scene's own rate would miss every other one.
                self._not_before[frame.topic] = now + 0.8 * interval
            dropped = self._missed(key, frame.sequence)
            entries, blob = pack.pack(self.link.scene_id, frame)
            yield Frame(
                scene_id=self.link.scene_id,
                topic=frame.topic,
                instant=frame.instant,
                revision=frame.revision,
                axis=frame.clock.axis,
                step=frame.clock.step_count,
                time=frame.clock.time,
                dropped=dropped,
                arrays=entries,
                blob=blob,
                notes=frame.notes,
            )

    def _missed(self, key: tuple[Topic, Instant], sequence: int) -> int:
        seen = self._seen.get(key)
        self._seen[key] = self._sent[key] = sequence
        return 0 if seen is None else max(0, sequence - seen - 1)

    # --- signals

    def signals(
        self, may_send: Callable[[], bool], *, now: float, standing: bool
    ) -> Iterator[Frame]:
        """Yield the rows written since the last time, as long as ``may_send()`` allows.

        Not more often than was asked for, unless the scene stands or the ring fills up.
        """
        if Topic.SIGNALS not in self.intervals:
            return
        early = now < self._not_before.get(Topic.SIGNALS, 0.0)
        if early and not standing and not self._is_behind():
            return
        self._not_before[Topic.SIGNALS] = now + 0.8 * self.intervals[Topic.SIGNALS]
        yield from self.rest_of_signals(may_send)

    def rest_of_signals(self, may_send: Callable[[], bool]) -> Iterator[Frame]:
        """Yield the rows written since the last time, however short ago that was."""
        if Topic.SIGNALS not in self.intervals:
            return
        yield from self._engine_signals(may_send)
        for name, channel in tuple(self.link.user_channels.items()):
            if name not in self.channels:
                continue
            reader = self._readers.get(name)
            if reader is None or reader.ring is not channel:
                # What was overwritten before anybody asked is not lost.
                reader = self._readers[name] = RingReader(channel, start=channel.oldest)
            yield from self._rows(reader, {name: slice(0, channel.width)}, may_send)

    def _is_behind(self) -> bool:
        """Return whether rows would soon be overwritten before they are read."""
        reader = self._reader
        if reader is not None and (reader.ring.successor is not None or reader.is_behind):
            return True
        return any(each.is_behind for each in self._readers.values())

    def _engine_signals(self, may_send: Callable[[], bool]) -> Iterator[Frame]:
        self._give_up_oldest()
        while (reader := self._reader) is not None:
            # First looked, then read: nothing is written into a ring that has a successor.
            successor = reader.ring.successor
            yield from self._rows(reader, self._columns(reader.ring), may_send)
            if successor is None or reader.next < reader.ring.count:
                return
            self._reader = RingReader(successor, start=0, lost=reader.lost)

    def _give_up_oldest(self) -> None:
        """Let go of rings that this client leaves unread for too long; their rows are lost."""
        reader = self._reader
        if reader is None or reader.ring.successor is None:
            return
        rings = [reader.ring]
        while (successor := rings[-1].successor) is not None:
            rings.append(successor)
        kept = sum(ring.kept_bytes for ring in rings)
        lost = reader.lost
        start = reader.next
        while kept > self._kept_bytes and len(rings) > 1:
            oldest = rings.pop(0)
            kept -= oldest.kept_bytes
            if self._columns(oldest):
                lost += oldest.count - start
            start = 0
        self._reader = RingReader(rings[0], start=start, lost=lost)

    def _columns(self, ring: SignalRing) -> dict[str, slice]:
        return {name: ring.columns[name] for name in self.channels if name in ring.columns}

    def _rows(
        self, reader: RingReader[Ring], columns: dict[str, slice], may_send: Callable[[], bool]
    ) -> Iterator[Frame]:
        if not columns:
            reader.next = reader.ring.count
            return
        limit = max(1, _SIGNAL_FRAME_BYTES // (8 * (reader.ring.width + 2)))
        while reader.next < reader.ring.count and may_send():
            rows = reader.read(limit)
            if len(rows.axis):
                yield self._signal_frame(rows, columns, reader.ring)

    def _signal_frame(self, rows: SignalRows, columns: dict[str, slice], ring: RowRing) -> Frame:
        arrays: dict[str, NDArray[np.generic]] = {"axis": rows.axis, "time": rows.time}
        for name, columns_of in columns.items():
            arrays[name] = rows.values[:, columns_of]
        entries, blob = pack_arrays(arrays)
        clock = self.link.clock
        return Frame(
            scene_id=self.link.scene_id,
            topic=Topic.SIGNALS,
            instant=Instant.EXECUTED,
            revision=ring.revision if isinstance(ring, SignalRing) else self.link.revision,
            axis=int(rows.axis[-1]),
            step=clock.step_count if clock is not None else 0,
            time=float(rows.time[-1]),
            dropped=rows.lost,
            arrays=entries,
            blob=blob,
        )
