"""Where what stands in a row: ``mjSTATE_INTEGRATION``, float64, in the order of MuJoCo's bits."""

import functools
from typing import Any

from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["WIDTHS", "RowLayout"]

WIDTHS = {"xfrc_applied": 6, "mocap_pos": 3, "mocap_quat": 4}
"""Numbers per body of the parts that have two dimensions in MuJoCo's data."""

_USER = ("ctrl", "qfrc_applied", "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat", "userdata")


class RowLayout:
    """The layout of one model's rows.

    ``parts``: the slice of each array (``time``, ``qpos``, ``qvel``, ``act``, ``warmstart``,
    ``ctrl``, …) that isn't empty. ``inputs``: what a script writes between steps (``ctrl`` to
    ``userdata``), which stand side by side. ``size``: float64 per row.
    """

    def __init__(self, model: Any, *, adapter: MujocoAdapter) -> None:
        self.parts: dict[str, slice] = {}
        module, at = adapter.module, 0
        first, last = 0, 0
        self.inputs_mask = 0
        for name, bit in _bits(adapter):
            size = int(module.mj_stateSize(model, bit))
            if size:
                self.parts[name] = slice(at, at + size)
            if name in _USER:
                first = at if not self.inputs_mask else first
                last = at + size
                self.inputs_mask |= bit
            at += size
        self.size = at
        self.inputs = slice(first, last)


@functools.cache
def _bits(adapter: MujocoAdapter) -> tuple[tuple[str, int], ...]:
    """Return name and bit of each single part of a row, in order."""
    members = adapter.module.mjtState.__members__
    single = [
        (name.removeprefix("mjSTATE_").lower(), int(value))
        for name, value in members.items()
        if name.startswith("mjSTATE_") and int(value).bit_count() == 1
    ]
    return tuple(sorted(((n, b) for n, b in single if b & adapter.integration), key=lambda p: p[1]))
