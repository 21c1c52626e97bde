"""Memory that is ready before rows go into it.

The first write to a page of new memory makes the kernel find it and clear it. For the thread that
steps that took as long as all else that a row costs, so another one does it: one for all histories
of a process, which ends by itself when nobody has wanted anything for a moment.
"""

import queue
import threading

from stroboscope.engine.history.block import Block

__all__ = ["BlocksAhead", "Order"]

# Blocks of fewer bytes come from memory that is there; asking for them would take longer.
_FEWEST_BYTES = 64 << 10
# A scene that fills a block in a longer time doesn't notice what starting the thread takes [s].
_IDLE = 0.25


class Order:
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


class BlocksAhead:
    """Makes blocks that will be wanted; any thread."""

    def __init__(self) -> None:
        self.forget_parent()

    def forget_parent(self) -> None:
        """Begin anew; in a forked child the parent's thread is not there."""
        self._lock = threading.Lock()
        self._orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def order(self, capacity: int, words: int, *, nbytes: int) -> Order | None:
        """Have a block of ``nbytes`` made; None where that is not worth while."""
        if nbytes < _FEWEST_BYTES:
            return None
        order = Order(capacity, words)
        with self._lock:
            self._orders.put(order)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="stroboscope history", daemon=True
                )
                try:
                    self._thread.start()
                except RuntimeError:  # no more threads, or the interpreter is ending
                    self._thread = None
        return order

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
            order.make()
            del order  # or it would keep a block that nobody wants any more
