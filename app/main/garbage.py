"""Python's cyclic garbage, collected on the GUI thread and only between two events."""

import gc
import time

from PySide6.QtCore import QObject, Qt, QTimer

__all__ = ["GarbageCollector"]

_LOOK_MS = 500
# A full collection stops everything; the older the window, the more it has to look through.
_SHARE_OF_TIME = 0.01


class GarbageCollector(QObject):
    """Takes over from Python's own collections, for as long as the process lives.

    Python collects wherever an allocation crosses a threshold: on the network's thread, where Qt
    objects in the garbage are then destroyed, or in a method that Qt calls while it walks through
    its widgets, some of which are gone when it walks on. Both end in a segmentation fault. Qt
    objects are easily part of a cycle: a slot that is a closure of its own widget is enough.

    The generations and thresholds are Python's. GUI thread only.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        # What is there by now are modules, for the most part: 60 ms for each full collection.
        gc.freeze()
        self._next_full = 0.0
        timer = QTimer(self)
        timer.setTimerType(Qt.TimerType.CoarseTimer)
        timer.timeout.connect(self.collect_if_due)
        timer.start(_LOOK_MS)

    def collect_if_due(self) -> None:
        """Collect the generations whose thresholds are crossed."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        due = [generation for generation in range(3) if counts[generation] > thresholds[generation]]
        # Only what outlived the young collections is looked for in the older generations.
        if 0 not in due:
            return
        now = time.monotonic()
        if 2 in due and now >= self._next_full:
            gc.collect(2)
            end = time.monotonic()
            self._next_full = end + (end - now) / _SHARE_OF_TIME
        else:
            gc.collect(1 if 1 in due else 0)
