"""Geoms that overlap, that can't meet, and that may pass through each other."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.messages import Finding, LogLevel
from stroboscope.engine.contacts import cross
from stroboscope.engine.lint.subject import Subject, length

__all__ = ["missed_floors", "penetrations", "tunnelling"]

_DEEP = 1e-3
_DEEP_SHARE = 0.05
_VERY_DEEP_SHARE = 0.25
_HORIZON_S = 2.0
_MAX_FAST_GEOMS = 64


def penetrations(subject: Subject) -> list[Finding]:
    """Find geoms that overlap so deeply that they will be thrown apart."""
    if not subject.has_contacts or not subject.data.ncon:
        return []
    contact = subject.data.contact
    deepest: dict[tuple[int, int], float] = {}
    rows = zip(contact.geom.tolist(), contact.dist.tolist(), contact.exclude.tolist(), strict=True)
    for (first, second), dist, exclude in rows:
        # Contacts of flexes have no geom; what is excluded has no force.
        if min(first, second) >= 0 and not exclude:
            key = (first, second)
            deepest[key] = min(dist, deepest.get(key, 0.0))
    thickness, body = subject.thickness(), subject.model.geom_bodyid
    by_bodies: dict[tuple[int, int], list[_Overlap]] = {}
    for (first, second), dist in sorted(deepest.items(), key=lambda item: item[1]):
        size = float(min(thickness[first], thickness[second]))
        if -dist > max(_DEEP, _DEEP_SHARE * size):
            one, two = sorted((int(body[first]), int(body[second])))
            by_bodies.setdefault((one, two), []).append(_Overlap(first, second, dist, size))
    return [_penetration(subject, bodies, pairs) for bodies, pairs in by_bodies.items()]


@dataclasses.dataclass(frozen=True, slots=True)
class _Overlap:
    first: int
    second: int
    dist: float
    size: float
    """The smaller extent of the two geoms [m]."""


def _penetration(subject: Subject, bodies: tuple[int, int], overlaps: list[_Overlap]) -> Finding:
    """Return what is said of two bodies; ``overlaps`` of their geoms, deepest first."""
    deepest, names = overlaps[0], subject.names
    one, two = (names.body(b) for b in bodies)
    others = len(overlaps) - 1
    more = f", and {others} more pair{'s' * (others > 1)} of their geoms" if others else ""
    reason, remedy = _why_they_collide(subject, *bodies)
    advice = "Move them apart"
    if 0 not in bodies:
        advice += (
            f', or keep them from colliding: <exclude body1="{one}" body2="{two}"/>, or other '
            "contype/conaffinity"
        )
    if subject.model.nkey:
        advice += "; the model has keyframes: is one of them the state to start from?"
    very_deep = any(-overlap.dist > _VERY_DEEP_SHARE * overlap.size for overlap in overlaps)
    return Finding(
        rule="penetration",
        level=LogLevel.ERROR if very_deep else LogLevel.WARNING,
        text=(
            f"{names.geom(deepest.first)} and {names.geom(deepest.second)} overlap by "
            f"{length(-deepest.dist)} (distance {deepest.dist:.4g}\u2009m; bodies {one} and "
            f"{two}){more}: contacts throw them apart.{reason}"
        ),
        advice=f"{advice.rstrip('?.')}{'?' if advice.endswith('?') else '.'}{remedy}",
        elements=(
            *subject.refs("geom", (deepest.first, deepest.second)),
            *subject.refs("body", bodies),
        ),
    )


def _why_they_collide(subject: Subject, one: int, two: int) -> tuple[str, str]:
    """Return why the filter between parent and child lets two bodies collide, and a remedy."""
    model, names = subject.model, subject.names
    weld = model.body_weldid
    parent = {b: int(weld[model.body_parentid[weld[b]]]) for b in (one, two)}
    for fixed, other in ((one, two), (two, one)):
        if weld[fixed] != 0 or fixed == 0:
            continue
        ancestor = other
        while ancestor not in (0, fixed):
            ancestor = int(model.body_parentid[ancestor])
        if ancestor != fixed:
            continue
        text = (
            f" {names.body(fixed)} is static (it has no joint), and MuJoCo's filter between "
            "parent and child does not apply to static bodies"
        )
        if parent[other] != 0:
            carrier = names.body(parent[other])
            text += (
                f"; {names.body(other)} hangs on {carrier}, and contacts between "
                f"{carrier} and {names.body(other)} are filtered"
            )
        return text + ".", f" Or give {names.body(fixed)} a joint, if it should move."
    if subject.is_disabled("mjDSBL_FILTERPARENT") and (
        parent[one] == weld[two] or parent[two] == weld[one]
    ):
        return " They are parent and child, and the flag filterparent is disabled.", ""
    return "", ""


def tunnelling(subject: Subject) -> list[Finding]:
    """Find geoms that are about to cross a thin one within a single timestep."""
    model, data = subject.model, subject.data
    body = np.asarray(model.geom_bodyid)
    arm = data.geom_xpos - data.subtree_com[model.body_rootid[body]]
    spatial = data.cvel[body]
    velocity = spatial[:, 3:] + cross(spatial[:, :3], arm)
    thickness = subject.thickness()
    per_step = np.linalg.norm(velocity, axis=1) * subject.timestep
    masked = (np.asarray(model.geom_contype) | np.asarray(model.geom_conaffinity)) != 0
    thinnest = thickness[masked].min(initial=np.inf)
    fast = np.flatnonzero(masked & (per_step > thinnest))
    fast = fast[np.argsort(-per_step[fast])][:_MAX_FAST_GEOMS]
    found = []
    for geom in fast.tolist():
        relative = velocity[geom] - velocity
        crossed = np.linalg.norm(relative, axis=1) * subject.timestep
        targets = subject.may_collide(geom) & (crossed > thickness)
        targets &= model.body_weldid[body] != model.body_weldid[body[geom]]
        for target in np.flatnonzero(targets).tolist():
            # Of two that move, the one that is faster is told.
            if per_step[target] > per_step[geom]:
                continue
            if _heads_for(subject, geom, target, relative[target], radius=thickness[geom] / 2.0):
                found.append(
                    _tunnel(subject, geom, target, float(crossed[target]), thickness[target])
                )
    return found


def _heads_for(
    subject: Subject, geom: int, target: int, velocity: NDArray[np.float64], *, radius: float
) -> bool:
    """Return whether a geom will enter the box around another one soon at this velocity."""
    model, data = subject.model, subject.data
    axes = data.geom_xmat[target].reshape(3, 3)
    box = model.geom_aabb[target]
    start = (data.geom_xpos[geom] - data.geom_xpos[target]) @ axes - box[:3]
    along = velocity @ axes
    half = box[3:] + radius
    safe = np.where(np.abs(along) > 1e-12, along, 1e-12)
    times = np.stack(((-half - start) / safe, (half - start) / safe))
    enters, leaves = float(times.min(axis=0).max()), float(times.max(axis=0).min())
    return -subject.timestep <= enters <= min(leaves, _HORIZON_S)


def _tunnel(subject: Subject, geom: int, target: int, crossed: float, thickness: float) -> Finding:
    moving, thin = subject.names.geom(geom), subject.names.geom(target)
    speed = crossed / subject.timestep
    return Finding(
        rule="tunnelling",
        level=LogLevel.WARNING,
        text=(
            f"{moving} moves {length(crossed)} per timestep (v·dt, {speed:.3g}\u2009m/s · "
            f"{subject.timestep:.3g}\u2009s) and {thin} is {length(thickness)} thick: it can pass "
            "through without being stopped"
        ),
        advice=(
            f"Use a timestep below {0.5 * thickness / speed:.2g}\u2009s, a thicker geom for "
            f"{thin}, or a margin of at least {length(crossed)}."
        ),
        elements=subject.refs("geom", (geom, target)),
    )


def missed_floors(subject: Subject) -> list[Finding]:
    """Find floors that what falls on them can't touch, because of contype and conaffinity."""
    model, module = subject.model, subject.module
    if not subject.adapter.has_gravity(model) or not np.any(model.opt.gravity):
        return []
    if subject.is_disabled("mjDSBL_CONTACT"):
        return []
    static = subject.static_geoms()
    kinds = [int(module.mjtGeom.mjGEOM_PLANE), int(module.mjtGeom.mjGEOM_HFIELD)]
    floors = np.flatnonzero(static & np.isin(model.geom_type, kinds))
    if not floors.size:
        return []
    paired = _paired_geoms(subject)
    free = np.asarray(model.jnt_type) == int(module.mjtJoint.mjJNT_FREE)
    found = []
    for body in np.asarray(model.jnt_bodyid)[free].tolist():
        own = np.flatnonzero(model.body_rootid[model.geom_bodyid] == body)
        masks = np.asarray(model.geom_contype)[own] | np.asarray(model.geom_conaffinity)[own]
        if not masks.any() or np.isin(own, paired).any():
            continue
        if any((subject.may_collide(g) & static).any() for g in own.tolist()):
            continue
        found.append(
            Finding(
                rule="missed-floor",
                level=LogLevel.WARNING,
                text=(
                    f"{subject.names.body(body)} is free to fall and none of its geoms can touch "
                    f"{subject.listed('geom', floors)}: their contype and conaffinity share no bit"
                ),
                advice=(
                    "A pair collides when contype of one has a bit of conaffinity of the other: "
                    "set both to 1, or name the pair in <contact>."
                ),
                elements=(subject.ref("body", body), *subject.refs("geom", floors[:4])),
            )
        )
    return found


def _paired_geoms(subject: Subject) -> NDArray[np.int64]:
    model = subject.model
    if not model.npair:
        return np.zeros(0, dtype=np.int64)
    return np.unique(np.concatenate((model.pair_geom1, model.pair_geom2))).astype(np.int64)
