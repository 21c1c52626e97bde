"""States and cameras as MJCF, with every digit, to be pasted into a model."""

from collections.abc import Iterable, Mapping
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

__all__ = ["camera_xml", "keyframe_xml"]

# Attributes of <key>, and the arrays of the topic STATE that they come from.
_PARTS = {
    "qpos": "qpos",
    "qvel": "qvel",
    "act": "act",
    "ctrl": "ctrl",
    "mpos": "mocap_pos",
    "mquat": "mocap_quat",
}


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(v)).removesuffix(".0") for v in values)


def keyframe_xml(name: str, *, time: float, state: Mapping[str, NDArray[np.generic]]) -> str:
    """Return a ``<key>`` of the arrays of a STATE frame; what is empty or unknown is left out."""
    parts = [f"name={quoteattr(name)}", f"time={quoteattr(_numbers([time]))}"]
    for attribute, array in _PARTS.items():
        values = state.get(array)
        if values is not None and values.size:
            parts.append(f"{attribute}={quoteattr(_numbers(values.reshape(-1).tolist()))}")
    return f"<key {' '.join(parts)}/>"


def camera_xml(
    name: str,
    *,
    pos: NDArray[np.float64],
    right: NDArray[np.float64],
    up: NDArray[np.float64],
    fovy: float,
    orthographic: bool = False,
) -> str:
    """Return a ``<camera>`` of the world body; ``fovy`` [deg], or [m] when orthographic."""
    lens = ' projection="orthographic"' if orthographic else ""
    axes = [*(round(float(v), 6) + 0.0 for v in (*right, *up))]
    return (
        f"<camera name={quoteattr(name)} pos={quoteattr(_numbers(pos))} "
        f"xyaxes={quoteattr(_numbers(axes))} fovy={quoteattr(_numbers([fovy]))}{lens}/>"
    )
