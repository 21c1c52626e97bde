"""Writing a trajectory: what was written before stays readable, whatever happens next."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.block import EncodedBlock, encode_block, placed
from stroboscope.engine.files.block_head import NOWHERE
from stroboscope.engine.files.chunk_index import ChunkKind, block_entry, low_rate_entry
from stroboscope.engine.files.chunk_log import ChunkLog
from stroboscope.engine.files.compression import Compressor
from stroboscope.engine.files.container import (
    MAGIC,
    MESSAGE_HEAD,
    Opcode,
    attachment_index_record,
    attachment_pieces,
    attachment_record,
    channel_record,
    chunk_head_bytes,
    chunk_index_record,
    chunk_record,
    footer_record,
    mapping,
    message_index_record,
    message_record,
    metadata_index_record,
    record,
    schema_record,
    statistics_record,
    string,
)
from stroboscope.engine.files.contents import PROFILE
from stroboscope.engine.files.disk import Disk, in_large_pieces, write_all
from stroboscope.engine.files.errors import FileWriteError
from stroboscope.engine.files.fate import Fate, fate_of, is_cut, name_of
from stroboscope.engine.files.frames import FileEvent, Manifest, RowBlock, SceneRecord
from stroboscope.engine.files.json_values import encode_json
from stroboscope.engine.files.limits import LARGEST_ATTACHMENT, LARGEST_MESSAGE
from stroboscope.engine.files.low_rate import (
    EVENT_SCHEMA,
    MessageSchema,
    encode_samples,
    events_topic,
    signal_schema,
    signal_topic,
    state_topic,
)
from stroboscope.engine.files.low_rate_chunks import Message
from stroboscope.engine.files.manifest import INDEX_NAME, MANIFEST_NAME, pack_manifest
from stroboscope.engine.files.new_file import NewFile, advice_on

__all__ = ["TrajectoryWriter"]

# Messages that come one by one are written when so many bytes of them wait.
_WAITING_BYTES = 64 << 10
# And a chunk of them has no more than that, so that reading one event takes little memory.
_CHUNK_BYTES = 4 << 20
_JSON, _BINARY = "application/json", "application/octet-stream"
_LAST_TIME = (1 << 63) - 1
# Bytes of an attachment's name.
_LONGEST_NAME = 255


class _Channel:
    """A channel, its schema, and how much of it there is."""

    __slots__ = ("declared", "messages", "number", "schema")

    def __init__(self, number: int, declared: bytes, schema: bytes) -> None:
        self.number = number
        self.declared = declared
        self.schema = schema
        self.messages = 0


class TrajectoryWriter:
    """Writes one file, every block with one call of the system; one thread at a time.

    ``manifest``: its ``attachments`` are filled in here. ``attachments``: by name; models and the
    like. ``overwrite``: a file that is there is replaced when this one has begun; who reads it
    keeps it, and one that is being written is refused. Each method
    raises FileWriteError when the disk does not take what it is given: the file ends behind what
    was written before then, stays a valid log, and what failed may be tried again.
    """

    def __init__(
        self,
        path: str | Path,
        manifest: Manifest,
        *,
        attachments: Mapping[str, bytes],
        disk: Disk | None = None,
        overwrite: bool = True,
    ) -> None:
        self.path = Path(path)
        self._disk = disk or Disk()
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in attachments.items()}
        self.manifest = msgspec.structs.replace(manifest, attachments=digests)
        for name, data in attachments.items():
            if len(data) > LARGEST_ATTACHMENT or not 0 < len(name.encode()) <= _LONGEST_NAME:
                raise ValueError(
                    f"an attachment has at most {LARGEST_ATTACHMENT:,} bytes and a name of 1 to "
                    f"{_LONGEST_NAME}; {name!r} has {len(data):,}"
                )
            if name in (MANIFEST_NAME, INDEX_NAME):
                raise ValueError(f"the name {name!r} is taken: give the attachment another one")
        self._manifest_bytes = pack_manifest(self.manifest)
        self._scenes: dict[int, SceneRecord] = {scene.index: scene for scene in manifest.scenes}
        self._origin = round(manifest.created * 1e9) - manifest.clock
        self._compress = Compressor()
        self._channels: dict[str, _Channel] = {}
        self._states: dict[int, _Channel] = {}
        self._schemas: dict[MessageSchema, tuple[int, bytes]] = {}
        self._previous: dict[int, int] = {}
        self._chunks = ChunkLog()
        self._attachment_indexes: list[bytes] = []
        self._times: tuple[int, int] | None = None
        self._waiting: list[tuple[_Channel, int, bytes]] = []
        self._waiting_bytes = 0
        self._at = 0
        self._crc = 0
        self._broken = self._is_cut = False
        self._descriptor = -1
        self._create(overwrite, attachments)

    def __enter__(self) -> "TrajectoryWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def fate(self) -> Fate:
        """Return what others have done to the file; ``path`` is its name of now if it was moved."""
        if self._descriptor < 0:
            return Fate.THERE
        fate = fate_of(self.path, self._descriptor, nbytes=self._at)
        if self._is_cut:
            return Fate.CUT
        if fate is Fate.MOVED:
            self.path = name_of(self._descriptor) or self.path
        return fate

    @property
    def nbytes(self) -> int:
        """How many bytes the file has; closing it adds some 170 per block."""
        return self._at

    # --- what is written

    def write_block(self, block: RowBlock) -> None:
        """Write some frames; raises ValueError when they are none of a scene of this file."""
        scene = self._scene(block.scene)
        if block.rows.shape[1:] != (scene.width,):
            raise ValueError(
                f"rows of scene {scene.index} have {scene.width:,} columns, these have the shape "
                f"{block.rows.shape}"
            )
        encoded = encode_block(block, compress=self._compress, inputs=scene.inputs)
        self.write_encoded_block(block.scene, encoded)

    def write_encoded_block(self, scene: int, block: EncodedBlock) -> None:
        """Write a block of another file as it is, but for its place."""
        head, _ = block
        channel = self._states.get(scene)
        if channel is None:
            metadata = _state_metadata(self._scene(scene))
            channel = self._channel(state_topic(scene), "x-stroboscope-block", None, metadata)
            self._states[scene] = channel
        time = self._log_time(head.first_wall)
        declaration = b"" if channel.messages else channel.declared
        at = self._at
        previous = self._previous.get(scene, NOWHERE)
        data = placed(block, scene=scene, chunk=at, previous=previous)
        message = message_record(
            channel.number, sequence=channel.messages, log_time=time, data=data
        )
        within = len(declaration)
        head_bytes = chunk_head_bytes("")

        def entry(chunk_bytes: int) -> bytes:
            return block_entry(
                head._replace(scene=scene),
                chunk=at,
                chunk_bytes=chunk_bytes,
                block=at + head_bytes + within + MESSAGE_HEAD,
            )

        self._write_chunk(declaration + message, {channel: [(time, within)]}, entry, compress=False)
        self._previous[scene] = at

    def write_events(self, events: Sequence[FileEvent]) -> None:
        """Write what happened, at once; raises ValueError for scenes that are not in the file."""
        messages = []
        for event in events:
            topic = events_topic(self._scene(event.scene).index)
            channel = self._channel(topic, "json", EVENT_SCHEMA, {})
            messages.append((channel, self._log_time(event.wall), encode_json(event)))
        self._write_messages(messages, ChunkKind.EVENTS)

    def write_signals(
        self,
        scene: int,
        name: str,
        axes: NDArray[np.int64],
        times: NDArray[np.float64],
        values: NDArray[np.float64],
        *,
        wall: NDArray[np.int64] | None = None,
        names: Sequence[str] = (),
    ) -> None:
        """Write samples of a user's channel: ``axes``, ``times`` [s], ``wall`` [ns] (n,) each.

        ``values``: (n,) or (n, k); ``names``: of the k. A channel keeps its k and its names;
        raises ValueError otherwise.
        """
        self._scene(scene)
        axes, times = np.asarray(axes, dtype=np.int64), np.asarray(times, dtype=np.float64)
        values = np.asarray(values, dtype=np.float64)
        walls = np.zeros(len(axes), dtype=np.int64) if wall is None else np.asarray(wall)
        width = values.shape[1] if values.ndim == 2 else None
        if not (axes.shape == times.shape == walls.shape == values.shape[:1]) or values.ndim > 2:
            raise ValueError(
                f"samples of {name!r} have the shapes {axes.shape}, {times.shape}, {values.shape}; "
                "these are (n,), (n,) and (n,) or (n, k)"
            )
        if names and (width != len(names) or len(set(names)) != len(names)):
            raise ValueError(f"{width} values of {name!r} can't have the names {list(names)}")
        schema = signal_schema(width, names)
        metadata = {"name": name, "scene": str(scene), "width": str(width or "")}
        channel = self._channel(signal_topic(scene, name), "json", schema, metadata)
        log_times = map(self._log_time, walls.tolist())
        samples = encode_samples(axes, times, values, names)
        messages = [(channel, t, data) for t, data in zip(log_times, samples, strict=True)]
        self._write_messages(messages, ChunkKind.SIGNALS)

    def write_message(
        self, topic: str, encoding: str, schema: MessageSchema | None, data: bytes, log_time: int
    ) -> None:
        """Write a message of another kind, for other tools; it may wait until :meth:`flush`.

        ``log_time`` [ns]: as of the manifest. Raises ValueError for topics of our own, and for a
        topic with another encoding or schema than before.
        """
        if topic.startswith("/stroboscope/"):
            raise ValueError(f"the topic {topic!r} is one of Stroboscope's own: take another name")
        channel = self._channel(topic, encoding, schema, {})
        self._waiting.append((channel, min(max(log_time, 0), _LAST_TIME), bytes(data)))
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= _WAITING_BYTES:
            self.flush()

    def copy_messages(self, messages: Iterable[Message], kind: ChunkKind) -> None:
        """Write messages of another file as they are, all of one kind."""
        copies = []
        for channel, log_time, data in messages:
            schema = None if channel.schema is None else MessageSchema(*channel.schema)
            mine = self._channel(channel.topic, channel.encoding, schema, channel.metadata)
            copies.append((mine, min(log_time, _LAST_TIME), data))
        self._write_messages(copies, kind)

    def flush(self) -> None:
        """Write the messages that wait; the system has all of the file then."""
        waiting = self._waiting
        if waiting:
            self._write_messages(waiting, ChunkKind.MESSAGES)
            self._waiting, self._waiting_bytes = [], 0

    def close(self) -> None:
        """Write what makes the file quick to open, and wait for the disk; more than once is fine.

        When that fails, what was written before is a valid log all the same.
        """
        if self._descriptor < 0:
            return
        try:
            self.flush()
            begin = self._at
            try:
                for piece in in_large_pieces(self._end()):
                    self._write(piece)
            except BaseException:
                # A part of an index is no use to anybody.
                self._at = begin
                self._take_back()
                raise
            self._disk.fsync(self._descriptor)
        except OSError as error:
            raise self._error("can't be finished", error) from error
        finally:
            self._close()

    def abandon(self) -> None:
        """Close the file as it is: a valid log without an index."""
        self._close()

    # --- channels

    def _scene(self, index: int) -> SceneRecord:
        scene = self._scenes.get(index)
        if scene is None:
            raise ValueError(
                f"{self.path} has no scene {index}, it has {sorted(self._scenes)}: all scenes of "
                "a file are in its manifest"
            )
        return scene

    def _log_time(self, wall: int) -> int:
        """Return the container's time [ns] of a monotonic time [ns]."""
        return min(max(self._origin + wall, 0), _LAST_TIME)

    def _channel(
        self,
        topic: str,
        encoding: str,
        schema: MessageSchema | None,
        metadata: Mapping[str, str],
    ) -> _Channel:
        number, declared_schema = 0, b""
        if schema is not None:
            known = self._schemas.get(schema)
            if known is None:
                new = len(self._schemas) + 1
                known = self._schemas[schema] = (new, schema_record(new, *schema))
            number, declared_schema = known
        channel = self._channels.get(topic)
        declared = declared_schema + channel_record(
            channel.number if channel else len(self._channels) + 1,
            schema=number,
            topic=topic,
            encoding=encoding,
            metadata=metadata,
        )
        if channel is None:
            if len(self._channels) >= 0xFFFF:
                raise ValueError(f"{self.path} has {len(self._channels):,} topics, more can't be")
            channel = _Channel(len(self._channels) + 1, declared, declared_schema)
            self._channels[topic] = channel
        elif channel.declared != declared:
            raise ValueError(
                f"the topic {topic!r} has another encoding, schema or other names than before: a "
                "topic keeps its own"
            )
        return channel

    # --- chunks

    def _write_messages(
        self, messages: Sequence[tuple[_Channel, int, bytes]], kind: ChunkKind
    ) -> None:
        at = 0
        while at < len(messages):
            parts: list[bytes] = []
            places: dict[_Channel, list[tuple[int, int]]] = {}
            size = 0
            while at < len(messages) and (not size or size < _CHUNK_BYTES):
                channel, time, data = messages[at]
                if len(data) + len(channel.declared) > LARGEST_MESSAGE:
                    raise ValueError(
                        f"a message has at most {LARGEST_MESSAGE:,} bytes with its schema, this "
                        f"one {len(data) + len(channel.declared):,}: write less at once"
                    )
                if channel not in places and not channel.messages:
                    parts.append(channel.declared)
                    size += len(channel.declared)
                entries = places.setdefault(channel, [])
                entries.append((time, size))
                parts.append(
                    message_record(
                        channel.number,
                        sequence=channel.messages + len(entries) - 1,
                        log_time=time,
                        data=data,
                    )
                )
                size += len(parts[-1])
                at += 1
            begin = self._at

            def entry(chunk_bytes: int, begin: int = begin) -> bytes:
                return low_rate_entry(kind, chunk=begin, chunk_bytes=chunk_bytes)

            self._write_chunk(b"".join(parts), places, entry, compress=True)

    def _write_chunk(
        self,
        records: bytes,
        places: Mapping[_Channel, list[tuple[int, int]]],
        entry: Callable[[int], bytes],
        *,
        compress: bool,
    ) -> None:
        """Write a chunk and the index of its messages, and note both once that is done."""
        compression = "zstd" if compress else ""
        stored = self._compress(records) if compress else records
        all_times = [time for entries in places.values() for time, _ in entries]
        times = (min(all_times), max(all_times))
        chunk = chunk_record(
            stored, crc=crc32(records), size=len(records), times=times, compression=compression
        )
        at, indexes, index_at = self._at, {}, self._at + len(chunk)
        index_records = []
        for channel, entries in places.items():
            index_records.append(message_index_record(channel.number, entries))
            indexes[channel.number] = index_at
            index_at += len(index_records[-1])
        self._write(b"".join((chunk, *index_records)))
        for channel, entries in places.items():
            channel.messages += len(entries)
        first, last = self._times or times
        self._times = (min(first, times[0]), max(last, times[1]))
        if not compress:
            self._chunks.add_block(entry(len(chunk)))
            return
        index = chunk_index_record(
            offset=at,
            length=len(chunk),
            times=times,
            indexes=indexes,
            index_bytes=index_at - at - len(chunk),
            compression=compression,
            sizes=(len(stored), len(records)),
        )
        self._chunks.add_low_rate(entry(len(chunk)), index)

    # --- the beginning and the end

    def _create(self, overwrite: bool, attachments: Mapping[str, bytes]) -> None:
        try:
            new = NewFile(self.path, disk=self._disk, overwrite=overwrite)
        except OSError as error:
            raise self._error("can't be created", error) from error
        try:
            self._descriptor = new.descriptor
            self._begin(attachments)
            try:
                self._descriptor = new.begun()
            except OSError as error:
                raise self._error("can't be replaced", error) from error
        except BaseException:  # Ctrl+C as well
            self._descriptor = -1
            new.discard()
            raise

    def _begin(self, attachments: Mapping[str, bytes]) -> None:
        manifest = self.manifest
        hint = {
            "format": str(manifest.format),
            "uuid": manifest.uuid,
            "mode": ",".join(sorted({str(scene.mode) for scene in manifest.scenes})),
            "model_sha256": ",".join(sorted({scene.model_digest for scene in manifest.scenes})),
            "manifest_crc32": f"{crc32(self._manifest_bytes):08x}",
        }
        library = f"stroboscope {manifest.stroboscope}"
        head = MAGIC + record(Opcode.HEADER, string(PROFILE), string(library))
        metadata = record(Opcode.METADATA, string("stroboscope"), mapping(hint))
        self._metadata_index = metadata_index_record(
            "stroboscope", offset=len(head), length=len(metadata)
        )
        self._write(head + metadata)
        self._attach(MANIFEST_NAME, self._manifest_bytes)
        for name, data in attachments.items():
            self._attach(name, data)

    def _attach(self, name: str, data: bytes) -> None:
        at = self._at
        written, index = self._attachment(name, data, at)
        self._write(written)
        self._attachment_indexes.append(index)

    def _attachment(self, name: str, data: bytes, at: int) -> tuple[bytes, bytes]:
        """Return the record of an attachment at a place, and that of its index."""
        kind = _JSON if name.endswith(".json") else _BINARY
        time = self._log_time(self.manifest.clock)
        written = attachment_record(name, kind, data, log_time=time)
        index = attachment_index_record(
            name, kind, offset=at, length=len(written), log_time=time, size=len(data)
        )
        return written, index

    def _end(self) -> Iterator[bytes]:
        """Yield all that follows the last chunk, piece by piece: the indexes may be large."""
        begin, at, crc = self._at, self._at, self._crc
        kind, time, size = _BINARY, self._log_time(self.manifest.clock), self._chunks.entry_bytes
        for piece in attachment_pieces(
            INDEX_NAME, kind, self._chunks.entries(), size=size, log_time=time
        ):
            yield piece
            at, crc = at + len(piece), crc32(piece, crc)
        of_index = attachment_index_record(
            INDEX_NAME, kind, offset=begin, length=at - begin, log_time=time, size=size
        )
        # Once more, as nothing in the file can be understood without it.
        again, of_again = self._attachment(MANIFEST_NAME, self._manifest_bytes, at)
        data_end = record(Opcode.DATA_END, crc32(again, crc).to_bytes(4, "little"))
        yield again + data_end
        start = at + len(again) + len(data_end)
        attachments = [*self._attachment_indexes, of_index, of_again]
        used = [channel for channel in self._channels.values() if channel.messages]
        groups: list[tuple[Opcode, bytes]] = [
            (Opcode.SCHEMA, b"".join(dict.fromkeys(channel.schema for channel in used))),
            (Opcode.CHANNEL, b"".join(c.declared[len(c.schema) :] for c in used)),
            (
                Opcode.STATISTICS,
                statistics_record(
                    schemas=len({channel.schema for channel in used} - {b""}),
                    attachments=len(attachments),
                    metadata=1,
                    chunks=self._chunks.count,
                    times=self._times or (0, 0),
                    messages={channel.number: channel.messages for channel in used},
                ),
            ),
            (Opcode.ATTACHMENT_INDEX, b"".join(attachments)),
            (Opcode.METADATA_INDEX, self._metadata_index),
        ]
        summary = b"".join(data for _, data in groups)
        yield summary
        crc = crc32(summary)
        channels = {scene: channel.number for scene, channel in self._states.items()}
        for piece in self._chunks.index_records(channels=channels, log_time=self._log_time):
            yield piece
            crc = crc32(piece, crc)
        sizes = [(opcode, len(data)) for opcode, data in groups]
        sizes.append((Opcode.CHUNK_INDEX, self._chunks.index_record_bytes))
        offsets, at = [], start
        for opcode, size in sizes:
            if size:
                place = at.to_bytes(8, "little") + size.to_bytes(8, "little")
                offsets.append(record(Opcode.SUMMARY_OFFSET, bytes([opcode]), place))
            at += size
        last = b"".join(offsets)
        footer = footer_record(crc32(last, crc), summary_start=start, offset_start=at)
        yield b"".join((last, footer, MAGIC))

    # --- the disk

    def _write(self, data: bytes) -> None:
        if self._broken or self._descriptor < 0:
            why = "what failed before could not be taken back" if self._broken else "it is closed"
            raise FileWriteError(self.path, f"can't be written ({why})", "record into a new file")
        # Afterwards it is as long as it should be, with zeros in the place of what was there.
        self._is_cut = self._is_cut or is_cut(self._descriptor, nbytes=self._at)
        try:
            write_all(self._disk, self._descriptor, data)
        except OSError as error:
            self._take_back()
            raise self._error("can't be written", error) from error
        except BaseException:  # Ctrl+C in the middle of it
            self._take_back()
            raise
        self._at += len(data)
        self._crc = crc32(data, self._crc)

    def _take_back(self) -> None:
        """Cut off what was written of a record that failed."""
        try:
            self._disk.truncate(self._descriptor, self._at)
        except OSError:
            self._broken = True

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            try:
                self._disk.close(descriptor)
            except OSError as error:
                raise self._error("can't be closed", error) from error

    def _error(self, what: str, error: OSError) -> FileWriteError:
        reason = error.strerror or str(error)
        return FileWriteError(self.path, f"{what} ({reason})", advice_on(error, self.path))


def _state_metadata(scene: SceneRecord) -> dict[str, str]:
    """Return what tools that don't read the manifest may want to know of a scene's blocks."""
    segments: Iterable[str] = (f"{s.name}:{s.begin}:{s.count}" for s in scene.columns)
    return {
        "width": str(scene.width),
        "codec": "delta-zigzag-planes-zstd",
        "mode": str(scene.mode),
        "sig": scene.model_digest,
        "segments": ",".join(segments),
    }
