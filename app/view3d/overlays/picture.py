"""All overlays of one scene at one instant, made again only when something in them changes."""

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.models.selection import Element
from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.overlays.actuators import actuator_glyphs
from stroboscope.app.view3d.overlays.cages import cage_glyphs
from stroboscope.app.view3d.overlays.constraints import (
    connection_glyphs,
    equality_glyphs,
    wrap_glyphs,
)
from stroboscope.app.view3d.overlays.contacts import contact_glyphs
from stroboscope.app.view3d.overlays.drawings import (
    Points,
    drawing_glyphs,
    drawing_points,
    left_out,
)
from stroboscope.app.view3d.overlays.environment_frame import environment_frame
from stroboscope.app.view3d.overlays.facts import Facts
from stroboscope.app.view3d.overlays.frames import frame_glyphs, icon_glyphs
from stroboscope.app.view3d.overlays.frusta import frustum_glyphs
from stroboscope.app.view3d.overlays.glyphs import Glyphs, Layer, Shape
from stroboscope.app.view3d.overlays.joints import joint_glyphs
from stroboscope.app.view3d.overlays.mass import mass_glyphs
from stroboscope.app.view3d.overlays.motion import (
    motion_glyphs,
    perturbation_glyphs,
    touched_glyphs,
)
from stroboscope.app.view3d.overlays.plugins import plugin_glyphs
from stroboscope.app.view3d.overlays.sensors import sensor_glyphs
from stroboscope.app.view3d.overlays.sizes import Sizes
from stroboscope.app.view3d.overlays.slider_cranks import slider_crank_glyphs
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.app.view3d.overlays.target_pose import target_pose
from stroboscope.app.view3d.overlays.taxels import taxel_glyphs
from stroboscope.app.view3d.overlays.tints import item_tints
from stroboscope.app.view3d.overlays.trees import tree_glyphs
from stroboscope.debugger_protocol.edit_messages import Perturb

__all__ = ["OverlayPicture", "Overlays", "Target"]

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Where servos want the bodies: ``pos`` (nbody, 3), ``mat`` (nbody, 3, 3), ``moved`` which."""

    pos: Floats
    mat: Floats
    moved: NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class OverlayPicture:
    """Everything to draw. ``parts`` are the glyphs, ``texels`` those of each layer and shape.

    ``tints`` (nitem, 4) rgb and how much of it lie over geoms and sites, None for none.
    ``left_out``: how many drawings of the script are missing.
    """

    subject: Subject
    parts: tuple[Glyphs, ...]
    texels: dict[tuple[Layer, Shape], NDArray[np.float32]]
    points: Points | None
    tints: NDArray[np.float32] | None
    target: Target | None
    left_out: int

    @property
    def roles(self) -> frozenset[Role]:
        """What the colours in the picture mean."""
        return frozenset(
            itertools.chain.from_iterable(part.roles for part in self.parts if len(part.texels))
        )


class Overlays:
    """Makes the overlays of one view and keeps the last ones. GUI thread only."""

    def __init__(self) -> None:
        self._facts: Facts | None = None
        self._key: object = None
        self._picture: OverlayPicture | None = None
        self._has_ghost = False
        # What a mouse pulls at; the viewport draws its spring.
        self.perturbation: Perturb | None = None
        # The body that was pointed at when it was selected, and where [m] in its frame.
        self.touched: tuple[int, tuple[float, float, float]] | None = None

    def picture(
        self,
        scene: DrawnScene,
        *,
        options: ViewOptions,
        extent: float,
        selection: Element | None = None,
        hidden_camera: int = -1,
    ) -> OverlayPicture | None:
        """Return what ``options`` ask for; None before there is a scene with poses.

        ``extent`` [m] is the scene's radius; ``hidden_camera`` the model's camera looked through.
        """
        if scene.description is None or not scene.has_poses:
            return None
        key = (
            scene.geometry_revision,
            scene.pose_revision,
            scene.values_revision,
            scene.environments,
            options,
            extent,
            selection,
            hidden_camera,
            self.perturbation,
            self.touched,
        )
        if key != self._key or self._picture is None:
            facts = self._facts
            if facts is None or facts.description is not scene.described:
                facts = self._facts = Facts.of(scene.described or scene.description)
            subject = Subject(
                scene=scene,
                facts=facts,
                options=options,
                sizes=Sizes.of(
                    scene.description,
                    options,
                    extent=extent,
                    mass=facts.bodies.mean_moving_mass,
                ),
                selection=selection,
                hidden_camera=hidden_camera,
            )
            self._key = key
            self._picture = _made(subject, self.perturbation, self.touched)
            self._lay_over(scene, self._picture)
        return self._picture

    def _lay_over(self, scene: DrawnScene, picture: OverlayPicture) -> None:
        """Hand the scene what it draws itself: colours of its bodies, and their ghost."""
        scene.tints = picture.tints
        if picture.target is not None:
            self._has_ghost = True
            scene.set_ghost_frames(picture.target.pos, picture.target.mat)
        elif self._has_ghost:
            self._has_ghost = False
            scene.set_ghost(None, None)


def _made(
    subject: Subject,
    perturb: Perturb | None,
    touched: tuple[int, tuple[float, float, float]] | None,
) -> OverlayPicture:
    glyphs = itertools.chain(_glyphs(subject, perturb), touched_glyphs(subject, touched))
    parts = tuple(part for part in glyphs if len(part.texels))
    groups: dict[tuple[Layer, Shape], list[NDArray[np.float32]]] = {}
    for part in parts:
        groups.setdefault((part.layer, part.shape), []).append(part.texels)
    texels = {
        key: found[0] if len(found) == 1 else np.concatenate(found) for key, found in groups.items()
    }
    target = target_pose(subject) if subject.options.target_pose else None
    return OverlayPicture(
        subject=subject,
        parts=parts,
        texels=texels,
        points=drawing_points(subject),
        tints=item_tints(subject),
        target=None if target is None else Target(*target),
        left_out=left_out(subject),
    )


def _glyphs(subject: Subject, perturb: Perturb | None) -> Iterator[Glyphs]:
    yield from contact_glyphs(subject)
    yield from tree_glyphs(subject)
    yield from joint_glyphs(subject)
    yield from actuator_glyphs(subject)
    yield from slider_crank_glyphs(subject)
    yield from frame_glyphs(subject)
    yield from mass_glyphs(subject)
    yield from motion_glyphs(subject)
    yield from perturbation_glyphs(subject, perturb)
    yield from equality_glyphs(subject)
    yield from connection_glyphs(subject)
    yield from wrap_glyphs(subject)
    yield from sensor_glyphs(subject)
    yield from taxel_glyphs(subject)
    yield from plugin_glyphs(subject)
    yield from cage_glyphs(subject)
    yield from drawing_glyphs(subject)
    yield from icon_glyphs(subject)
    yield from frustum_glyphs(subject)
    yield from environment_frame(subject)
