"""Links that weigh next to nothing, or next to nothing of what they carry."""

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.messages import Finding, LogLevel
from stroboscope.engine.lint.subject import Subject

__all__ = ["ill_conditioned_joints", "tiny_inertia", "unequal_masses"]

_TINY_ROTATION = 1e-7
_TINY_MASS = 1e-5
_HEAVY = 2000.0
_SINGULAR = 1e-6
"""Of the joint-space inertia scaled to a diagonal of ones; sound robots are above 1e-3."""
_MAX_DOFS = 300


def tiny_inertia(subject: Subject) -> list[Finding]:
    """Find dofs that the slightest force flings away."""
    model, kinds = subject.model, subject.module.mjtJoint
    if not model.nv:
        return []
    diagonal = subject.adapter.inertia_diagonal(model, subject.data)
    joint = np.asarray(model.dof_jntid)
    kind = np.asarray(model.jnt_type)[joint]
    first = np.asarray(model.jnt_dofadr)[joint]
    slides = kind == int(kinds.mjJNT_SLIDE)
    slides |= (kind == int(kinds.mjJNT_FREE)) & (np.arange(model.nv) - first < 3)
    tiny = np.where(slides, diagonal < _TINY_MASS, diagonal < _TINY_ROTATION)
    if model.nflex:
        # Vertices of flexes are light by nature.
        tiny &= ~np.isin(model.dof_bodyid, model.flex_vertbodyid)
    found = []
    for index in np.unique(joint[tiny]).tolist():
        smallest = float(diagonal[(joint == index) & tiny].min())
        found.append((smallest, index))
    return [
        Finding(
            rule="inertia",
            level=LogLevel.WARNING,
            text=(
                f"{subject.names.joint(index)} moves an inertia of only {smallest:.2g} "
                "(kg or kg·m², armature included): small forces make huge accelerations"
            ),
            advice=(
                "Check mass and inertia of its body (units, density, mesh scale), or give the "
                "joint armature."
            ),
            elements=(
                subject.ref("joint", index),
                subject.ref("body", int(model.jnt_bodyid[index])),
            ),
        )
        for smallest, index in sorted(found)
    ]


def unequal_masses(subject: Subject) -> list[Finding]:
    """Find light links that carry heavy ones: the solver and the integrator suffer from them."""
    model = subject.model
    mass = np.asarray(model.body_mass)
    weld = np.asarray(model.body_weldid)
    own = np.zeros(model.nbody)
    np.add.at(own, weld, mass)
    moving = np.flatnonzero((weld == np.arange(model.nbody)) & (np.arange(model.nbody) > 0))
    # Its inertia may be given by armature, which no mass tells.
    armature = np.zeros(model.nbody)
    np.maximum.at(armature, np.asarray(model.dof_bodyid), np.asarray(model.dof_armature))
    carried = np.asarray(model.body_subtreemass) - own
    found = []
    for body in moving.tolist():
        if own[body] <= 0.0 or armature[body] > 0.0 or carried[body] < _HEAVY * own[body]:
            continue
        ratio = float(carried[body] / own[body])
        found.append(
            Finding(
                rule="mass-ratio",
                level=LogLevel.WARNING,
                text=(
                    f"{subject.names.body(body)} weighs {own[body]:.3g}\u2009kg and carries "
                    f"{carried[body]:.3g}\u2009kg, {ratio:.3g} times as much: such chains are "
                    "badly conditioned"
                ),
                advice="Give the light link more mass or its joint armature, or merge the two.",
                elements=(subject.ref("body", body),),
            )
        )
    return found


def ill_conditioned_joints(subject: Subject) -> list[Finding]:
    """Find joints that together move almost nothing: their inertia can hardly be inverted."""
    model = subject.model
    if not 1 < model.nv <= _MAX_DOFS:
        return []
    inertia = subject.adapter.full_inertia(model, subject.data)
    scale = 1.0 / np.sqrt(np.maximum(np.diag(inertia), 1e-300))
    scaled = inertia * scale * scale[:, None]
    if not np.isfinite(scaled).all():
        return []
    smallest, together = _least_moved(scaled, np.asarray(model.dof_treeid))
    if smallest > _SINGULAR:
        return []
    joints = np.unique(np.asarray(model.dof_jntid)[together])
    return [
        Finding(
            rule="conditioning",
            level=LogLevel.WARNING,
            text=(
                f"{subject.listed('joint', joints)} together move almost no inertia "
                f"({max(smallest, 0.0):.1e} of what each moves alone): accelerations are "
                "huge and lose their digits"
            ),
            advice=(
                "Joints that do the same, or a link between them that weighs nothing: leave one "
                "out, or give it mass or armature."
            ),
            elements=subject.refs("joint", joints[:8]),
        )
    ]


def _least_moved(
    inertia: NDArray[np.float64], tree: NDArray[np.int32]
) -> tuple[float, NDArray[np.intp]]:
    """Return the smallest eigenvalue and the dofs that move in its direction.

    Of each tree by itself, where they share no inertia: of a pile of thirty boxes that takes a
    hundredth of the time, which all scenes of a process spend one after the other.
    """
    if inertia[tree[:, None] != tree].any():
        tree = np.zeros_like(tree)
    found = []
    for number in np.unique(tree):
        dofs = np.flatnonzero(tree == number)
        values, vectors = np.linalg.eigh(inertia[np.ix_(dofs, dofs)])
        found.append((float(values[0]), dofs[np.abs(vectors[:, 0]) > 0.2]))
    return min(found, key=lambda each: each[0])
