"""Reading a trajectory: bounded before anything is allocated, checked before it is believed."""

import contextlib
import hashlib
import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from zlib import crc32

import numpy as np

from stroboscope.engine.files.block import EncodedBlock, decode_block
from stroboscope.engine.files.block_head import HEAD_BYTES, BlockError, BlockHead
from stroboscope.engine.files.checksums import chunk_damage, data_damage
from stroboscope.engine.files.chunk_index import BlockIndex, ChunkKind
from stroboscope.engine.files.compression import Decompressor
from stroboscope.engine.files.contents import FileContents, other_program, read_attachment
from stroboscope.engine.files.damage import Damage
from stroboscope.engine.files.errors import FileDamagedError, FileError, FileFormatError
from stroboscope.engine.files.frames import FileEvent, Manifest, RowBlock, SceneRecord
from stroboscope.engine.files.happenings import FileEvents, FileSignals
from stroboscope.engine.files.low_rate import Signal
from stroboscope.engine.files.low_rate_chunks import LowRateChunks, Message
from stroboscope.engine.files.manifest import MANIFEST_NAME, unpack_manifest
from stroboscope.engine.files.source import ByteSource

__all__ = ["TrajectoryReader"]

# Decoded blocks that are kept: so many, and so many bytes of their rows.
_KEPT_BLOCKS = 16
_KEPT_BYTES = 64 << 20


class TrajectoryReader:
    """Reads one file; one thread at a time, any thread.

    Raises FileFormatError for files of other kinds, FileVersionError for newer ones,
    FileDamagedError when nothing can be made of it. A file that was cut off opens, and says so:
    ``complete``, ``damage``.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._decompress = Decompressor()
        self._source = ByteSource(self.path)
        try:
            self._contents = FileContents(self._source)
            self.manifest: Manifest = self._read_manifest()
        except BaseException:
            self._source.close()
            raise
        self._records: dict[int, SceneRecord] = {s.index: s for s in self.manifest.scenes}
        self._indexes: dict[int, BlockIndex] = {}
        self._kept: OrderedDict[tuple[int, int], RowBlock] = OrderedDict()
        self._kept_bytes = 0
        self._events: FileEvents | None = None
        self._signals: FileSignals | None = None
        self._found: dict[object, Damage] = {}
        self.made: dict[str, object] = {}
        """What somebody has made of an attachment, by its name, while the file is open."""

    def __enter__(self) -> "TrajectoryReader":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go; more than once is fine."""
        self._source.close()
        self._kept.clear()
        self._kept_bytes = 0
        self.made.clear()

    # --- the file as a whole

    @property
    def complete(self) -> bool:
        """Whether the file was closed by its writer, and its index is intact."""
        return self._contents.complete

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What is known to be wrong; grows when something damaged is read."""
        return (*self._contents.damage, *self._found.values())

    @property
    def nbytes(self) -> int:
        """How many bytes the file has, as far as was looked."""
        return self._source.size

    def follow(self) -> bool:
        """Look for what was appended since, to a file still being written; whether there is any."""
        grown = self._contents.follow()
        if grown:
            self._indexes.clear()
        return grown

    def check(self, progress: Callable[[float], None] | None = None) -> tuple[Damage, ...]:
        """Read all of the file, compare every checksum, and return what is wrong with it.

        ``progress`` is told how much is done, 0 to 1; what it raises ends the work.
        """
        progress = progress or (lambda done: None)
        order = self.block_order()
        steps = 2 * len(order) + self.nbytes // (1 << 20) + 1
        for done, place in enumerate(order):
            progress(done / steps)
            with contextlib.suppress(FileDamagedError):
                self.block(*place)
        for scene in self.scenes:
            self.events(scene)
            self.signals(scene)
        for _ in self.messages():
            pass
        for name in self.attachments:
            try:
                self.attachment(name)
            except FileError as error:
                self._found.setdefault(name, Damage(what=error.wrong, offset=0))
        source, contents = self._source, self._contents
        for done, damage in enumerate(
            itertools.chain(chunk_damage(source, contents), data_damage(source, contents)),
            start=len(order),
        ):
            progress(min(done / steps, 1.0))
            if damage is not None:
                self._found.setdefault((damage.what, damage.offset), damage)
        progress(1.0)
        return self.damage

    @property
    def attachments(self) -> tuple[str, ...]:
        """The names of what else is in the file."""
        return tuple(self.manifest.attachments)

    def attachment(self, name: str) -> bytes:
        """Return an attachment; raises FileError when there is none, FileDamagedError."""
        expected = self.manifest.attachments.get(name)
        places = [place for place in self._contents.attachments if place.name == name]
        if expected is None or not places:
            has = ", ".join(map(repr, self.manifest.attachments)) or "none"
            raise FileError(
                self.path, f"has no attachment {name!r}", f"what it names: {has}; see its damage"
            )
        data = read_attachment(self._source, places[0])
        if hashlib.sha256(data).hexdigest() != expected:
            raise FileDamagedError(
                self.path,
                f"has another attachment {name!r} than its manifest says (sha256)",
                "take it from its source again",
            )
        return data

    # --- frames

    @property
    def scenes(self) -> tuple[int, ...]:
        """The indexes of the scenes; see the manifest."""
        return tuple(self._records)

    def scene(self, index: int) -> SceneRecord:
        """Return what the manifest says about a scene; raises FileError when there is none."""
        record = self._records.get(index)
        if record is None:
            raise FileError(
                self.path, f"has no scene {index}", f"its scenes are {sorted(self._records)}"
            )
        return record

    def index(self, scene: int) -> BlockIndex:
        """Return where the blocks of a scene are."""
        index = self._indexes.get(scene)
        if index is None:
            self.scene(scene)
            entries = self._contents.entries
            mine = (entries["scene"] == scene) & (entries["kind"] < ChunkKind.EVENTS)
            index = self._indexes[scene] = BlockIndex.of(entries[mine])
        return index

    def block_order(self) -> list[tuple[int, int]]:
        """Return the scene and the number of each block, in the order of the file."""
        entries = self._contents.entries
        scenes = entries["scene"][entries["kind"] < ChunkKind.EVENTS].tolist()
        numbers = dict.fromkeys(self._records, -1)
        order = []
        for scene in scenes:
            if scene in numbers:  # others are of no scene of the manifest
                numbers[scene] += 1
                order.append((scene, numbers[scene]))
        return order

    def frame_count(self, scene: int) -> int:
        """Return how many frames of a scene there are, the final ones included."""
        return self.index(scene).total

    def locate(self, scene: int, frame: int) -> tuple[int, int]:
        """Return in which block a frame stands, and in which row of it; raises IndexError."""
        return self.index(scene).locate(frame)

    def find_axis(self, scene: int, axis: int) -> int | None:
        """Return the first frame before which so many physics steps were ever taken; or None.

        Raises FileDamagedError when the block that has it is damaged.
        """
        index = self.index(scene)
        block = int(np.searchsorted(index.last_axis, axis))
        if block == len(index) or index.first_axis[block] > axis:
            return None
        axes = self.block(scene, block).axes
        row = int(np.searchsorted(axes, axis))
        return int(index.frames[block]) + row if row < len(axes) and axes[row] == axis else None

    def block(self, scene: int, number: int) -> RowBlock:
        """Return a block, whose arrays can't be written to; raises IndexError.

        Raises FileDamagedError when it is damaged: its frames are lost, those of others are not.
        """
        key = (scene, number)
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        head, body = self._read_block(scene, number)  # decoding compares its checksum
        try:
            block = decode_block(head, memoryview(body), decompress=self._decompress)
        except BlockError as error:
            raise self._lost(scene, number, error) from error
        for array in (block.rows, block.axes, block.steps, block.timesteps, block.wall):
            array.setflags(write=False)
        self._kept[key] = block
        self._kept_bytes += block.rows.nbytes
        while len(self._kept) > _KEPT_BLOCKS or (
            self._kept_bytes > _KEPT_BYTES and len(self._kept) > 1
        ):
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= oldest.rows.nbytes
        return block

    def encoded_block(self, scene: int, number: int) -> EncodedBlock:
        """Return the head and the bytes of a block, whose checksum was compared; see block()."""
        head, body = self._read_block(scene, number)
        if crc32(body) != head.body_crc:
            raise self._lost(scene, number, BlockError("the checksum of its bytes is wrong"))
        return head, body

    def _read_block(self, scene: int, number: int) -> EncodedBlock:
        """Return the head and the bytes of a block, which is the one that the index says."""
        index = self.index(scene)
        if not 0 <= number < len(index):
            raise IndexError(f"there is no block {number:,}: blocks are 0 to {len(index) - 1:,}")
        offset, nbytes = int(index.offset[number]), int(index.nbytes[number])
        data = self._source.read(offset, nbytes)
        try:
            head = BlockHead.unpacked(data)
            body = data[HEAD_BYTES:]
            if head.width != self._records[scene].width:
                raise BlockError(f"its rows have {head.width:,} columns")
            if (head.scene, head.rows, head.kind, head.nbytes) != (
                scene,
                index.count[number],
                index.kind[number],
                nbytes,
            ) or head.first_axis != index.first_axis[number]:
                raise BlockError("it is another block than the index says")
        except BlockError as error:
            raise self._lost(scene, number, error) from error
        return head, body

    def _lost(self, scene: int, number: int, error: BlockError) -> FileDamagedError:
        index = self.index(scene)
        frames = (int(index.frames[number]), int(index.frames[number + 1]))
        damage = Damage(
            what=f"block {number:,} of scene {scene} is damaged: {error}",
            offset=int(index.offset[number]),
            nbytes=int(index.nbytes[number]),
            scene=scene,
            frames=frames,
            axes=(int(index.first_axis[number]), int(index.last_axis[number])),
        )
        self._found.setdefault((scene, number), damage)
        return FileDamagedError(
            self.path, f"is damaged {damage}", "go to a frame before or after these"
        )

    # --- events and signals

    def events(self, scene: int) -> tuple[FileEvent, ...]:
        """Return what happened in a scene, in the order of the file.

        What is damaged is left out, and in ``damage``.
        """
        self.scene(scene)
        if self._events is None:
            self._events = FileEvents(self._chunks(), self._note_bad_message)
        self._events.go_on(self._contents.entries)
        return self._events.of(scene)

    def signals(self, scene: int) -> tuple[str, ...]:
        """Return the names of the signals of a scene."""
        self.scene(scene)
        return self._all_signals().names(scene)

    def signal(self, scene: int, name: str) -> Signal:
        """Return the samples of a signal; raises FileError when there is none of that name.

        Its arrays can't be written to.
        """
        self._check_signal(scene, name)
        return self._all_signals().signal(scene, name)

    def signal_names(self, scene: int, name: str) -> tuple[str, ...]:
        """Return what the k values of a signal are called; empty where they have no names."""
        self._check_signal(scene, name)
        return self._all_signals().value_names(scene, name)

    def messages(self, kind: ChunkKind | None = None) -> Iterator[Message]:
        """Yield the messages of all topics in the order of the file, but for blocks of rows.

        ``kind``: at least those of this kind. What is damaged is left out, and in ``damage``.
        """
        return itertools.chain.from_iterable(self._chunks().read(self._contents.entries, kind))

    def _chunks(self) -> LowRateChunks:
        return LowRateChunks(
            self._source,
            self._decompress,
            self._note_bad_chunk,
            declared=self._contents.declared,
        )

    def _all_signals(self) -> FileSignals:
        if self._signals is None:
            self._signals = FileSignals(self._chunks(), self._note_bad_message)
        self._signals.go_on(self._contents.entries)
        return self._signals

    def _check_signal(self, scene: int, name: str) -> None:
        names = self.signals(scene)
        if name not in names:
            has = ", ".join(map(repr, names)) or "none"
            raise FileError(self.path, f"has no signal {name!r}", f"signals of the scene: {has}")

    def _note_bad_chunk(self, damage: Damage) -> None:
        self._found.setdefault(damage.offset, damage)

    def _note_bad_message(self, topic: str, why: object) -> None:
        damage = Damage(what=f"a message of {topic} can't be read: {why}", offset=0)
        self._found.setdefault(topic, damage)

    # --- the manifest

    def _read_manifest(self) -> Manifest:
        places = [each for each in self._contents.attachments if each.name == MANIFEST_NAME]
        damaged: FileError | None = None
        for place in places:
            try:
                return unpack_manifest(self.path, read_attachment(self._source, place))
            except FileDamagedError as error:
                damaged = error
        other = other_program(self._source)
        if other and not places:
            raise FileFormatError(
                self.path,
                f"is an MCAP file of another program ({other})",
                "open it with that one; this opens what Stroboscope has recorded",
            )
        raise damaged or FileDamagedError(
            self.path,
            "has no manifest, which says what its numbers are: it was cut off right at its "
            "beginning, or is none of ours",
            "record it again, or open a file that Stroboscope has written",
        )
