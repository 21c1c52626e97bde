"""Constraints that start opened, or are stiffer than the timestep allows."""

import numpy as np

from stroboscope.debugger_protocol.messages import ElementRef, Finding, LogLevel
from stroboscope.engine.frames.constraint_rows import equality_anchors
from stroboscope.engine.lint.subject import Subject, length

__all__ = ["open_equalities", "short_time_constants"]

_OPEN = 5e-3


def open_equalities(subject: Subject) -> list[Finding]:
    """Find connects and welds whose two sides are apart."""
    model, data = subject.model, subject.data
    if not model.neq or subject.is_disabled("mjDSBL_EQUALITY"):
        return []
    anchors = equality_anchors(model, data, adapter=subject.adapter)
    apart = np.linalg.norm(anchors[:, 1] - anchors[:, 0], axis=1)
    opened = np.flatnonzero((np.asarray(data.eq_active) != 0) & (np.nan_to_num(apart) > _OPEN))
    found = []
    for index in opened[np.argsort(-apart[opened])].tolist():
        kind = "site" if _is_by_site(subject, index) else "body"
        ends = [int(objects[index]) for objects in (model.eq_obj1id, model.eq_obj2id)]
        one, two = (getattr(subject.names, kind)(end) for end in ends)
        bodies = [int(model.site_bodyid[end]) for end in ends] if kind == "site" else ends
        mocap = [b for b in bodies if model.body_mocapid[b] >= 0]
        hint = (
            f"Put {subject.names.body(mocap[0])} (mocap_pos, mocap_quat) where the other one is"
            if mocap
            else "Start from a state in which they meet, or correct the anchor"
        )
        found.append(
            Finding(
                rule="open-equality",
                level=LogLevel.WARNING,
                text=(
                    f"{subject.names.equality(index)} holds {one} to {two}, and they are "
                    f"{length(float(apart[index]))} apart: the constraint snaps them together"
                ),
                advice=f'{hint}, or begin with active="false".',
                elements=(subject.ref("equality", index), *subject.refs(kind, ends)),
            )
        )
    return found


def _is_by_site(subject: Subject, index: int) -> bool:
    return int(subject.model.eq_objtype[index]) == int(subject.module.mjtObj.mjOBJ_SITE)


def short_time_constants(subject: Subject) -> list[Finding]:
    """Find solref time constants below two timesteps."""
    model = subject.model
    shortest = 2.0 * subject.timestep
    collides = (np.asarray(model.geom_contype) | np.asarray(model.geom_conaffinity)) != 0
    limited = np.asarray(model.jnt_limited) != 0
    tables = (
        ("geom", model.geom_solref, collides),
        ("pair", model.pair_solref, np.ones(model.npair, dtype=bool)),
        ("joint", model.jnt_solref, limited),
        ("equality", model.eq_solref, np.ones(model.neq, dtype=bool)),
    )
    safe = not subject.is_disabled("mjDSBL_REFSAFE")
    found = []
    for kind, solref, used in tables:
        table = np.asarray(solref).reshape(-1, 2)
        # Rounding: 0.02 is meant to be twice 0.01.
        too_short = (table[:, 0] > 0.0) & (table[:, 0] < shortest * (1.0 - 1e-9)) & used
        chosen = np.flatnonzero(too_short)
        if not chosen.size:
            continue
        elements: tuple[ElementRef, ...] = subject.refs(kind, chosen[:8])
        smallest = float(table[chosen, 0].min())
        then = (
            f"MuJoCo raises it to 2·dt = {shortest:.3g}\u2009s, so they are softer than written"
            if safe
            else "refsafe is disabled, so they can become unstable"
        )
        found.append(
            Finding(
                rule="time-constant",
                level=LogLevel.INFO if safe else LogLevel.ERROR,
                text=(
                    f"solref of {subject.listed(kind, chosen)} has a time constant of "
                    f"{smallest:.3g}\u2009s, less than two timesteps: {then}"
                ),
                advice=f"Use a timestep below {0.5 * smallest:.2g}\u2009s, or a larger solref.",
                elements=elements,
            )
        )
    return found
