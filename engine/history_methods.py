"""The part of :class:`Scene` that is about its history."""

import sys
from collections.abc import Callable

from stroboscope.engine.arguments import flag, whole_number
from stroboscope.engine.history.scene_history import SceneHistory

__all__ = ["HistoryMethods"]


class HistoryMethods:
    """Methods of a scene about what it remembers; owner thread only."""

    history: SceneHistory
    _guard: Callable[[], None]
    _update_fast_path: Callable[[], None]

    def keep_history(self, keep: bool = True, *, max_bytes: int | None = None) -> None:
        """Keep a row of every physics step, also while nothing is attached; or no longer.

        In at most ``max_bytes`` (64 MiB unless set): the oldest rows are thinned out then.
        """
        self._guard()
        keep = flag(keep, "keep")
        if max_bytes is not None:
            self.history.max_bytes = whole_number(max_bytes, "max_bytes", least=1, most=sys.maxsize)
        self.history.wanted = keep
        self.history.switch(off=False)
        self._update_fast_path()
