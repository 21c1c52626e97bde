"""What is written beside things, and where: names, contact forces, islands."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.elements import element_name
from stroboscope.app.models.numbers import THIN_SPACE, number_text
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import LabelMode
from stroboscope.app.view3d.overlays.actuators import actuator_places
from stroboscope.app.view3d.overlays.contacts import contact_forces
from stroboscope.app.view3d.overlays.frames import camera_frames, light_rays
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["Anchors", "anchors_of", "element_position"]

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Anchors:
    """Words ``texts`` and the points ``pos`` (n, 3) [m] they belong to; NaN: nowhere now."""

    texts: Sequence[str]
    pos: Floats


_NONE = Anchors((), np.zeros((0, 3)))


def anchors_of(subject: Subject) -> Anchors:
    """Return what the chosen kind of labels says."""
    mode = subject.options.labels
    if mode is LabelMode.NONE:
        return _NONE
    if mode is LabelMode.SELECTION:
        return _selection(subject)
    if mode in (LabelMode.CONTACT, LabelMode.CONTACT_FORCE):
        return _contacts(subject, forces=mode is LabelMode.CONTACT_FORCE)
    if mode is LabelMode.ISLAND:
        return _islands(subject)
    kind, where = _PLACES[mode]
    names = subject.facts.names(kind)
    pos = where(subject)
    count = min(len(names), len(pos))
    return Anchors(names[:count], pos[:count])


def element_position(subject: Subject, element: Element) -> Floats | None:
    """Return where (3,) [m] an element's label points, None when it has no place."""
    for mode, (kind, where) in _PLACES.items():
        if kind is element.kind and mode is not LabelMode.CONSTRAINT:
            pos = where(subject)
            return pos[element.index] if 0 <= element.index < len(pos) else None
    if element.kind is ElementKind.CONTACT:
        geom = subject.value(Topic.CONTACTS, "geom", -1, 2)
        pos_of = subject.value(Topic.CONTACTS, "pos", -1, 3)
        if geom is None or pos_of is None:
            return None
        mine = (geom == (element.index, element.other)).all(axis=1)
        return np.asarray(pos_of[mine].mean(axis=0)) if mine.any() else None
    return subject.scene.element_position(element)


def _selection(subject: Subject) -> Anchors:
    if subject.selection is None:
        return _NONE
    pos = element_position(subject, subject.selection)
    if pos is None:
        return _NONE
    name = element_name(subject.facts.description, subject.selection)
    return Anchors((name,), pos[None])


def _contacts(subject: Subject, *, forces: bool) -> Anchors:
    pos = subject.value(Topic.CONTACTS, "pos", -1, 3)
    geom = subject.value(Topic.CONTACTS, "geom", -1, 2)
    if pos is None or geom is None:
        return _NONE
    if forces:
        found = contact_forces(subject)
        if found is None:
            return _NONE
        size = np.linalg.norm(found[1], axis=1)
        texts = [f"{_short(value)}{THIN_SPACE}N" for value in size.tolist()]
        return Anchors(texts, pos)
    names = subject.facts.names(ElementKind.GEOM)
    pairs = geom.astype(np.int64).tolist()
    return Anchors(
        [" – ".join(names[g] if 0 <= g < len(names) else "flex" for g in pair) for pair in pairs],
        pos,
    )


def _short(value: float) -> str:
    """Return a force with three digits that matter."""
    if value >= 100.0:
        return number_text(value, 0)
    return number_text(value, 1 if value >= 10.0 else 2)


def _islands(subject: Subject) -> Anchors:
    island = subject.value(Topic.BODIES, "island", len(subject.scene.body_pos))
    if island is None:
        return _NONE
    com = subject.centers_of_mass
    numbers = np.unique(island[island >= 0]).astype(int)
    pos = [com[island == number].mean(axis=0) for number in numbers]
    return Anchors([f"island {n}" for n in numbers.tolist()], np.array(pos).reshape(-1, 3))


def _bodies(subject: Subject) -> Floats:
    pos = subject.centers_of_mass.copy()
    pos[:1] = np.nan  # the world is everywhere
    return pos


def _geoms(subject: Subject) -> Floats:
    return _shown_items(subject, slice(0, subject.scene.items.n_geoms))


def _sites(subject: Subject) -> Floats:
    first = subject.scene.items.n_geoms
    return _shown_items(subject, slice(first, first + len(subject.facts.description.sites)))


def _shown_items(subject: Subject, items: slice) -> Floats:
    shown = subject.scene.visible(subject.options)[items]
    return np.where(shown[:, None], subject.scene.item_pos[items], np.nan)


def _joints(subject: Subject) -> Floats:
    shown = np.array(subject.options.joint_groups)[subject.facts.joints.group]
    return np.where(shown[:, None], subject.joint_frames[0], np.nan)


def _tendons(subject: Subject) -> Floats:
    """Return the points half way along the paths."""
    pos = np.full((len(subject.facts.description.tendons), 3), np.nan)
    path = subject.value(Topic.TENDONS, "path", -1, 3)
    first = subject.value(Topic.TENDONS, "first", -1)
    count = subject.value(Topic.TENDONS, "count", -1)
    if path is None or first is None or count is None or len(first) != len(pos):
        return pos
    has = count > 1
    middle = (first + np.maximum(count // 2, 1) - 1).astype(np.int64)[has]
    middle = np.clip(middle, 0, max(len(path) - 2, 0))
    pos[has] = (path[middle] + path[middle + 1]) / 2.0
    return pos


def _actuators(subject: Subject) -> Floats:
    facts = subject.facts.actuators
    pos, _ = actuator_places(subject)
    tendons = _tendons(subject)
    driven = (facts.tendon >= 0) & (facts.tendon < len(tendons))
    pos[driven] = tendons[facts.tendon[driven]]
    shown = np.array(subject.options.actuator_groups)[facts.group]
    return np.where(shown[:, None], pos, np.nan)


def _constraints(subject: Subject) -> Floats:
    anchors = subject.value(Topic.CONSTRAINTS, "eq_anchor", -1, 2, 3)
    if anchors is None:
        return np.full((len(subject.facts.description.equalities), 3), np.nan)
    return np.asarray(anchors.mean(axis=1))


def _flexes(subject: Subject) -> Floats:
    flexes = subject.facts.description.flexes
    pos = np.full((len(flexes), 3), np.nan)
    vertices = subject.value(Topic.DEFORMABLE, "flexvert_xpos", -1, 3)
    for index, flex in enumerate(flexes):
        if vertices is not None and flex.nvert and flex.vert + flex.nvert <= len(vertices):
            pos[index] = vertices[flex.vert : flex.vert + flex.nvert].mean(axis=0)
    return pos


def _skins(subject: Subject) -> Floats:
    """Return the middles of the bodies that the skins hang on."""
    skins = subject.facts.description.skins
    pos = np.full((len(skins), 3), np.nan)
    for index, skin in enumerate(skins):
        arrays = subject.scene.asset(skin.digest)
        bones = np.asarray((arrays or {}).get("bone_body", ()), dtype=np.int64)
        bones = bones[(bones >= 0) & (bones < len(subject.scene.body_pos))]
        if len(bones):
            pos[index] = subject.scene.body_pos[bones].mean(axis=0)
    return pos


_Where = Callable[[Subject], Floats]
_PLACES: dict[LabelMode, tuple[ElementKind, _Where]] = {
    LabelMode.BODY: (ElementKind.BODY, _bodies),
    LabelMode.JOINT: (ElementKind.JOINT, _joints),
    LabelMode.GEOM: (ElementKind.GEOM, _geoms),
    LabelMode.SITE: (ElementKind.SITE, _sites),
    LabelMode.CAMERA: (ElementKind.CAMERA, lambda subject: camera_frames(subject)[0]),
    LabelMode.LIGHT: (ElementKind.LIGHT, lambda subject: light_rays(subject)[0]),
    LabelMode.TENDON: (ElementKind.TENDON, _tendons),
    LabelMode.ACTUATOR: (ElementKind.ACTUATOR, _actuators),
    LabelMode.CONSTRAINT: (ElementKind.EQUALITY, _constraints),
    LabelMode.FLEX: (ElementKind.FLEX, _flexes),
    LabelMode.SKIN: (ElementKind.SKIN, _skins),
}
