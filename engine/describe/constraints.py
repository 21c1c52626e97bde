"""Tendons, equality constraints, contact pairs, and the states that a model offers to begin in."""

from typing import Any

from stroboscope.debugger_protocol.scene_description import (
    EqualityInfo,
    KeyframeInfo,
    PairInfo,
    TendonInfo,
)
from stroboscope.engine.describe.columns import first_column, ranges, scalars, tuples
from stroboscope.engine.describe.part import Part

__all__ = ["describe_equalities", "describe_keyframes", "describe_pairs", "describe_tendons"]

# What the objects of an equality are; of connect and weld, the model says it.
_EQUALITY_OBJECTS = {"joint": "joint", "tendon": "tendon", "distance": "geom"}


def describe_tendons(part: Part) -> tuple[TendonInfo, ...]:
    """Return the tendons, with the joints that a fixed one is made of or the sites on its way."""
    model, wraps = part.model, part.adapter.module.mjtWrap
    joint, site = int(wraps.mjWRAP_JOINT), int(wraps.mjWRAP_SITE)
    begin, count = scalars(model.tendon_adr), scalars(model.tendon_num)
    kind, target = scalars(model.wrap_type), scalars(model.wrap_objid)
    width, group = scalars(model.tendon_width), scalars(model.tendon_group)
    rgba, material = part.colours(model.tendon_rgba, model.tendon_matid), model.tendon_matid
    limits = ranges(model.tendon_range, model.tendon_limited)
    margin, frictionloss = scalars(model.tendon_margin), scalars(model.tendon_frictionloss)
    stiffness, damping = first_column(model.tendon_stiffness), first_column(model.tendon_damping)
    lengthspring = tuples(model.tendon_lengthspring)

    def made_of(index: int, what: int) -> tuple[int, ...]:
        places = range(begin[index], begin[index] + count[index])
        return tuple(target[at] for at in places if kind[at] == what)

    return tuple(
        TendonInfo(
            name=part.names.tendon(i),
            spatial=kind[begin[i]] != joint,
            width=width[i],
            rgba=rgba[i],
            material=int(material[i]),
            group=group[i],
            range=limits[i],
            margin=margin[i],
            stiffness=stiffness[i],
            damping=damping[i],
            frictionloss=frictionloss[i],
            lengthspring=lengthspring[i],
            joints=made_of(i, joint),
            sites=made_of(i, site),
        )
        for i in range(model.ntendon)
    )


def describe_equalities(part: Part) -> tuple[EqualityInfo, ...]:
    """Return the equality constraints."""
    model, adapter = part.model, part.adapter
    words = {
        int(member): name.removeprefix("mjEQ_").lower()
        for name, member in adapter.module.mjtEq.__members__.items()
    }
    kind = [words[number] for number in scalars(model.eq_type)]
    object1, object2 = scalars(model.eq_obj1id), scalars(model.eq_obj2id)
    active, solref, solimp = scalars(model.eq_active0), model.eq_solref, tuples(model.eq_solimp)
    solref = tuples(solref)
    return tuple(
        EqualityInfo(
            name=part.names.equality(i),
            kind=kind[i],
            object_kind=_equality_objects(part, i, kind=kind[i]),
            object1=object1[i],
            object2=object2[i],
            active=bool(active[i]),
            solref=solref[i],
            solimp=solimp[i],
        )
        for i in range(model.neq)
    )


def _equality_objects(part: Part, index: int, *, kind: str) -> str:
    if kind in ("connect", "weld"):
        site = int(part.adapter.module.mjtObj.mjOBJ_SITE)
        return "site" if int(part.model.eq_objtype[index]) == site else "body"
    # All that is left are constraints inside one flex (flex, flexvert, flexstrain).
    return _EQUALITY_OBJECTS.get(kind, "flex")


def describe_pairs(part: Part) -> tuple[PairInfo, ...]:
    """Return the explicit contact pairs."""
    model: Any = part.model
    geom1, geom2 = scalars(model.pair_geom1), scalars(model.pair_geom2)
    return tuple(
        PairInfo(name=part.names.pair(i), geom1=geom1[i], geom2=geom2[i])
        for i in range(model.npair)
    )


def describe_keyframes(part: Part) -> tuple[KeyframeInfo, ...]:
    """Return the keyframes."""
    time = scalars(part.model.key_time)
    return tuple(KeyframeInfo(name=part.names.keyframe(i), time=time[i]) for i in range(len(time)))
