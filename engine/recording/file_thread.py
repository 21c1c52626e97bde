"""The thread that writes one recording: rows that were counted, at most a quarter second late."""

import contextlib
import functools
import logging
import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import numpy as np

from stroboscope.engine.errors import EngineError
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.errors import FileWriteError
from stroboscope.engine.files.fate import Fate
from stroboscope.engine.files.frames import FileEvent, Manifest, RowBlock
from stroboscope.engine.files.in_use import refuse_if_written, writer_of
from stroboscope.engine.files.writer import TrajectoryWriter
from stroboscope.engine.recording.block_builder import BlockBuilder
from stroboscope.engine.recording.doubts import unseen_event
from stroboscope.engine.recording.feed import (
    Attachments,
    FinalRow,
    NewModel,
    SceneFeed,
    Value,
    wall_ns,
)
from stroboscope.engine.recording.for_tools import ForTools
from stroboscope.engine.recording.left_out import LeftOut, left_out_of
from stroboscope.engine.recording.rows_entry import RowSource
from stroboscope.engine.recording.trajectory_file import TrajectoryFile

__all__ = ["FileThread"]

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

FLUSH_S: Final = 0.2
"""How old rows may get before they are written [s]: in the file they are a moment later."""
# What closing a file adds per block, and besides that.
_END_BYTES_PER_BLOCK: Final = 256
_END_BYTES: Final = 16 << 10
# What an event takes that says how much was left out.
_EVENT_BYTES: Final = 512
# Values are written before they are due when so many of them wait.
_MANY_VALUES: Final = 8192


class FileThread:
    """Writes the files of one recording, one after the other; its methods are for any thread.

    ``on_end`` is called on the thread itself when it stops writing by itself: the file is full, or
    the disk failed (``error``). ``on_news``: is told what others have done to the file. Where they
    have deleted it, or cut it off, writing goes on in a new one. ``finish_name``: what to rename
    the file to when it is complete; ``keeps_part``: also when it is not, as far as it came, and
    nothing that has the name is replaced: it gets the next one that is free.
    """

    def __init__(
        self,
        wanted: TrajectoryFile,
        manifest: Manifest,
        attachments: Attachments,
        *,
        on_end: Callable[[], None],
        on_news: Callable[[str], None] | None = None,
        path: Path | None = None,
        finish_name: Path | None = None,
        keeps_part: bool = False,
        disk: Disk | None = None,
    ) -> None:
        self._wanted = wanted
        self._disk = disk or Disk()
        self._manifest = manifest
        self._attachments = attachments
        self._on_end, self._on_news = on_end, on_news
        self._finish_name = finish_name
        self._keeps_part = keeps_part
        self._number = 1
        self.paths: list[Path] = [path or wanted.path]
        """The files so far, the newest last."""
        self.error: EngineError | None = None
        """Why it stopped writing: the disk."""
        self.is_full = False
        """Whether it stopped writing because the file has its size."""
        self.left_out: tuple[LeftOut, ...] = ()
        """What waited then, and is not in the file."""
        self._feeds: list[SceneFeed] = []
        self._builders: list[BlockBuilder] = []
        self._begun: dict[int, FileEvent] = {}
        """The newest event of each scene that says its counters."""
        self._blocks = self._largest_block = self._frames_here = 0
        self._standing: dict[int, tuple[int, float]] = {}
        """Axis and time [s] of the newest row of each scene."""
        self._doubted: dict[int, int] = {}
        """Up to which axis of a scene it was said that nobody has seen its model."""
        self.frames = 0
        """How many frames were written."""
        self._moved: set[Path] = set()
        """Files that were moved, nobody knows where to."""
        self._wake = threading.Event()
        self._ends = self._is_due = False
        self._is_reading = True
        self._over = threading.Event()
        """Set when the thread ends: join() that Ctrl+C interrupts takes it for ended at once."""
        self._disowned = False
        self._for_tools = ForTools(wanted.transforms_hz)
        try:
            self._writer = self._open()
        except FileWriteError as error:
            raise self._by_its_name(error) from error.__cause__
        self._thread = threading.Thread(
            target=self._run, name=f"stroboscope recording {wanted.path.name}", daemon=True
        )

    def begin(self, feeds: Iterable[SceneFeed]) -> None:
        """Begin to write what comes from ``feeds``."""
        for feed in feeds:
            self._feeds.append(feed)
            self._builders.append(
                BlockBuilder(
                    feed.record,
                    write=self._write_block,
                    chunk_size=self._wanted.chunk_size,
                    hidden=feed.hidden,
                )
            )
        self._for_tools.begin(self._feeds)
        self._thread.start()

    # --- any thread

    def wake(self) -> None:
        """Have it look for rows now."""
        self._wake.set()

    def is_reading(self) -> bool:
        """Return whether what is handed on will be written."""
        return self._is_reading and bool(self._thread.ident) and not self._over.is_set()

    @property
    def path(self) -> Path:
        """The file that is written now."""
        return self.paths[-1]

    @property
    def nbytes(self) -> int:
        """How many bytes the present file has."""
        return self._writer.nbytes

    def end(self, timeout: float | None = None) -> bool:
        """Write all that was handed on, close the file, and wait for that; False: not in time."""
        self._ends = True
        self._wake.set()
        if self._thread is threading.current_thread() or not self._thread.ident:
            return True
        return self._disowned or self._over.wait(timeout)

    def disown(self) -> None:
        """In a forked child: the file is the parent's."""
        self._disowned = True
        self._is_reading = False
        # Else the file would look as if it were still written, after the parent's end.
        with contextlib.suppress(FileWriteError):
            self._writer.abandon()

    # --- the thread

    def _run(self) -> None:
        try:
            self._write()
        finally:
            self._over.set()

    def _write(self) -> None:
        due = time.monotonic() + FLUSH_S
        while True:
            ends = self._ends
            if not ends:
                self._wake.wait(max(due - time.monotonic(), 0.0))
                self._wake.clear()
                ends = self._ends
            is_due = ends or self._is_due or time.monotonic() >= due
            self._is_due = False
            if is_due:
                due = time.monotonic() + FLUSH_S
            if self._disowned:
                return
            self._guarded(functools.partial(self._drain, flush=is_due))
            if ends or not self._is_reading:
                break
        if self._is_reading:
            self._guarded(self._close)
        self._is_reading = False

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except _FullError:
            self._guarded(self._close_full)
            self.is_full = self.error is None
            self._stop_reading()
        except EngineError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - a mistake of ours must not be a silent loss
            _log.exception("recording into %s failed", self.path)
            failure = FileWriteError(self.path, f"can't be written ({error!r})", "report this")
            self._fail(failure)

    def _fail(self, error: EngineError) -> None:
        self.error = self._by_its_name(error)
        try:
            self._writer.close()
        except (EngineError, OSError):
            with contextlib.suppress(EngineError):
                self._writer.abandon()
        if self._finish_name is not None:
            self._put_away(self._finish_name)
        self._stop_reading()

    def _by_its_name(self, error: EngineError) -> EngineError:
        """Return an error of a file that is not complete yet with the name that it was to get."""
        name = self._finish_name
        if name is None or not isinstance(error, FileWriteError) or error.path != self.paths[-1]:
            return error
        named = FileWriteError(name, error.wrong, error.todo)
        named.__cause__ = error.__cause__
        return named

    def _put_away(self, name: Path) -> None:
        """Give what could be written of a file its name, or remove it."""
        part = self.paths[-1]
        with contextlib.suppress(OSError, FileWriteError):
            if self._keeps_part:
                self.paths[-1] = self._named(part, name)
            else:
                self._disk.remove(part)

    def _stop_reading(self) -> None:
        self._is_reading = False
        for feed in self._feeds:
            feed.discard()
        self._on_end()

    # --- what is written

    def _drain(self, *, flush: bool) -> None:
        if flush:
            self._look_after_file()  # first: what waits is not lost with it
        for feed, builder in zip(self._feeds, self._builders, strict=True):
            self._write_events(feed)
            while feed.items:
                item = feed.items[0]
                if isinstance(item, RowSource):
                    is_sealed = item.is_sealed  # asked before it is counted
                    self._take(item, builder)
                    if not is_sealed:
                        if flush:
                            self._tell_unseen(item, feed.index)
                        break
                    item.release()
                elif isinstance(item, FinalRow):
                    self._write_final(item, builder)
                else:
                    builder.flush()
                    self._change_model(item, feed, builder)
                feed.items.popleft()
                feed.made_room()
            if flush or len(feed.values) > _MANY_VALUES:
                self._write_values(feed)
                self._check_size()
            if flush:
                builder.flush()
        if flush:
            self._for_tools.flush(self._writer, wall_ns())

    def _take(self, item: RowSource, builder: BlockBuilder) -> None:
        if not item.is_dropped:
            builder.take(item, item.counted())
            return
        count = item.counted() - item.taken
        item.taken += count
        first = item.begin + item.taken - count
        self._writer.write_events(
            [
                FileEvent(
                    kind="gap",
                    scene=builder.record.index,
                    axis=first,
                    wall=wall_ns(),
                    text=f"{count:,} frames were left out: the disk was slower than the simulation",
                    data={"frames": count},
                )
            ]
        )
        builder.begin_anew()

    def _tell_unseen(self, item: RowSource, index: int) -> None:
        """Say of which steps the model may be one that nobody has seen, should this be the end."""
        since, end = item.unseen_since(), item.begin + item.taken
        first = max(since, self._doubted.get(index, since))
        if since < 0 or first >= end:
            return
        self._doubted[index] = end
        time_ = float(item.times[max(first - item.begin, 0)])
        self._writer.write_events([unseen_event(first, end, index=index, time=time_)])

    def _write_final(self, item: FinalRow, builder: BlockBuilder) -> None:
        builder.flush()
        block = item.block(builder.record.index)
        if block is not None:
            builder.write_final(block)

    def _write_events(self, feed: SceneFeed) -> None:
        events = _taken(feed.events)
        if events:
            self._writer.write_events(events)
            self._for_tools.write_events(self._writer, events)
            for event in events:
                if event.kind in _STRETCHES:
                    self._begun[event.scene] = event

    def _write_values(self, feed: SceneFeed) -> None:
        values = sorted(_taken(feed.values), key=_channel_of)
        for channel, of_channel in groupby(values, key=_channel_of):
            rows = list(of_channel)
            try:
                self._writer.write_signals(
                    feed.record.index,
                    channel,
                    np.array([row.axis for row in rows]),
                    np.array([row.time for row in rows]),
                    np.array([row.values for row in rows]),
                    wall=np.array([row.wall for row in rows]),
                    names=rows[0].names,
                )
            except ValueError as error:
                _log.warning("%d values of %r were not recorded: %s", len(rows), channel, error)

    def _write_block(self, block: RowBlock) -> None:
        before = self._writer.nbytes
        self._writer.write_block(block)
        self.frames += block.count
        self._frames_here += block.count
        self._standing[block.scene] = int(block.axes[-1]), float(block.rows[-1, 0])
        self._for_tools.write_block(self._writer, block)
        self._largest_block = max(self._largest_block, self._writer.nbytes - before)
        self._blocks += 1
        self._check_size()

    def _check_size(self) -> None:
        """End the file when another block might make it larger than is wanted."""
        nbytes = self._writer.nbytes + 2 * self._largest_block + self._end_bytes
        if nbytes > self._wanted.max_size:
            if not self._wanted.rotate:
                raise _FullError
            self._next_file()

    @property
    def _end_bytes(self) -> int:
        """What closing the file adds."""
        return _END_BYTES + _END_BYTES_PER_BLOCK * (self._blocks + self._for_tools.chunks)

    # --- files

    def _open(self) -> TrajectoryWriter:
        return TrajectoryWriter(
            self.paths[-1], self._manifest, attachments=self._attachments, disk=self._disk
        )

    def _close_full(self) -> None:
        for builder in self._builders:
            with contextlib.suppress(_FullError):
                builder.flush()  # there is some room left for that
        nothing = -1, 0.0
        found = []
        for feed in self._feeds:
            last, time_ = self._standing.get(feed.index, nothing)
            found.append(left_out_of(feed, last=last, time=time_))
        self.left_out = tuple(each for each in found if each)
        size = self._wanted.max_size
        # As many as there is room for: environments lose about the same.
        most = max((size - self._writer.nbytes - self._end_bytes) // _EVENT_BYTES, 1)
        self._writer.write_events([each.event(size) for each in self.left_out[:most]])
        self._close()

    def _close(self) -> None:
        self._writer.close()
        if self._finish_name is not None:
            try:
                name = self._named(self.paths[-1], self._finish_name)
                self._disk.fsync_folder(name.parent)
            except OSError as error:
                raise FileWriteError(
                    self._finish_name,
                    f"can't be written ({error.strerror or error})",
                    f"what was recorded is in {self.paths[-1]}",
                ) from error
            self.paths[-1] = name

    def _named(self, part: Path, name: Path) -> Path:
        """Give a complete file its name, or the next that is free; raises OSError."""
        if not self._keeps_part:
            refuse_if_written(name)
            self._disk.replace(part, name)
            return name
        wanted, number = name, 1
        while True:
            try:
                self._disk.rename_new(part, name)
                break
            except FileExistsError:  # another process was faster
                while os.path.lexists(self._wanted.part(number)):
                    number += 1
                name = self._wanted.part(number)
        if name != wanted:
            _log.warning(
                "%s is there already: what was to be written into it is in %s", wanted, name
            )
        return name

    def _next_file(self) -> None:
        """Close the file and go on in another one, which can be read without the first."""
        self._close()
        self._number += 1
        while writer_of(self._wanted.part(self._number)):
            self._number += 1
        self._go_on_in(self._wanted.part(self._number))

    def _look_after_file(self) -> None:
        """Notice that somebody has moved the file away, deleted it or cut it off."""
        if self._finish_name is not None:
            return
        before = self.paths[-1]
        fate = self._writer.fate()
        if fate is Fate.THERE:
            return
        text = f"{before} was {fate} while it was recorded"
        if fate is Fate.MOVED:
            if self._writer.path != before:
                self.paths[-1] = self._writer.path
                self._tell(f"{text}: recording goes on in it, it is {self._writer.path} now")
            elif before not in self._moved:
                self._moved.add(before)
                self._tell(f"{text}: recording goes on in it, whatever it is called now")
            return
        text += f": {self._frames_here:,} frames are lost"
        with contextlib.suppress(FileWriteError):
            self._writer.abandon()
        path = before
        while os.path.lexists(path):
            self._number += 1
            path = self._wanted.part(self._number)
        try:
            self._go_on_in(path)
        except FileWriteError as error:
            raise FileWriteError(before, text.removeprefix(f"{before} "), str(error)) from error
        self._writer.write_events(
            [
                FileEvent(
                    kind="warning", scene=scene, axis=axis, time=time_, wall=wall_ns(), text=text
                )
                for scene, (axis, time_) in self._standing.items()
            ]
        )
        self._tell(f"{text}; recording goes on in {path}")

    def _tell(self, text: str) -> None:
        if self._on_news is not None:
            self._on_news(text)

    def _go_on_in(self, path: Path) -> None:
        """Begin another file, which can be read without those before."""
        if path != self.paths[-1]:
            self.paths.append(path)
        self._manifest = msgspec.structs.replace(
            self._manifest,
            uuid=uuid.uuid4().hex,
            scenes=tuple(feed.record for feed in self._feeds),
            segment=self._manifest.segment + 1,
            previous=self._manifest.uuid,
            created=time.time(),
            clock=wall_ns(),
        )
        self._blocks = self._largest_block = self._frames_here = 0
        self._for_tools.next_file()
        self._writer = self._open()
        self._writer.write_events(list(self._begun.values()))

    def _change_model(self, change: NewModel, feed: SceneFeed, builder: BlockBuilder) -> None:
        """Go on in another file, whose rows of this scene belong to another model."""
        self._writer.write_events([change.event])
        self._for_tools.write_events(self._writer, [change.event])
        feed.record, feed.messages = change.record, change.messages
        self._attachments.update(change.attachments)
        used = {each.record.model for each in self._feeds}
        for name in self._attachments.keys() - used:
            del self._attachments[name]
        at = self._builders.index(builder)
        self._builders[at] = BlockBuilder(
            change.record,
            write=self._write_block,
            chunk_size=self._wanted.chunk_size,
            hidden=feed.hidden,
        )
        self._next_file()


_STRETCHES = frozenset({"begin", "episode", "restore", "branch", "edit"})


class _FullError(Exception):
    """The file has its size."""


def _channel_of(value: Value) -> str:
    return value.channel


def _taken(waiting: "deque[_T]") -> list[_T]:
    """Take what is there by now out of a deque that another thread appends to."""
    return [waiting.popleft() for _ in range(len(waiting))]
