"""What other tools show of a recording: transforms, shapes, signals and events, at a low rate."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np

from stroboscope.engine.files.errors import FileWriteError
from stroboscope.engine.files.frames import BlockKind, FileEvent, RowBlock
from stroboscope.engine.files.limits import LARGEST_MESSAGE
from stroboscope.engine.files.low_rate import MessageSchema
from stroboscope.engine.files.writer import TrajectoryWriter
from stroboscope.engine.foxglove_messages import (
    LOG,
    SCENE,
    TRANSFORMS,
    SceneMessages,
    Shapes,
    encoded,
    frame_prefixes,
    log_message,
    schema_of,
)
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.recording.feed import SceneFeed

__all__ = ["ForTools", "messages_of"]

_log = logging.getLogger(__name__)

# So many triangles of one mesh; less where a file must be small.
_MOST_TRIANGLES: Final = 2_000
_BYTES_PER_TRIANGLE: Final = 50_000
# Numbers per second of wall time: more bodies are shown less often.
_NUMBERS_PER_S: Final = 20_000
# How long messages may wait to be compressed together [ns].
_WAIT_NS: Final = 1_000_000_000
_NS = 1e9


def messages_of(model: object, *, adapter: MujocoAdapter, max_size: int) -> SceneMessages:
    """Return what makes the messages of a model in files of ``max_size`` bytes."""
    most = min(_MOST_TRIANGLES, max_size // _BYTES_PER_TRIANGLE)
    return SceneMessages(model, adapter=adapter, is_exact=False, most_triangles=most)


class ForTools:
    """Writes these messages beside the blocks; on the thread that writes.

    ``hz``: transforms and signals per second of wall time, None: no messages at all. Where one
    can't be made, whatever the reason, that is logged once, and there are none from then on. Raises
    FileWriteError where the disk fails, as every other write does.
    """

    def __init__(self, hz: float | None) -> None:
        self._hz = hz
        self._feeds: dict[int, SceneFeed] = {}
        self._prefixes: dict[int, str] = {}
        self._period = 0
        self._due: dict[int, int] = {}
        self._is_told: set[int] = set()
        self._shapes: dict[int, Shapes] = {}
        self._schemas: dict[str, MessageSchema] = {}
        self._flush_at = 0
        self.chunks = 0
        """How many chunks the messages have made in the present file, about."""

    def begin(self, feeds: Iterable[SceneFeed]) -> None:
        """Learn which scenes there are."""
        self._feeds = {feed.index: feed for feed in feeds}
        records = [feed.record for feed in self._feeds.values()]
        self._prefixes = dict(zip(self._feeds, frame_prefixes(records), strict=True))

    def next_file(self) -> None:
        """Begin anew: in each file the shapes are told again, and topics have schemas."""
        self._is_told.clear()
        self._shapes.clear()
        self._schemas.clear()
        self._due.clear()
        self._period = 0
        self.chunks = 0

    def write_block(self, writer: TrajectoryWriter, block: RowBlock) -> None:
        """Show some of a block's rows."""
        self._guarded(lambda: self._block(writer, block))

    def write_events(self, writer: TrajectoryWriter, events: Sequence[FileEvent]) -> None:
        """Tell what happened."""
        self._guarded(lambda: self._events(writer, events))

    def flush(self, writer: TrajectoryWriter, now: int) -> None:
        """Write messages that wait, if they have waited for a second; ``now``: monotonic [ns]."""
        if now >= self._flush_at:
            self._flush_at = now + _WAIT_NS
            before = writer.nbytes
            writer.flush()
            self.chunks += writer.nbytes != before

    def _guarded(self, action: Callable[[], None]) -> None:
        if self._hz is None:
            return
        try:
            action()
        except FileWriteError:
            raise
        except Exception as error:  # noqa: BLE001 - it is an extra: the states are what matters
            self._hz = None
            _log.warning(
                "the recording goes on without what other tools show of it (/tf, /scene, /signals, "
                "/log): %r",
                error,
            )

    def _block(self, writer: TrajectoryWriter, block: RowBlock) -> None:
        index = block.scene
        messages = self._feeds[index].messages
        places = self._places(block, messages)
        if not places:
            return
        prefix = self._prefixes[index]
        if index not in self._is_told:
            self._is_told.add(index)
            wall = int(block.wall[0])
            # Environments of one scene share what makes their messages.
            shapes = self._shapes.get(id(messages))
            if shapes is None:
                shapes = self._shapes[id(messages)] = messages.shapes()
            update = messages.scene_update(_time(writer, wall), prefix=prefix, shapes=shapes)
            self._send(writer, "/scene", SCENE, wall, encoded(update))
        topic = f"/signals/{prefix[:-1]}" if prefix else "/signals"
        for place in places:
            row, wall = block.rows[place], int(block.wall[place])
            poses = messages.transforms(row, _time(writer, wall), prefix=prefix)
            self._send(writer, "/tf", TRANSFORMS, wall, encoded(poses))
            signals = messages.signals(row)
            schema = self._schemas.get(topic)
            if schema is None:
                schema = self._schemas[topic] = schema_of("stroboscope.Signals", signals)
            self._send(writer, topic, schema, wall, encoded(signals))

    def _places(self, block: RowBlock, messages: SceneMessages) -> list[int]:
        """Return which rows are shown: so far apart in wall time as wanted, and the last of all."""
        if not self._period:
            together = sum(feed.messages.size for feed in self._feeds.values())
            slowest = together / _NUMBERS_PER_S
            self._period = max(round(_NS * max(1.0 / (self._hz or 1.0), slowest)), 1)
        places, count = [], block.count
        due = self._due.get(block.scene)
        at = 0 if due is None else int(np.searchsorted(block.wall, due))
        while at < count:
            places.append(at)
            due = int(block.wall[at]) + self._period
            at = max(int(np.searchsorted(block.wall, due)), at + 1)
        if block.kind is BlockKind.FINAL and not places:
            places = [count - 1]
        if due is not None:
            self._due[block.scene] = due
        return places

    def _events(self, writer: TrajectoryWriter, events: Sequence[FileEvent]) -> None:
        for event in events:
            name = self._prefixes[event.scene][:-1] or self._feeds[event.scene].record.name
            line = log_message(event, _time(writer, event.wall), name=name)
            self._send(writer, "/log", LOG, event.wall, encoded(line))

    def _send(
        self, writer: TrajectoryWriter, topic: str, schema: MessageSchema, wall: int, data: bytes
    ) -> None:
        size = len(data) + len(schema.data)
        if size > LARGEST_MESSAGE // 2:
            raise ValueError(f"a message for {topic} would have {size:,} bytes")
        before = writer.nbytes
        writer.write_message(topic, "json", schema, data, _time(writer, wall))
        self.chunks += writer.nbytes != before


def _time(writer: TrajectoryWriter, wall: int) -> int:
    """Return the container's time [ns] of a monotonic time [ns]."""
    manifest = writer.manifest
    return max(round(manifest.created * _NS) - manifest.clock + wall, 0)
