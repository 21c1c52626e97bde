"""What overlay builders look at: one scene at one instant, and what shall be drawn of it."""

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.selection import Element
from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.overlays.facts import Facts
from stroboscope.app.view3d.overlays.sizes import Sizes
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["Subject"]

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)  # no slots: several builders need the same frames
class Subject:
    """One scene with its facts, sizes and options; ``hidden_camera`` is the one looked through."""

    scene: DrawnScene
    facts: Facts
    options: ViewOptions
    sizes: Sizes
    selection: Element | None = None
    hidden_camera: int = -1

    def value(self, topic: Topic, name: str, *shape: int) -> Floats | None:
        """Return an array as float64 of ``shape`` (-1: any), None when missing or of another."""
        array = self.scene.value(topic, name)
        if array is None or array.ndim != len(shape):
            return None
        if any(want not in (-1, have) for want, have in zip(shape, array.shape, strict=True)):
            return None
        return array

    def of_bodies(self, topic: Topic, name: str, width: int) -> Floats | None:
        """Return an array (nbody, width), None when it is not known."""
        return self.value(topic, name, len(self.scene.body_pos), width)

    @functools.cached_property
    def centers_of_mass(self) -> Floats:
        """The bodies' centres of mass (nbody, 3) [m], from the poses."""
        bodies = self.facts.bodies
        mat = self.scene.body_mat
        return np.asarray(self.scene.body_pos + np.einsum("nij,nj->ni", mat, bodies.ipos))

    @functools.cached_property
    def joint_frames(self) -> tuple[Floats, Floats]:
        """The joints' anchors and axes, (njnt, 3) each, in the world."""
        joints = self.facts.joints
        mat = self.scene.body_mat[joints.body]
        anchor = self.scene.body_pos[joints.body] + np.einsum("nij,nj->ni", mat, joints.pos)
        return anchor, np.einsum("nij,nj->ni", mat, joints.axis)

    @property
    def description(self) -> SceneDescription:
        """The scene's, with the cameras and lights that the script has written."""
        return self.scene.description or self.facts.description

    @functools.cached_property
    def tendon_width(self) -> Floats:
        """The tendons' widths (ntendon,) [m], those that the script has written where it has."""
        described = self.facts.tendon_width
        told = self.value(Topic.LOOKS, "tendon_width", len(described))
        return described if told is None else told

    def site_frames(self) -> tuple[Floats, Floats]:
        """Return the sites' positions (nsite, 3) and rotations (nsite, 3, 3) in the world."""
        first = self.scene.items.n_geoms
        count = len(self.facts.description.sites)
        return (
            self.scene.item_pos[first : first + count],
            self.scene.item_mat[first : first + count],
        )
