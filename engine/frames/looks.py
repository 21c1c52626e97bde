"""What a script writes into a model's looks while it runs: MuJoCo's viewer shows that at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays

__all__ = ["DEFAULT_RGBA", "Looks"]

DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)
"""Of what has no colour of its own: its material's counts, if it has one."""

_COLOURED = ("geom", "site", "tendon")
_PLACED = ("geom_pos", "geom_quat", "site_pos", "site_quat")
_SIZED = ("geom_size", "site_size", "tendon_width")


class Looks:
    """Colours, places and sizes of shapes, told once one of them is not as at the start."""

    def __init__(self, model: Any) -> None:
        self._first = _looks(model)
        self._told = False

    def arrays(self, model: Any) -> Arrays | None:
        """Return the arrays of the topic LOOKS; None while all is as the description says."""
        now = _looks(model)
        self._told = self._told or any(
            not np.array_equal(now[name], first) for name, first in self._first.items()
        )
        return dict(now) if self._told else None


def _looks(model: Any) -> dict[str, NDArray[np.float32]]:
    arrays = {f"{kind}_rgba": _colours(model, kind) for kind in _COLOURED}
    for name in (*_PLACED, *_SIZED):
        arrays[name] = np.array(getattr(model, name), dtype=np.float32)
    return arrays


def _colours(model: Any, kind: str) -> NDArray[np.float32]:
    """Return a colour per element (n, 4): its material's when its own was left at the default."""
    colours = np.array(getattr(model, f"{kind}_rgba"), dtype=np.float32)
    material = np.asarray(getattr(model, f"{kind}_matid"))
    if model.nmat:
        plain = (material >= 0) & (colours == np.array(DEFAULT_RGBA, dtype=np.float32)).all(axis=1)
        colours[plain] = model.mat_rgba[material[plain]]
    return colours
