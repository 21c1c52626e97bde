"""What every part of a description needs: the model, its names, its words."""

from typing import Any

import numpy as np

from stroboscope.debugger_protocol.scene_description import CameraMode, GeomType, Vec4
from stroboscope.engine.describe.columns import scalars, tuples
from stroboscope.engine.element_names import ElementNames
from stroboscope.engine.frames.looks import DEFAULT_RGBA
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["CAMERA_MODES", "Part"]

CAMERA_MODES = (
    CameraMode.FIXED,
    CameraMode.TRACK,
    CameraMode.TRACKCOM,
    CameraMode.TARGETBODY,
    CameraMode.TARGETBODYCOM,
)
"""In the order of MuJoCo's ``mjtCamLight``."""


class Part:
    """One model, seen by the functions that describe a kind of element each."""

    def __init__(self, model: Any, *, names: ElementNames, adapter: MujocoAdapter) -> None:
        self.model = model
        self.names = names
        self.adapter = adapter
        kinds = adapter.module.mjtGeom
        self.geom_types = {int(getattr(kinds, f"mjGEOM_{kind.name}")): kind for kind in GeomType}

    def geom_type(self, number: int) -> GeomType:
        """Return the protocol's word for a MuJoCo geom type."""
        return self.geom_types.get(number, GeomType.SPHERE)

    def colours(self, rgba: Any, material: Any) -> list[Vec4]:
        """Return a colour per element: its material's when its own was left at the default."""
        own, surfaces = tuples(rgba), scalars(material)
        if not np.any(np.asarray(material) >= 0):
            return own
        of_material = tuples(self.model.mat_rgba)
        return [
            of_material[surface] if surface >= 0 and colour == DEFAULT_RGBA else colour
            for colour, surface in zip(own, surfaces, strict=True)
        ]
