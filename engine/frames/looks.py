"""What a script writes into a model's looks while it runs: MuJoCo's viewer shows that at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.engine.asset_arrays import flex_materials

__all__ = ["DEFAULT_RGBA", "Looks"]

DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)
"""Of what has no colour of its own: its material's counts, if it has one."""

_COLOURED = ("geom", "site", "tendon", "skin")
_PLACED = ("geom_pos", "geom_quat", "site_pos", "site_quat")
_SIZED = ("geom_size", "site_size", "tendon_width")
_CAMERAS = ("cam_pos", "cam_quat", "cam_fovy")
_LIGHTS = tuple(
    f"light_{field}" for field in ("pos", "dir", "ambient", "diffuse", "specular", "active")
)


class Looks:
    """Colours, places and sizes of shapes, cameras and lights, told once one is not as at first."""

    def __init__(self, model: Any) -> None:
        of_flexes = [flex_materials(model, index) for index in range(model.nflex)]
        # Which material each flex has; of several each has its own colour.
        self._flex_material = np.array([m[0] if len(m) == 1 else -1 for m in of_flexes], np.int64)
        self._first = self._looks(model)
        self._told = False

    def arrays(self, model: Any) -> Arrays | None:
        """Return the arrays of the topic LOOKS; None while all is as the description says."""
        now = self._looks(model)
        self._told = self._told or any(
            not np.array_equal(now[name], first) for name, first in self._first.items()
        )
        return dict(now) if self._told else None

    def _looks(self, model: Any) -> dict[str, NDArray[np.float32]]:
        arrays = {
            f"{kind}_rgba": _colours(
                model, getattr(model, f"{kind}_rgba"), np.asarray(getattr(model, f"{kind}_matid"))
            )
            for kind in _COLOURED
        }
        arrays["flex_rgba"] = _colours(model, model.flex_rgba, self._flex_material)
        for name in (*_PLACED, *_SIZED, *_CAMERAS, *_LIGHTS):
            arrays[name] = np.array(getattr(model, name), dtype=np.float32)
        return arrays


def _colours(model: Any, own: Any, material: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return a colour per element (n, 4): its material's when its own was left at the default."""
    colours = np.array(own, dtype=np.float32)
    if model.nmat:
        plain = (material >= 0) & (colours == np.array(DEFAULT_RGBA, dtype=np.float32)).all(axis=1)
        colours[plain] = model.mat_rgba[material[plain]]
    return colours
