"""What the rules look at, and how they word a finding."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.messages import ElementRef, Finding, LogLevel
from stroboscope.engine.element_names import SHOWN_NAME_BYTES, ElementNames
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["MAX_PER_RULE", "Subject", "capped", "length"]

MAX_PER_RULE = 8
"""Findings of one rule; more are told as a number."""


class Subject:
    """One model and scratch data whose positions (contacts too, unless said) are computed."""

    def __init__(
        self, model: Any, data: Any, *, has_contacts: bool, adapter: MujocoAdapter
    ) -> None:
        self.model = model
        self.data = data
        self.has_contacts = has_contacts
        self.adapter = adapter
        self.module = adapter.module
        self.names = ElementNames(model, adapter=adapter, limit=SHOWN_NAME_BYTES)
        self.timestep = float(model.opt.timestep)

    def is_disabled(self, name: str) -> bool:
        """Return whether a flag of ``mjtDisableBit`` is set; False where MuJoCo has none."""
        flag = getattr(self.module.mjtDisableBit, name, None)
        return flag is not None and bool(self.model.opt.disableflags & int(flag))

    def is_enabled(self, name: str) -> bool:
        """Return whether a flag of ``mjtEnableBit`` is set; False where MuJoCo has none."""
        flag = getattr(self.module.mjtEnableBit, name, None)
        return flag is not None and bool(self.model.opt.enableflags & int(flag))

    def ref(self, kind: str, index: int) -> ElementRef:
        """Return a reference to an element; ``kind`` is also the method of ElementNames."""
        return ElementRef(kind=kind, index=int(index), name=getattr(self.names, kind)(int(index)))

    def refs(self, kind: str, indices: Iterable[int]) -> tuple[ElementRef, ...]:
        """Return references to several elements of a kind."""
        return tuple(self.ref(kind, int(index)) for index in indices)

    def listed(self, kind: str, indices: NDArray[Any], *, limit: int = 5) -> str:
        """Return the names of elements in words: "a, b +3 more"."""
        names = ", ".join(ref.name for ref in self.refs(kind, indices[:limit]))
        more = len(indices) - limit
        return f"{names} +{more} more" if more > 0 else names

    def static_geoms(self) -> NDArray[np.bool_]:
        """Return which geoms can't move against the world, (ngeom,)."""
        fixed: NDArray[np.bool_] = np.equal(self.model.body_weldid[self.model.geom_bodyid], 0)
        return fixed

    def thickness(self) -> NDArray[np.float64]:
        """Return the smallest extent of each geom [m], inf for planes and height fields."""
        model, kinds = self.model, self.module.mjtGeom
        kind, size = np.asarray(model.geom_type), np.asarray(model.geom_size)
        # Half sizes of the bounding box in the geom's own frame.
        smallest: NDArray[np.float64] = 2.0 * np.asarray(model.geom_aabb)[:, 3:].min(axis=1)
        rounded = np.isin(kind, [int(kinds.mjGEOM_SPHERE), int(kinds.mjGEOM_CAPSULE)])
        smallest[rounded] = 2.0 * size[rounded, 0]
        endless = np.isin(kind, [int(kinds.mjGEOM_PLANE), int(kinds.mjGEOM_HFIELD)])
        smallest[endless] = np.inf
        return smallest

    def may_collide(self, geom: int) -> NDArray[np.bool_]:
        """Return which geoms' masks let them collide with ``geom``, (ngeom,)."""
        model = self.model
        contype, conaffinity = np.asarray(model.geom_contype), np.asarray(model.geom_conaffinity)
        allowed: NDArray[np.bool_] = (contype[geom] & conaffinity) != 0
        allowed |= (contype & conaffinity[geom]) != 0
        return allowed


@dataclasses.dataclass(frozen=True, slots=True)
class _Unit:
    size: float
    word: str


_LENGTHS = (_Unit(1.0, "m"), _Unit(1e-3, "mm"), _Unit(1e-6, "µm"))


def length(value: float) -> str:
    """Return a length [m] with three digits and a unit that suits it."""
    for unit in _LENGTHS:
        if abs(value) >= unit.size:
            break
    return f"{value / unit.size:.3g}\u2009{unit.word}"


def capped(findings: list[Finding]) -> list[Finding]:
    """Return the first findings of a rule, and one that says how many more there are."""
    if len(findings) <= MAX_PER_RULE:
        return findings
    more = len(findings) - MAX_PER_RULE + 1
    last = findings[MAX_PER_RULE - 1]
    return [
        *findings[: MAX_PER_RULE - 1],
        Finding(
            rule=last.rule,
            level=max((f.level for f in findings[MAX_PER_RULE - 1 :]), key=_loudness),
            text=f"{more} more of the same: the worst are listed",
            advice=last.advice,
            elements=tuple(e for f in findings[MAX_PER_RULE - 1 :] for e in f.elements)[:32],
        ),
    ]


def _loudness(level: LogLevel) -> int:
    return list(LogLevel).index(level)
