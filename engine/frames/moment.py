"""One instant of a scene, as the topics read it."""

import dataclasses
from collections.abc import Callable
from typing import Any

from stroboscope.debugger_protocol.arrays import Arrays

__all__ = ["Moment"]


@dataclasses.dataclass(slots=True)
class Moment:
    """Where the values of one instant stand.

    ``data`` holds everything derived (poses, contacts, forces). Its qpos, qvel and time may be
    newer: after a step they are. ``inputs`` are what the step read.
    """

    data: Any
    inputs: Arrays
    make_whole: Callable[[], Any | None]
    _whole: Any | None = None

    def whole(self) -> Any | None:
        """Return scratch data whose state and derived arrays belong to this instant.

        For what MuJoCo has to compute further. None when there is none: nothing may be computed
        then. What is written into it must be put back, except what MuJoCo computes on demand.
        """
        if self._whole is None:
            self._whole = self.make_whole()
        return self._whole
