"""What a description says that overlays need at every frame, gathered once as arrays."""

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.elements import element_name, elements_of
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.view3d.overlays.ray_facts import RayFacts
from stroboscope.app.view3d.rotations import quat_to_matrix
from stroboscope.debugger_protocol.scene_description import (
    JointType,
    SceneDescription,
    SensorInfo,
)

__all__ = ["ActuatorFacts", "BodyFacts", "Facts", "JointFacts", "SiteSensors", "SliderCranks"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_RAY, _TOUCH = "rangefinder", "touch"


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class BodyFacts:
    """Bodies (nbody,): ``root`` is the body just below the world, ``fixed`` ones never move."""

    parent: Ints
    root: Ints
    fixed: Bools
    mass: Floats
    inertia: Floats
    ipos: Floats
    imat: Floats

    @property
    def mean_moving_mass(self) -> float:
        """The mean mass [kg] of the bodies that can move and have any; 0 for none."""
        moving = self.mass[~self.fixed & (self.mass > 0.0)]
        return float(moving.mean()) if len(moving) else 0.0

    @staticmethod
    def of(description: SceneDescription) -> "BodyFacts":
        """Gather from ``description``."""
        bodies = description.bodies
        count = len(bodies)
        parent = np.clip(np.array([b.parent for b in bodies], dtype=np.int64), 0, max(count - 1, 0))
        moving = {joint.body for joint in description.joints}
        root = np.arange(count)
        fixed = np.zeros(count, dtype=np.bool_)
        for i, body in enumerate(bodies):  # parents come before children
            below = i > 0 and 0 < parent[i] < i
            root[i] = root[parent[i]] if below else i
            fixed[i] = i == 0 or (
                i not in moving and not body.mocap and bool(fixed[parent[i]]) and parent[i] < i
            )
        return BodyFacts(
            parent=parent,
            root=root,
            fixed=fixed,
            mass=np.array([b.mass for b in bodies], dtype=np.float64),
            inertia=np.array([b.inertia for b in bodies], dtype=np.float64).reshape(-1, 3),
            ipos=np.array([b.ipos for b in bodies], dtype=np.float64).reshape(-1, 3),
            imat=quat_to_matrix(np.array([b.iquat for b in bodies], np.float64).reshape(-1, 4)),
        )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class JointFacts:
    """Joints (njnt,); ``range`` (njnt, 2) is NaN without limits, ``needle`` a direction to draw.

    ``needle`` (njnt, 3), in the body's frame, is across the axis and towards the body's mass.
    """

    body: Ints
    pos: Floats
    axis: Floats
    qpos: Ints
    group: Ints
    range: Floats
    margin: Floats
    qpos0: Floats
    needle: Floats
    is_hinge: Bools
    is_slide: Bools
    is_ball: Bools

    @staticmethod
    def of(description: SceneDescription) -> "JointFacts":
        """Gather from ``description``; joints of bodies that do not exist belong to the world."""
        joints = description.joints
        none = (np.nan, np.nan)
        n_bodies = max(len(description.bodies), 1)
        body = np.array([j.body if 0 <= j.body < n_bodies else 0 for j in joints], dtype=np.int64)
        pos = np.array([j.pos for j in joints], dtype=np.float64).reshape(-1, 3)
        axis = np.array([j.axis for j in joints], dtype=np.float64).reshape(-1, 3)
        axis = axis / np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-30)
        ipos = np.array([b.ipos for b in description.bodies], dtype=np.float64).reshape(-1, 3)
        toward = (ipos[body] if len(ipos) else np.zeros((len(joints), 3))) - pos
        return JointFacts(
            body=body,
            pos=pos,
            axis=axis,
            qpos=np.array([j.qpos for j in joints], dtype=np.int64),
            group=np.clip(np.array([j.group for j in joints], dtype=np.int64), 0, 5),
            range=np.array([j.range or none for j in joints], dtype=np.float64).reshape(-1, 2),
            margin=np.array([j.margin for j in joints], dtype=np.float64),
            qpos0=np.array([(j.qpos0 or (0.0,))[0] for j in joints], dtype=np.float64),
            needle=_across(axis, toward),
            is_hinge=np.array([j.type is JointType.HINGE for j in joints], dtype=np.bool_),
            is_slide=np.array([j.type is JointType.SLIDE for j in joints], dtype=np.bool_),
            is_ball=np.array([j.type is JointType.BALL for j in joints], dtype=np.bool_),
        )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ActuatorFacts:
    """Actuators (nu,) with their first control, activation and output; ranges NaN without."""

    joint: Ints
    site: Ints
    tendon: Ints
    body: Ints
    group: Ints
    ctrl: Ints
    act: Ints
    output: Ints
    ctrlrange: Floats
    actrange: Floats
    forcerange: Floats

    @staticmethod
    def of(description: SceneDescription) -> "ActuatorFacts":
        """Gather from ``description``."""
        infos = description.actuators
        none = (np.nan, np.nan)

        def ints(name: str) -> Ints:
            return np.array([getattr(a, name) for a in infos], dtype=np.int64)

        def own(name: str) -> Ints:
            given = ints(name)
            return np.where(given < 0, np.arange(len(infos)), given)

        def ranges(name: str) -> Floats:
            found = [getattr(a, name) or none for a in infos]
            return np.array(found, dtype=np.float64).reshape(-1, 2)

        return ActuatorFacts(
            joint=ints("joint"),
            site=ints("site"),
            tendon=ints("tendon"),
            body=ints("body"),
            group=np.clip(ints("group"), 0, 5),
            ctrl=np.where(ints("nctrl") > 0, own("ctrl"), -1),
            act=ints("act"),
            output=np.where(ints("noutput") > 0, own("output"), -1),
            ctrlrange=ranges("ctrlrange"),
            actrange=ranges("actrange"),
            forcerange=ranges("forcerange"),
        )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SliderCranks:
    """Actuators that drive by a rod (n,): sites of its crank and its slider, ``length`` [m]."""

    index: Ints
    crank: Ints
    slider: Ints
    length: Floats

    @staticmethod
    def of(description: SceneDescription) -> "SliderCranks":
        """Gather those whose sites exist."""
        known = range(len(description.sites))
        found = [
            (index, info.site, info.slider_site, info.crank_length)
            for index, info in enumerate(description.actuators)
            if info.site in known and info.slider_site in known
        ]
        index, crank, slider, length = np.array(found, dtype=np.float64).reshape(-1, 4).T
        return SliderCranks(
            index.astype(np.int64), crank.astype(np.int64), slider.astype(np.int64), length
        )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SiteSensors:
    """Sensors of one kind at sites (n,): their index, their site, their address in sensordata."""

    index: Ints
    site: Ints
    adr: Ints

    @staticmethod
    def of(description: SceneDescription, wanted: Callable[[SensorInfo], bool]) -> "SiteSensors":
        """Gather those that are ``wanted`` and at a site that exists."""
        count = len(description.sites)
        found = [
            (index, sensor.object_index, sensor.adr)
            for index, sensor in enumerate(description.sensors)
            if sensor.object_kind == "site" and 0 <= sensor.object_index < count and wanted(sensor)
        ]
        return SiteSensors(*np.array(found, dtype=np.int64).reshape(-1, 3).T)

    def values(self, data: Floats, *, missing: float) -> Floats:
        """Return their first number (n,) out of ``data`` (nsensordata,)."""
        inside = (self.adr >= 0) & (self.adr < len(data))
        found = np.full(len(self.adr), missing)
        found[inside] = data[self.adr[inside]]
        return found


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Everything gathered from one description.

    ``links`` (n, 2) index centres of mass, then joints: MuJoCo's autoconnect.
    """

    description: SceneDescription
    bodies: BodyFacts
    joints: JointFacts
    actuators: ActuatorFacts
    cranks: SliderCranks
    geom_body: Ints
    site_body: Ints
    links: Ints
    rays: RayFacts
    touches: SiteSensors
    others: SiteSensors
    tendon_width: Floats
    _names: dict[ElementKind, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    def names(self, kind: ElementKind) -> tuple[str, ...]:
        """Return what all elements of a kind are called, gathered when first asked for."""
        if kind not in self._names:
            count = len(elements_of(self.description, kind))
            self._names[kind] = tuple(
                element_name(self.description, Element(kind, index)) for index in range(count)
            )
        return self._names[kind]

    @staticmethod
    def of(description: SceneDescription) -> "Facts":
        """Gather from ``description``."""
        bodies, joints = BodyFacts.of(description), JointFacts.of(description)
        return Facts(
            description=description,
            bodies=bodies,
            joints=joints,
            actuators=ActuatorFacts.of(description),
            cranks=SliderCranks.of(description),
            geom_body=np.array([g.body for g in description.geoms], dtype=np.int64),
            site_body=np.array([s.body for s in description.sites], dtype=np.int64),
            links=_links(bodies, joints),
            rays=RayFacts.of(description),
            touches=SiteSensors.of(description, lambda s: s.kind == _TOUCH),
            others=SiteSensors.of(description, lambda s: s.kind not in (_RAY, _TOUCH)),
            tendon_width=np.array([t.width for t in description.tendons], dtype=np.float64),
        )


def _links(bodies: BodyFacts, joints: JointFacts) -> Ints:
    """Return pairs (n, 2) from each body's centre over its joints to its parent's centre."""
    count = len(bodies.parent)
    of_body: dict[int, list[int]] = {}
    for joint, body in enumerate(joints.body.tolist()):
        # In reverse: the last joint is next to the body itself.
        of_body.setdefault(body, []).insert(0, count + joint)
    found: list[tuple[int, int]] = []
    for body in range(1, count):
        chain = [body, *of_body.get(body, ())]
        if bodies.parent[body] > 0:
            chain.append(int(bodies.parent[body]))
        found += itertools.pairwise(chain)
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _across(axis: Floats, toward: Floats) -> Floats:
    """Return unit vectors (n, 3) across ``axis``, as near to ``toward`` as can be."""
    flat = toward - np.einsum("ni,ni->n", toward, axis)[:, None] * axis
    length = np.linalg.norm(flat, axis=1, keepdims=True)
    helper = np.where(np.abs(axis[:, :1]) < 0.9, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    spare = np.cross(axis, helper)
    spare /= np.maximum(np.linalg.norm(spare, axis=1, keepdims=True), 1e-30)
    reach = np.linalg.norm(toward, axis=1, keepdims=True)
    usable = length > np.maximum(1e-3 * reach, 1e-9)
    return np.asarray(np.where(usable, flat / np.maximum(length, 1e-30), spare))
