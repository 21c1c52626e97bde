"""Rows in memory: dense where they are new, thinned out to widening intervals where they are old.

The newest half of the blocks holds every row. When there is no room for another block, the two
oldest of the lowest level that has more than its part are merged into one of twice the stride;
what is dropped leaves its inputs and a hash behind, so that it can be stepped to again and
checked. Each level covers as many steps as the one below it with half the blocks.
"""

import bisect
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.history.ahead import BlockOrder, BlocksAhead
from stroboscope.engine.history.block import Block, Dropped, block_bytes
from stroboscope.engine.history.packing import RowPacking
from stroboscope.engine.history.row_tap import RowTap
from stroboscope.engine.history.spans import axes_of, last_before

__all__ = ["RowRing"]

# A block is about so large, and holds at least and at most so many rows.
_BLOCK_BYTES = 512 << 10
_FEWEST_ROWS, _MOST_ROWS = 8, 512
# Larger where nobody looks back: turning takes as long as what else a hundred rows cost.
_LARGE_BLOCK_BYTES = 768 << 10
_FEWEST_BLOCKS = 64
# Blocks of a ring that forgets: written to again and again, so that they stay in the caches. Those
# that somebody still reads come on top.
_FEW_BLOCKS = 4
# No row is further than this from the next one, so that looking at any takes no time to speak of.
_LONGEST_STRIDE = 256
# Merging two blocks has to drop so many of their rows that no more than this part is left.
_MOST_KEPT = 0.75


class RowRing:
    """The rows of one scene; owner thread only, except for :meth:`interrupt`.

    The stepper packs the next row into the ``width`` bytes of ``head`` from ``at * width`` on, its
    time into ``times[at]`` and when that was into ``walls[at]``, and when the step is done counts
    it: ``steps[at]``, ``timesteps[at]``, then ``at += advance``. It must call :meth:`turn` when
    ``at`` has come to ``size``, or is beyond it. While nothing is kept, ``advance`` is 0: the one
    row is evidence only.
    """

    __slots__ = (
        "_ahead", "_block_bytes", "_blocks", "_capacity", "_dropped_bytes", "_head",
        "_is_heard", "_is_whole", "_lent", "_limit", "_new_block_bytes", "_on_drop",
        "_on_merge", "_order", "_packing", "_rows", "_spare", "_turning",
        "_wanted_capacity", "advance", "at", "forgets", "head", "least_dense", "size",
        "steps", "taps", "times", "timesteps", "walls", "width",
    )  # fmt: skip

    def __init__(
        self,
        packing: RowPacking,
        *,
        limit: Callable[[], int],
        on_drop: Callable[[int], None],
        on_merge: Callable[[int], None],
        capacity: int | None = None,
        ahead: BlocksAhead | None = None,
    ) -> None:
        self._packing = packing
        self.width = packing.width
        self.taps: tuple[RowTap, ...] = ()
        self.forgets = False
        """Whether only few rows are kept, or ``least_dense``: the oldest are not thinned out."""
        self.least_dense = 0
        """How many of the newest rows must all stay, where the limit has room for them."""
        self._limit = limit
        self._on_drop = on_drop
        self._on_merge = on_merge
        self._wanted_capacity = capacity
        self._ahead = ahead
        self._order: BlockOrder | None = None
        """The block that is made for the time when this one is full; counted as one of ours."""
        self._capacity = self._rows = self.at = 0
        self._blocks: list[Block] = []
        self._spare: list[Block] = []
        self._lent: list[Block] = []
        """Free blocks that somebody still reads: they are filled again when nobody does."""
        self._new_block_bytes = 0
        self._block_bytes = self._dropped_bytes = 0
        self._head: Block | None = None
        self._is_heard = False
        """Whether every tap has heard of the block that is being filled."""
        self._is_whole = True
        """Whether no block is on its way, where what a handler of a signal raises loses it."""
        self._turning = -1  # to a block that begins with this axis
        self.stop_keeping()

    # --- writing

    def stop_keeping(self) -> None:
        """Forget all rows."""
        self.seal()
        self._blocks.clear()
        self._spare.clear()
        self._lent.clear()
        self._order = None
        self._block_bytes = self._dropped_bytes = 0
        self.advance = self.at = 0
        self.size = 1
        self.head: Any = memoryview(bytearray(self.width))
        self.times: Any = np.full(1, np.nan).data
        self.steps: Any = np.zeros(1, dtype=np.int64).data
        self.timesteps: Any = np.zeros(1).data
        self.walls: Any = np.zeros(1).data

    def seal(self) -> None:
        """End the block that is being filled: the next row does not stand beside the last."""
        self._turning = -1
        is_whole, self._is_whole = self._is_whole, False
        self._seal()
        self._is_whole = is_whole

    def _seal(self) -> None:
        head, at = self._head, self.at
        if head is not None:
            head.count = at
            head.end = head.begin + at
            for tap in self.taps:
                tap.sealed(head)
        # Nothing but stores, which no handler of a signal comes between.
        self._head, self._is_heard, self.size, self.at = None, False, 0, 0
        if head is not None and not at:
            self._blocks.pop()
            (self._lent if head.users else self._spare).append(head)

    def turn(self, axis: int) -> None:
        """Begin another block, whose first row is that of ``axis``; anew after an exception."""
        self._turning = axis
        is_whole, self._is_whole = self._is_whole, False
        self._seal()
        if not is_whole:
            self._mend()
        if not self._blocks or self._limit() < self._fewest // 4 * self._new_block_bytes:
            self._choose_capacity()  # also where there is far less room than there was
        block = self._free_block()
        block.start(axis)
        self._blocks.append(block)
        self._head = block
        self.head = block.rows.data.cast("B")
        self.times = block.times.data
        self.steps = block.steps.data
        self.timesteps = block.timesteps.data
        self.walls = block.walls.data
        try:
            self.at, self.size, self.advance = 0, self._rows, 1
            self._order_ahead()
            self._is_whole = True
            for tap in self.taps:
                tap.opened(self, block, at=0)
            self._is_heard, self._turning = True, -1
        finally:
            if not self._is_heard:
                self.size = 0

    def tap(self, tap: RowTap) -> None:
        """Have ``tap`` take the rows from the next one on."""
        self.taps = (*self.taps, tap)
        if self._head is not None:
            tap.opened(self, self._head, at=self.at)

    def untap(self, tap: RowTap) -> None:
        """Have ``tap`` take no more than those that are counted."""
        if tap in self.taps:
            self.taps = tuple(each for each in self.taps if each is not tap)
            if self._head is not None:
                self._head.count = self.at
                tap.sealed(self._head)

    def interrupt(self) -> None:
        """Have the owner look up before its next row, see :meth:`resume`; any thread."""
        self.size = 0

    def look_up_after(self, rows: int) -> None:
        """Have the owner look up before so many rows more, see :meth:`resume`."""
        self.size = min(self._rows, self.at + rows)

    def resume(self) -> None:
        """Go on after an interruption."""
        is_idle = self._head is None and not self.advance
        self.size = 1 if is_idle else self._rows if self._is_heard else 0

    def flag(self) -> None:
        """Say of the row that comes that it does not follow from the one before."""
        if self._head is not None:
            self._head.flags[self.at] = 1

    @property
    def coming_follows(self) -> bool:
        """Whether nobody has said so of it."""
        return self._head is None or not self._head.flags[self.at]

    def capture(self, at_time: float) -> NDArray[np.float64]:
        """Pack the row of the step that comes, and return it."""
        self.walls[self.at] = time.monotonic()
        # All of one block: behind a call, where handlers of signals come, another may be newest.
        at, head, times, width = self.at, self.head, self.times, self.width
        words = head[at * width : (at + 1) * width]
        self._packing.capture(words)
        times[at] = at_time
        return self._packing.unpack(np.frombuffer(words, dtype=np.float64), at_time)

    def written(self, at: int) -> NDArray[np.float64]:
        """Return what was packed at a place of the block that is being filled."""
        words = np.frombuffer(self.head, dtype=np.float64).reshape(-1, self._packing.words)
        return self._packing.unpack(words[at], self.times[at])

    # --- what there is

    @property
    def packing(self) -> RowPacking:
        """How rows are packed."""
        return self._packing

    def is_filling(self, block: Block) -> bool:
        """Return whether rows go into ``block`` now; any thread."""
        return self._head is block

    @property
    def next_axis(self) -> int:
        """The axis of the row that would be written next; -1 while no block is being filled."""
        return self._head.begin + self.at if self._head is not None else self._turning

    @property
    def is_turning(self) -> bool:
        """Whether an exception has come between turning to :attr:`next_axis`."""
        return self._turning >= 0

    @property
    def first(self) -> int:
        """The oldest axis that can be reached; -1 without any."""
        for block in self._blocks:
            if block.count or (block is self._head and self.at):
                return block.axis_at(0)
        return -1

    @property
    def dense(self) -> int:
        """The axis from which on every row is stored; -1 without any."""
        for block in self._blocks:
            if block.stride == 1:
                return block.begin
        return -1

    @property
    def reachable(self) -> int:
        """How many axes can be reached."""
        return sum(end - begin for begin, end in self.spans())

    @property
    def stored(self) -> int:
        """How many rows are stored."""
        return sum(self.at if b is self._head else b.count for b in self._blocks)

    def stored_blocks(self) -> Iterator[Block]:
        """Go through the blocks of stored rows, oldest first, each with its count."""
        for block in self._blocks:
            if block is self._head:
                block.count = self.at
            if block.count:
                yield block

    @property
    def nbytes(self) -> int:
        """Bytes of it all."""
        return self._block_bytes + self._dropped_bytes

    @property
    def least_bytes(self) -> int:
        """Bytes that :attr:`least_dense` rows take, with what else is needed to turn blocks."""
        if not self.least_dense:
            return 0
        # Blocks have some room for rows that stay, and a few are being filled or merged into.
        return block_bytes(self.least_dense * 9 // 8 + 64, self._packing.words) + 8 * _BLOCK_BYTES

    def spans(self) -> Iterator[tuple[int, int]]:
        """Go through the stretches of axes that are remembered, oldest first."""
        for block in self._blocks:
            begin = max(block.begin, self.first)
            if begin < self._end(block):
                yield begin, self._end(block)

    def next_remembered(self, axis: int, default: int) -> int:
        """Return ``axis`` or the next one that is remembered; ``default`` when none is."""
        if self.holds(axis):
            return axis
        later = (begin for begin, _end in self.spans() if begin >= axis)
        return min(later, default=default)

    def last_remembered(self, axis: int) -> int:
        """Return the last one before ``axis`` that is remembered; -1 when none is."""
        return last_before(self.spans(), axis)

    def axes(self, first: int, last: int) -> NDArray[np.int64]:
        """Return all that are remembered from ``first`` to ``last``, which counts."""
        return axes_of(self.spans(), first, last)

    def _end(self, block: Block) -> int:
        return block.begin + self.at if block is self._head else block.end

    def holds(self, axis: int) -> bool:
        """Return whether the step that began at ``axis`` is remembered."""
        return self._block_of(axis) is not None and axis >= self.first

    def stored_before(self, axis: int) -> int:
        """Return the last stored axis that is not after ``axis``, which is remembered."""
        index = self._index_of(axis)
        block = self._blocks[index]
        place = block.place(axis)
        while place < 0:
            index -= 1
            block = self._blocks[index]
            place = block.count - 1
        return block.axis_at(place)

    def row(self, axis: int) -> NDArray[np.float64] | None:
        """Return the stored row of ``axis``; None when it was thinned out."""
        block = self._block_of(axis)
        place = -1 if block is None else block.place(axis)
        if block is None or place < 0 or block.axis_at(place) != axis:
            return None
        return self._packing.unpack(block.rows[place], float(block.times[place]))

    def is_stored(self, axis: int) -> bool:
        """Return whether the row of ``axis`` is stored."""
        block = self._block_of(axis)
        place = -1 if block is None else block.place(axis)
        return block is not None and place >= 0 and block.axis_at(place) == axis

    def inputs(self, axis: int) -> NDArray[np.float64]:
        """Return the inputs of a remembered step, thinned out or not."""
        row = self.row(axis)
        if row is not None:
            return row[self._packing.layout.inputs]
        return self._packing.unpack_inputs(self._dropped(axis).inputs(axis))

    def timestep(self, axis: int) -> float:
        """Return the timestep [s] of a remembered step."""
        block = self._known(axis)
        if block.stride == 1:
            return float(block.timesteps[axis - block.begin])
        return self._dropped(axis).timestep(axis)

    def time(self, axis: int) -> float:
        """Return the time [s] at which a remembered step began."""
        block = self._known(axis)
        if block.stride == 1:
            return float(block.times[axis - block.begin])
        part = self._dropped(axis)
        return float(part.times[axis - part.begin])

    def step(self, axis: int) -> int:
        """Return how many application steps had ever been taken before a remembered step."""
        block = self._known(axis)
        if block.stride == 1:
            return int(block.steps[axis - block.begin])
        return self._dropped(axis).step(axis)

    def follows(self, axis: int) -> bool:
        """Return whether a remembered row follows from the one before."""
        block = self._known(axis)
        if block.stride == 1:
            return not block.flags[axis - block.begin]
        part = self._dropped(axis)
        return not part.flags[axis - part.begin]

    def is_hash_of(self, row: NDArray[np.float64], axis: int) -> bool:
        """Return whether ``row`` is that of ``axis``, which was thinned out."""
        part, packing = self._dropped(axis), self._packing
        offset = axis - part.begin
        state = packing.hashes(packing.pack(row)[np.newaxis])
        return bool(row[0] == part.times[offset] and state[0] == part.hashes[offset])

    def _index_of(self, axis: int) -> int:
        return bisect.bisect_right(self._blocks, axis, key=lambda block: block.begin) - 1

    def _block_of(self, axis: int) -> Block | None:
        index = self._index_of(axis)
        if index < 0:
            return None
        block = self._blocks[index]
        return block if axis < self._end(block) else None

    def _known(self, axis: int) -> Block:
        block = self._block_of(axis)
        if block is None:
            raise LookupError(f"physics step {axis} is not remembered")
        return block

    def _dropped(self, axis: int) -> Dropped:
        parts = self._known(axis).dropped
        index = bisect.bisect_right(parts, axis, key=lambda part: part.begin) - 1
        return parts[index]

    # --- making room

    @property
    def _fewest(self) -> int:
        """How many blocks the limit is to have room for."""
        return _FEWEST_BLOCKS // 4 if self.forgets else _FEWEST_BLOCKS

    def _choose_capacity(self) -> None:
        """Choose how many rows a block has; few where there is little room, so that it is many."""
        most = _LARGE_BLOCK_BYTES if self.forgets else _BLOCK_BYTES
        size = min(most, self._limit() // self._fewest)
        fitting = min(max(size // (8 * self._packing.words), _FEWEST_ROWS), _MOST_ROWS)
        self._block_bytes -= sum(block.nbytes for block in (*self._spare, *self._lent))
        self._spare.clear()
        self._lent.clear()
        self._cancel_order()
        rows = min(fitting, self._wanted_capacity or fitting)
        # Some room for rows that stay because they do not follow from the one before.
        capacity = rows + rows // 16 + 2
        nbytes = block_bytes(capacity, self._packing.words)
        self._rows, self._capacity, self._new_block_bytes = rows, capacity, nbytes

    def _free_block(self) -> Block:
        """Return a block to fill, within the limit."""
        size = self._new_block_bytes
        self._take_back()
        most = max(_FEW_BLOCKS, -(-self.least_dense // max(self._rows, 1)) + 2)
        while self.forgets and len(self._blocks) >= most:
            self._forget_oldest()
        while self._blocks:
            # One block more than those in use is for merging into.
            there = len(self._spare) + (self._order is not None)
            if self.nbytes + size * max(2 - there, 0) <= self._limit():
                break
            if self._order is not None:
                self._cancel_order()
            elif len(self._spare) > 2:
                self._spare.pop()
                self._block_bytes -= size
            elif self._lent:
                self._lent.pop()
                self._block_bytes -= size
            else:
                self._thin_out()
        return self._block_of_rows(self._capacity)

    def _order_ahead(self) -> None:
        """Have the next block made while this one is filled, or what will be left of the oldest."""
        size, ahead = self._new_block_bytes, self._ahead
        if ahead is None:
            return
        if self.nbytes + 2 * size > self._limit():
            # The one that is being filled, if no other. What raises in a generator's end is lost.
            first = [block.stride for block in self._blocks].index(1)
            for block in self._blocks[first : first + 2]:
                if block.order is None and block is not self._head:
                    ahead.order_dropped(block, self._packing)
        elif self._order is None and not self._spare:  # and one more is left for merging into
            self._order = ahead.order(self._capacity, self._packing.words, nbytes=size)
            self._block_bytes += 0 if self._order is None else size

    def _mend(self) -> None:
        """Go on with what is there after turning was left half done, and count its bytes anew."""
        self._blocks = [block for block in self._blocks if block.count]
        there = (*self._blocks, *self._spare, *self._lent)
        ordered = 0 if self._order is None else self._new_block_bytes
        self._block_bytes = ordered + sum(block.nbytes for block in there)
        parts = (part for block in self._blocks for part in block.dropped)
        self._dropped_bytes = sum(part.nbytes for part in parts)

    def _cancel_order(self) -> None:
        if self._order is not None:
            self._order = None
            self._block_bytes -= self._new_block_bytes

    def _thin_out(self) -> None:
        """Free one block: merge two old ones, or forget the oldest."""
        blocks = self._blocks
        part = max(len(blocks) // 2, -(-self.least_dense // max(self._rows, 1)) + 1)
        begin = len(blocks)
        stride = 1
        while stride < _LONGEST_STRIDE:
            # Blocks of one stride stand side by side, the coarsest first.
            end = begin
            while begin and blocks[begin - 1].stride == stride:
                begin -= 1
            for index in range(begin, end - part):
                if self._merge(index):
                    return
            part = max(part // 2, 1)
            stride *= 2
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        block = self._blocks.pop(0)
        self._dropped_bytes -= sum(part.nbytes for part in block.dropped)
        self._free(block)
        self._on_drop(block.end)

    def _merge(self, index: int) -> bool:
        """Merge two blocks into one of twice the stride; False when that would free too little."""
        first, second = self._blocks[index : index + 2]
        stride = 2 * first.stride
        kept = [self._kept(block, stride) for block in (first, second)]
        rows = sum(count for _, count in kept)
        if first.end != second.begin or rows > _MOST_KEPT * (first.count + second.count):
            return False
        merged = self._block_of_rows(rows)
        at = 0
        for block, (places, count) in zip((first, second), kept, strict=True):
            if block.stride == 1:
                order = block.order
                known = None if order is None else order.dropped
                merged.dropped.append(known or Dropped(block, self._packing))
                self._dropped_bytes += merged.dropped[-1].nbytes
            else:
                merged.dropped.extend(block.dropped)
            merged.copy(at, block, places, count)
            at += count
        merged.begin, merged.end = first.begin, second.end
        merged.stride, merged.count = stride, at
        if not (second.count and second.flags[0]):
            self._on_merge(second.begin)
        self._blocks[index : index + 2] = [merged]
        self._free(first)
        self._free(second)
        return True

    def _block_of_rows(self, rows: int) -> Block:
        """Return a block for so many rows: one that was used before, where it is large enough."""
        if self._spare and self._spare[-1].capacity >= rows:
            block = self._spare.pop()
            block.start(0)
            return block
        order = self._order
        if order is not None and order.block is not None and order.capacity >= rows:
            self._order = None
            return order.block
        block = Block(max(rows, self._capacity), self._packing.words)
        self._block_bytes += block.nbytes
        return block

    def _free(self, block: Block) -> None:
        """Keep a block to be filled again, unless it is larger than those that rows go into."""
        block.dropped, block.order = [], None
        if block.capacity == self._capacity:
            (self._lent if block.users else self._spare).append(block)
        else:
            self._block_bytes -= block.nbytes

    def _take_back(self) -> None:
        """Have those free blocks filled again that nobody reads any more."""
        if self._lent:
            free: list[Block] = []
            lent: list[Block] = []
            for block in self._lent:
                (lent if block.users else free).append(block)
            # With nothing between: whatever a handler of a signal raises, none is in both.
            self._lent = lent
            self._spare += free

    def _kept(self, block: Block, stride: int) -> tuple[slice | NDArray[np.int64], int]:
        """Return the places of the rows of ``block`` that a block of ``stride`` keeps; how many."""
        count = block.count
        is_oldest = block is self._blocks[0]
        if block.is_even:
            begin = int(block.axis_at(0) % stride != 0)
            if not (begin and is_oldest):
                return slice(begin, count, 2), len(range(begin, count, 2))
        axes = block.axes_of(slice(0, count))
        keep = (axes % stride == 0) | block.flags[:count].astype(bool)
        if is_oldest and count:
            keep[0] = True  # all that follows is stepped to from here
        places: NDArray[np.int64] = np.flatnonzero(keep)
        return places, len(places)
