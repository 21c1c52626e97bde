"""What histories will want soon, made by another thread than the one that steps.

The first write to a page of new memory makes the kernel find it and clear it, and what is left of
rows that are thinned out is worked out of many of them: each took as long as all else that a row
costs. One thread does both for all histories of a process, and ends by itself when nobody has
wanted anything for a moment.
"""

import contextlib
import queue
import threading

from stroboscope.debugger_protocol.signal_handlers import HeldSignals
from stroboscope.engine.history.block import Block, Dropped
from stroboscope.engine.history.packing import RowPacking

__all__ = ["BlockOrder", "BlocksAhead", "DroppedOrder"]

# Blocks of fewer bytes come from memory that is there; asking for them would take longer.
_FEWEST_BYTES = 64 << 10
# A scene that fills a block in a longer time doesn't notice what starting the thread takes [s].
_IDLE = 0.25


class BlockOrder:
    """A block of ``capacity`` rows that is on its way: ``block`` is None until it is ready."""

    __slots__ = ("block", "capacity", "words")

    def __init__(self, capacity: int, words: int) -> None:
        self.capacity, self.words = capacity, words
        self.block: Block | None = None

    def make(self) -> None:
        """Make the block, and write to all of its memory."""
        block = Block(self.capacity, self.words)
        block.touch()
        self.block = block


class DroppedOrder:
    """What will be left of the rows of ``block``; ``dropped`` is None until it is known."""

    __slots__ = ("_block", "_packing", "dropped")

    def __init__(self, block: Block, packing: RowPacking) -> None:
        self._block: Block | None = block
        self._packing = packing
        self.dropped: Dropped | None = None

    def make(self) -> None:
        """Work it out, if the block is still there for the same rows."""
        block, self._block = self._block, None  # which knows this order: they'd keep each other
        if block is not None and block.order is self:
            self.dropped = Dropped(block, self._packing)


class BlocksAhead:
    """Makes what will be wanted; any thread."""

    def __init__(self) -> None:
        self.forget_parent()

    def forget_parent(self) -> None:
        """Begin anew; in a forked child the parent's thread is not there."""
        self._lock = threading.RLock()  # a handler of a signal may come back here
        self._orders: queue.SimpleQueue[BlockOrder | DroppedOrder] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def order(self, capacity: int, words: int, *, nbytes: int) -> BlockOrder | None:
        """Have a block of ``nbytes`` made; None where that is not worth while."""
        if nbytes < _FEWEST_BYTES:
            return None
        order = BlockOrder(capacity, words)
        self._put(order)
        return order

    def order_dropped(self, block: Block, packing: RowPacking) -> None:
        """Have it worked out what will be left of the rows of ``block``, which is full."""
        if block.nbytes >= _FEWEST_BYTES:
            block.order = order = DroppedOrder(block, packing)
            self._put(order)

    def _put(self, order: BlockOrder | DroppedOrder) -> None:
        with self._lock:
            self._orders.put(order)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="stroboscope history", daemon=True
                )
                try:
                    with HeldSignals():  # what a handler raises within makes the thread complain
                        self._thread.start()
                except RuntimeError:  # no more threads, or the interpreter is ending
                    self._thread = None

    def _run(self) -> None:
        while True:
            try:
                order = self._orders.get(timeout=_IDLE)
            except queue.Empty:
                with self._lock:
                    if self._orders.empty():
                        self._thread = None
                        return
                continue
            # Where it fails, the block was used for other rows meanwhile: nobody waits for it.
            with contextlib.suppress(Exception):
                order.make()
            del order  # or it would keep a block that nobody wants any more
