"""What one scene hands to the thread that writes: rows, events, values of its own channels."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.frames import BlockKind, FileEvent, RowBlock, RowFlag, SceneRecord
from stroboscope.engine.foxglove_messages import SceneMessages
from stroboscope.engine.recording.rows_entry import RowSource

__all__ = ["Attachments", "FinalRow", "NewModel", "SceneFeed", "Value"]

_MOST_PENDING: Final = 8
_WORTH_WAKING: Final = 4
_MOST_VALUES: Final = 100_000
# How often whoever waits for room looks whether there is anybody left who makes some [s].
_LOOK_S: Final = 0.1


class Attachments(dict[str, bytes]):
    """Models by the name that a file has them under; each once, however many scenes it is of."""

    def __init__(self, number: int = 0) -> None:
        super().__init__()
        self._number = number
        self.names: dict[bytes, str] = {}
        """By the digest of a compiled model with all that was written into it."""

    def name(self, pattern: str) -> str:
        """Return the next name: the first has no number in the place of ``{}``."""
        self._number += 1
        return pattern.format(f"-{self._number}" if self._number > 1 else "")

    def following(self) -> "Attachments":
        """Return an empty one whose names begin behind those that were given here."""
        return Attachments(self._number)


class Value(NamedTuple):
    """One value of a channel of the script: at a physics step, time [s], wall time [ns]."""

    channel: str
    axis: int
    time: float
    wall: int
    values: tuple[float, ...] | float
    names: tuple[str, ...]


class FinalRow(NamedTuple):
    """The state after the last step; nothing follows."""

    row: NDArray[np.float64] | None
    axis: int
    step: int
    timestep: float
    wall: int
    hidden: bytes
    follows: bool = True
    """Whether the last step has led there: else somebody has replaced the state since."""
    is_seen: bool = False
    """Whether the script has come there by steps of its own."""

    @property
    def _flags(self) -> RowFlag:
        broken = RowFlag(0) if self.follows and not self.is_seen else RowFlag.BROKEN
        return broken | (RowFlag.SEEN if self.is_seen else RowFlag(0))

    def block(self, index: int) -> RowBlock | None:
        """Return it as the last block of the scene ``index``; None without a row."""
        if self.row is None:
            return None
        return RowBlock(
            scene=index,
            kind=BlockKind.FINAL,
            rows=self.row[np.newaxis],
            axes=np.array([self.axis]),
            steps=np.array([self.step]),
            timesteps=np.array([self.timestep]),
            wall=np.array([self.wall]),
            flags=np.array([self._flags], dtype=np.uint8),
            hidden=self.hidden,
        )


class NewModel(NamedTuple):
    """Another model, which the rows that follow belong to."""

    record: SceneRecord
    attachments: Attachments
    event: FileEvent
    messages: SceneMessages


class SceneFeed:
    """One scene's part of a recording: written by its owner, read by the thread that writes."""

    def __init__(
        self,
        record: SceneRecord,
        *,
        messages: SceneMessages,
        wake: Callable[[], None],
        is_read: Callable[[], bool],
        drops: bool,
        hidden: bool,
    ) -> None:
        self.record = record
        self.messages = messages
        """Makes what other tools show; for the thread that writes."""
        self.items: deque[RowSource | FinalRow | NewModel] = deque()
        """Rows in the order of the axis, and what divides them."""
        self.events: deque[FileEvent] = deque()
        self.values: deque[Value] = deque()
        self.hidden: dict[int, bytes] | None = {} if hidden else None
        self.is_over = False
        """Whether the owner will add nothing more."""
        self._wake = wake
        self._is_read = is_read
        self._drops = drops
        self._room = threading.Condition()

    @property
    def index(self) -> int:
        """Which scene of the file it is."""
        return self.record.index

    # --- by the owner

    def put(self, item: RowSource | FinalRow | NewModel) -> None:
        """Hand on rows, or what comes after them; waits while too many are on their way."""
        self.items.append(item)
        if len(self.items) <= _MOST_PENDING or not self._is_read():
            return
        self._wake()
        if self._drops:
            self._drop()
            return
        with self._room:
            while len(self.items) > _MOST_PENDING and self._is_read():
                self._room.wait(_LOOK_S)

    def sealed(self) -> None:
        """Say that rows were sealed: a few of them at once disturb the owner less often."""
        if len(self.items) >= _WORTH_WAKING:
            self._wake()

    def _drop(self) -> None:
        """Have the newest sealed rows left out, and say so in the file."""
        for item in reversed(tuple(self.items)[1:]):
            if isinstance(item, RowSource) and item.is_sealed and not item.is_dropped:
                item.is_dropped = True
                return

    def add_event(self, event: FileEvent) -> None:
        """Hand on what happened."""
        self.events.append(event)

    def add_value(self, value: Value) -> None:
        """Hand on a value of a channel of the script."""
        self.values.append(value)
        if len(self.values) > _MOST_VALUES:
            self._wake()
            with self._room:
                while len(self.values) > _MOST_VALUES and self._is_read():
                    self._room.wait(_LOOK_S)

    def left(self) -> None:
        """Hear that the scene is recorded no more: what nobody will read goes."""
        if not self._is_read():
            self.discard()

    def forget_parent(self) -> None:
        """In a forked child: whoever was about to make room is not here."""
        self._room = threading.Condition()

    # --- by the thread that writes

    def made_room(self) -> None:
        """Let the owner go on."""
        with self._room:
            self._room.notify_all()

    def discard(self) -> None:
        """Forget everything: nobody writes it."""
        for waiting in (self.items, self.events, self.values):
            while waiting:
                item = waiting.popleft()
                if isinstance(item, RowSource):
                    item.release()
        self.made_room()


def wall_ns() -> int:
    """Return the clock of events and values: monotonic [ns]."""
    return time.monotonic_ns()
