"""Contacts in words: where a parameter came from, why there is no force, how fast it slips."""

from collections.abc import Sequence

from stroboscope.app.models.elements import element_name
from stroboscope.app.models.numbers import THIN_SPACE, number_text
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol.scene_description import GeomInfo, SceneDescription
from stroboscope.debugger_protocol.topics import ParameterOrigin

__all__ = [
    "ORIGINS",
    "STATE_TIP",
    "creep_text",
    "excluded_text",
    "origin_text",
    "side_name",
    "slip_text",
]

ORIGINS = ("condim", "friction", "solref", "solimp", "margin")
"""The columns of the array ``origin``."""

STATE_TIP = (
    "slips: friction is at the edge of its cone and holds no more. sticks: it is within the cone;\n"
    "MuJoCo's friction is soft there, so a contact that sticks may still creep at the speed named."
)

_OVERRIDES = {
    "friction": "o_friction",
    "solref": "o_solref",
    "solimp": "o_solimp",
    "margin": "o_margin",
}
_EXCLUDED = {
    0: "",
    1: "in the gap: near, but no force",
    2: "its geoms are welded or fused",
    3: "no dof can answer it",
}


def side_name(description: SceneDescription, geom: int, *, flex: int = -1, vert: int = -1) -> str:
    """Return the name of one side of a contact."""
    if geom >= 0:
        return element_name(description, Element(ElementKind.GEOM, geom))
    if flex >= 0:
        name = element_name(description, Element(ElementKind.FLEX, flex))
        return f"{name} vertex {vert}" if vert >= 0 else name
    return "a flex"


def excluded_text(exclude: int, efc_address: int) -> str:
    """Return why a contact has no force; empty when it has a constraint."""
    if efc_address >= 0:
        return ""
    return _EXCLUDED.get(exclude) or "no constraint in this step"


def slip_text(speed: float) -> str:
    """Return a slip speed [m/s] with the unit it is read best in: m/s, mm/s or µm/s."""
    if not speed >= 1e-3:
        micro = speed * 1e6
        return f"{number_text(micro, 0 if micro >= 100 else 1)}{THIN_SPACE}µm/s"
    if speed < 0.1:
        return f"{number_text(speed * 1e3, 1)}{THIN_SPACE}mm/s"
    return f"{number_text(speed, 4)}{THIN_SPACE}m/s"


def creep_text(speed: float | None) -> str:
    """Return what a contact within its friction cone does at a slip speed [m/s], if known.

    MuJoCo's friction is soft: it holds such a contact only almost.
    """
    if speed is None or not speed * 1e6 >= 0.05:
        return "sticks"
    return f"sticks, creeps {slip_text(speed)}"


def origin_text(
    description: SceneDescription,
    what: str,
    origin: int,
    *,
    geoms: Sequence[int],
    pair: int = -1,
    clamped: bool = False,
) -> str:
    """Return where an effective contact parameter came from.

    ``what`` is one of :data:`ORIGINS`, ``origin`` a ParameterOrigin, ``pair`` the contact pair.
    """
    try:
        kind = ParameterOrigin(origin)
    except ValueError:
        return f"unknown origin {origin}"
    both = [_geom(description, index) for index in geoms]
    names = [side_name(description, index) for index in geoms]
    text = _rule(description, kind, what, both=both, names=names, pair=pair)
    if clamped and what == "solref":
        text += "; time constant raised to 2 timesteps"
    return text


def _geom(description: SceneDescription, index: int) -> GeomInfo | None:
    return description.geoms[index] if 0 <= index < len(description.geoms) else None


def _rule(
    description: SceneDescription,
    kind: ParameterOrigin,
    what: str,
    *,
    both: Sequence[GeomInfo | None],
    names: Sequence[str],
    pair: int,
) -> str:
    first, second = both
    match kind:
        case ParameterOrigin.SAME:
            return "both geoms say so"
        case ParameterOrigin.GEOM1 | ParameterOrigin.GEOM2:
            which = 0 if kind is ParameterOrigin.GEOM1 else 1
            geom = both[which]
            priority = f", priority {geom.priority}" if geom is not None else ""
            return f"{names[which]}{priority}"
        case ParameterOrigin.MAXIMUM | ParameterOrigin.MINIMUM:
            word = "larger" if kind is ParameterOrigin.MAXIMUM else "smaller"
            owner = _extreme(what, both, names, largest=kind is ParameterOrigin.MAXIMUM)
            return f"{owner}, the {word}" if owner else f"the {word} of both geoms"
        case ParameterOrigin.MIX:
            if first is None or second is None or first.solmix + second.solmix <= 0.0:
                return "mixed by solmix"
            share = 100.0 * first.solmix / (first.solmix + second.solmix)
            return f"mixed by solmix: {names[0]} {share:.0f} %, {names[1]} {100 - share:.0f} %"
        case ParameterOrigin.SUM:
            return f"sum of {names[0]} and {names[1]}"
        case ParameterOrigin.PAIR:
            known = description.pairs[pair].name if 0 <= pair < len(description.pairs) else ""
            return f"contact pair {known or pair}"
        case ParameterOrigin.OVERRIDE:
            return f"option {_OVERRIDES.get(what, 'override')}, which overrides all contacts"
        case ParameterOrigin.FLEX:
            return "the flex"


def _extreme(
    what: str, both: Sequence[GeomInfo | None], names: Sequence[str], *, largest: bool
) -> str:
    """Return whose value is the extreme one; empty: not one geom's alone."""
    first, second = both
    if first is None or second is None or what not in ("condim", "friction", "margin"):
        return ""
    a, b = getattr(first, what), getattr(second, what)
    if what == "friction":
        # Element by element: only when one geom has all of them can one be named.
        if all(x >= y for x, y in zip(a, b, strict=True)):
            return names[0] if largest else names[1]
        if all(x <= y for x, y in zip(a, b, strict=True)):
            return names[1] if largest else names[0]
        return ""
    return names[0] if (a >= b) is largest else names[1]
