"""Python's cyclic garbage, collected on the GUI thread and only between two events.

What that and everything else has freed goes back to the system.
"""

import gc
import time

from PySide6.QtCore import QObject, Qt, QTimer

from stroboscope.app.main.freed_memory import FreedMemory

__all__ = ["GarbageCollector"]

_LOOK_MS = 500
# A full collection stops everything: 1 ms in a new window, 50 ms among thousands of plotted values.
_SHARE_OF_TIME = 0.002


class GarbageCollector(QObject):
    """Takes over from Python's own collections, for as long as the process lives.

    Python collects wherever an allocation crosses a threshold: on the network's thread, where Qt
    objects in the garbage are then destroyed, or in a method that Qt calls while it walks through
    its widgets, some of which are gone when it walks on. Both end in a segmentation fault. Qt
    objects are easily part of a cycle: a slot that is a closure of its own widget is enough.

    Python's threshold says whether there is enough to look at. GUI thread only.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        # What is there by now are modules, for the most part: 60 ms for each full collection.
        gc.freeze()
        self._next_full = 0.0
        self.freed = FreedMemory()
        timer = QTimer(self)
        timer.setTimerType(Qt.TimerType.CoarseTimer)
        timer.timeout.connect(self._tick)
        timer.start(_LOOK_MS)

    def _tick(self) -> None:
        self.collect_if_due()
        self.freed.look_if_due()

    def collect_if_due(self) -> None:
        """Collect if much was allocated: everything, or what is new when that was done just now."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        if counts[0] <= thresholds[0]:
            return
        start = time.monotonic()
        if start < self._next_full:
            gc.collect(1 if counts[1] > thresholds[1] else 0)
            return
        gc.collect()
        end = time.monotonic()
        self._next_full = end + (end - start) / _SHARE_OF_TIME
