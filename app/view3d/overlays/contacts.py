"""Contacts: where they are, which way they push, and how much, on which body."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Amount, Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.view3d.overlays.facts import Facts
from stroboscope.app.view3d.overlays.glyphs import (
    Glyphs,
    Layer,
    Shape,
    arrows,
    frame_along,
    solids,
)
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["contact_forces", "contact_glyphs", "force_sides"]

Floats = NDArray[np.float64]
_SELECTED = (1.0, 0.58, 0.10, 1.0)  # as the outline of what is selected
NEGLIGIBLE = 1e-9  # [N, N·m]: nothing is drawn for a force that is only rounding


def force_sides(facts: Facts, geom: Floats, body: Floats | None, *, opposite: bool) -> Floats:
    """Return (n,) +1 where the force on the second body is drawn, -1 for that on the first.

    Drawn is what acts on the body that can move; of two that can, on the one further down the
    list of bodies: the same for all contacts of two bodies, and as in the table of contacts.
    ``opposite`` turns all of them round.
    """
    pair = geom.astype(np.int64) if body is None else body.astype(np.int64)
    if body is None:
        known = len(facts.geom_body) > 0
        clipped = np.clip(pair, 0, max(len(facts.geom_body) - 1, 0))
        pair = np.where(pair >= 0, facts.geom_body[clipped], -1) if known else pair * 0 - 1
    fixed = facts.bodies.fixed
    held = np.zeros(pair.shape, dtype=np.bool_)
    inside = (pair >= 0) & (pair < len(fixed))
    held[inside] = fixed[pair[inside]]
    later = np.where(pair[:, 1] >= pair[:, 0], 1.0, -1.0)
    side = np.where(held[:, 0] == held[:, 1], later, np.where(held[:, 1], -1.0, 1.0))
    return np.asarray(-side if opposite else side)


def contact_forces(subject: Subject) -> tuple[Floats, Floats, Floats] | None:
    """Return position, force [N] and torque [N·m] (n, 3) in the world on the side that is drawn."""
    pos = subject.value(Topic.CONTACTS, "pos", -1, 3)
    frame = subject.value(Topic.CONTACTS, "frame", -1, 3, 3)
    force = subject.value(Topic.CONTACTS, "force", -1, 6)
    geom = subject.value(Topic.CONTACTS, "geom", -1, 2)
    if pos is None or frame is None or force is None or geom is None:
        return None
    body = subject.value(Topic.CONTACTS, "body", -1, 2)
    side = force_sides(subject.facts, geom, body, opposite=subject.options.contact_opposite)
    world = np.einsum("nij,nki->nkj", frame, force.reshape(-1, 2, 3)) * side[:, None, None]
    return pos, world[:, 0], world[:, 1]


def contact_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield discs, normals, forces and torques, whatever is switched on."""
    options, sizes = subject.options, subject.sizes
    pos = subject.value(Topic.CONTACTS, "pos", -1, 3)
    frame = subject.value(Topic.CONTACTS, "frame", -1, 3, 3)
    if pos is None or frame is None or not len(pos):
        return
    geom = subject.value(Topic.CONTACTS, "geom", -1, 2)
    pair = np.full((len(pos), 2), -1) if geom is None else geom.astype(np.int64)

    def shown(glyphs: Glyphs, of: NDArray[np.bool_] | slice = slice(None)) -> Glyphs:
        return glyphs.of_elements(ElementKind.CONTACT, pair[of, 0], pair[of, 1])

    if options.contacts:
        yield shown(_points(subject, pos, frame))
    if options.contact_normals:
        reach = 3.0 * sizes.mean * frame[:, 0]
        thin = 0.4 * sizes.arrow_radius
        yield shown(arrows(pos, reach, radius=thin, color=Role.NORMAL))
    yield from _selected(subject, pos, frame, pair)
    found = contact_forces(subject)
    if found is None:
        return
    _, force, torque = found
    if options.contact_forces:
        for vector, role in _force_parts(subject, force, frame):
            some = np.linalg.norm(vector, axis=1) > NEGLIGIBLE
            drawn = sizes.vectors(vector[some], Amount.FORCE)
            yield shown(
                arrows(
                    pos[some],
                    drawn.vector,
                    radius=sizes.arrow_radius,
                    color=role,
                    broken=drawn.cut,
                ),
                some,
            )
    if options.contact_torques:
        size = np.linalg.norm(torque, axis=1)
        some = size > NEGLIGIBLE
        yield shown(
            solids(
                Shape.RING,
                pos=pos[some],
                mat=frame_along(torque[some]),
                size=sizes.ring_sizes(torque[some], Amount.TORQUE),
                color=Role.CONTACT_TORQUE,
                layer=Layer.INSIDE,
            ),
            some,
        )


def _selected(
    subject: Subject, pos: Floats, frame: Floats, pair: NDArray[np.int64]
) -> Iterator[Glyphs]:
    """Yield hoops about the contacts of the pair that is selected."""
    selection = subject.selection
    if selection is None or selection.kind is not ElementKind.CONTACT:
        return
    chosen = (pair == (selection.index, selection.other)).all(axis=1)
    yield solids(
        Shape.HOOP,
        pos=pos[chosen],
        mat=frame_along(frame[chosen, 0]),
        size=1.6 * subject.sizes.scale.contactwidth * subject.sizes.mean,
        color=_SELECTED,
        layer=Layer.INSIDE,
    )


def _force_parts(subject: Subject, force: Floats, frame: Floats) -> list[tuple[Floats, Role]]:
    if not subject.options.contact_split:
        return [(force, Role.CONTACT_FORCE)]
    normal = frame[:, 0]
    along = np.einsum("ni,ni->n", force, normal)[:, None] * normal
    return [(along, Role.CONTACT_FORCE), (force - along, Role.CONTACT_FRICTION)]


def _points(subject: Subject, pos: Floats, frame: Floats) -> Glyphs:
    """Return discs across the normals, coloured by what kind of contact each is."""
    scale, mean = subject.sizes.scale, subject.sizes.mean
    active = np.ones(len(pos), dtype=np.bool_)
    address = subject.value(Topic.CONTACTS, "efc_address", -1)
    dist = subject.value(Topic.CONTACTS, "dist", -1)
    if address is not None and len(address) == len(pos):
        active = address >= 0
    elif dist is not None and len(dist) == len(pos):
        active = dist <= 0.0
    hull = subject.value(Topic.CONTACTS, "hull", len(pos), 2)
    by_hull = np.zeros(len(pos), dtype=np.bool_) if hull is None else hull.any(axis=1)
    colors = np.where(active[:, None], Role.CONTACT.value, Role.CONTACT_GAP.value)
    colors = np.where((by_hull & active)[:, None], Role.CONTACT_HULL.value, colors)
    roles = [
        role
        for role, present in (
            (Role.CONTACT, active & ~by_hull),
            (Role.CONTACT_GAP, ~active),
            (Role.CONTACT_HULL, by_hull & active),
        )
        if present.any()
    ]
    radius, height = scale.contactwidth * mean, 0.5 * scale.contactheight * mean
    return solids(
        Shape.DISC,
        pos=pos,
        mat=frame_along(frame[:, 0]),
        size=np.array([[radius, radius, height]]),
        color=colors,
        roles=tuple(roles),
    )
