"""Where the three shapes are, and a camera that sees them side by side; shared by the tests."""

import dataclasses
from collections.abc import Callable
from typing import Any

from stroboscope.app.view3d.camera import CameraState

__all__ = ["BALL", "BOX", "CAPSULE", "Read", "looking", "replace_options"]

Read = Callable[..., Any]
BOX, BALL, CAPSULE = (-1.0, 0.0, 0.3), (0.0, 0.0, 0.3), (1.0, 0.0, 0.5)


def looking(**changes: Any) -> CameraState:
    """From the front and above, everything side by side: x to the right."""
    state = CameraState(lookat=(0.0, 0.0, 0.3), distance=5.0, azimuth=90.0, elevation=-18.0)
    return dataclasses.replace(state, **changes)


def replace_options(viewport: Any, **changes: Any) -> None:
    viewport.options = dataclasses.replace(viewport.options, **changes)
