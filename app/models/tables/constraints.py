"""The table of constraints: one row per scalar constraint under the sum of its type."""

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.elements import element_name
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.contact_words import side_name
from stroboscope.app.models.tables.dofs import joint_of_dof
from stroboscope.app.models.tables.solver_words import SolverSummary, solver_summary
from stroboscope.app.models.tables.table import (
    NORMAL,
    WARN,
    Cells,
    Column,
    ColumnKind,
    Table,
    texts_of,
)
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["ConstraintTable", "constraint_element", "type_text"]

_TYPES = {
    "equality": "equality",
    "friction_dof": "joint friction",
    "friction_tendon": "tendon friction",
    "limit_joint": "joint limit",
    "limit_tendon": "tendon limit",
    "contact_frictionless": "contact, frictionless",
    "contact_pyramidal": "contact, pyramid",
    "contact_elliptic": "contact, cone",
}
_STATES = {
    "satisfied": "satisfied, no force",
    "quadratic": "active",
    "linearneg": "at its limit",
    "linearpos": "at its limit",
    "cone": "slides on its cone",
}
_NUMBERS = (
    ("pos", "residual", 6, "−000.000000", "How far it is violated, or its distance.", False),
    ("vel", "velocity", 4, "−0000.0000", "Rate of the residual.", False),
    ("force", "force", 4, "−00000.0000", "", False),
    ("impedance", "impedance", 4, "0.0000", "0: soft, 1: hard.", False),
    ("aref", "aref", 3, "−000000.000", "Acceleration that solref asks for.", True),
    ("regularization", "R", 6, "00000.000000", "Regularization: larger is softer.", True),
    ("margin", "margin", 4, "0.0000", "", True),
    ("frictionloss", "frictionloss", 3, "000.000", "", True),
)
_COLUMNS = (
    Column(key="name", title="constraint", kind=ColumnKind.TEXT, sample="joint limit left_knee"),
    *(
        Column(key=key, title=title, decimals=decimals, sample=sample, tip=tip, extra=extra)
        for key, title, decimals, sample, tip, extra in _NUMBERS
    ),
    Column(
        key="state", title="state", kind=ColumnKind.TEXT, sample="satisfied, no force", marked=True
    ),
    Column(key="island", title="island", decimals=0, sample="000"),
)


def type_text(word: str) -> str:
    """Return an engine's word for a constraint as people say it."""
    return _TYPES.get(word, word.replace("_", " "))


def constraint_element(
    d: SceneDescription, word: str, which: int, geoms: NDArray[np.float64] | None
) -> Element | None:
    """Return the element a constraint is of; ``geoms`` (n, 2) are the contacts'."""
    match word:
        case "equality":
            return Element(ElementKind.EQUALITY, which)
        case "friction_dof":
            joint = joint_of_dof(d, which)
            return Element(ElementKind.JOINT, joint) if joint >= 0 else None
        case "limit_joint":
            return Element(ElementKind.JOINT, which)
        case "friction_tendon" | "limit_tendon":
            return Element(ElementKind.TENDON, which)
    if word.startswith("contact") and geoms is not None and 0 <= which < len(geoms):
        first, second = (int(geom) for geom in geoms[which])
        return Element(ElementKind.CONTACT, first, second)
    return None


class ConstraintTable:
    """Constraints of one description; ``summary`` is the solver's part at the instant shown."""

    topics = (Topic.CONSTRAINTS, Topic.SOLVER)
    optional = (Topic.CONTACTS, Topic.OPTIONS)

    def __init__(self, description: SceneDescription) -> None:
        self._d = description
        self.summary: SolverSummary | None = None
        self._names: dict[tuple[int, int, int, int], tuple[str, Element | None]] = {}

    def table(self, frames: FrameSet | None) -> Table:
        """Return a head for each type of constraint, and its rows."""
        self.summary = solver_summary(self._d, frames)
        kind, which = self._ints(frames, "type"), self._ints(frames, "id")
        if frames is None or kind is None or which is None or not kind.size:
            return Table(columns=_COLUMNS, cells={}, keys=())
        types, group = np.unique(kind, return_inverse=True)
        heads = len(types)
        words = [self._word(int(n)) for n in types]
        counts = np.bincount(group, minlength=heads)
        geoms = frames.array(Topic.CONTACTS, "geom")
        named = [self._named(int(k), int(i), geoms) for k, i in zip(kind, which, strict=True)]
        elements: list[Element | None] = [None] * heads
        elements += [element for _, element in named]
        head_names = [
            f"{type_text(word)} ({count})" for word, count in zip(words, counts, strict=True)
        ]
        states, levels = self._states(frames, len(kind), heads)
        cells = {
            "name": texts_of([*head_names, *(name for name, _ in named)]),
            "state": texts_of(states, levels=levels),
            "island": self._numbers(frames, "island", heads, len(kind)),
            **{key: self._numbers(frames, key, heads, len(kind)) for key, *_ in _NUMBERS},
        }
        return Table(
            columns=_COLUMNS,
            cells=cells,
            keys=[*(("type", word) for word in words), *_row_keys(kind, which)],
            elements=elements,
            parents=np.concatenate((np.full(heads, -1), group)).astype(np.int64),
        )

    def _word(self, kind: int) -> str:
        words = self._d.constraint_types
        return words[kind] if 0 <= kind < len(words) else f"type {kind}"

    @staticmethod
    def _ints(frames: FrameSet | None, name: str) -> NDArray[np.int64] | None:
        array = frames.array(Topic.CONSTRAINTS, name) if frames is not None else None
        return None if array is None else array.astype(np.int64)

    def _named(
        self, kind: int, which: int, geoms: NDArray[np.float64] | None
    ) -> tuple[str, Element | None]:
        word = self._word(kind)
        pair = (-1, -1)
        if word.startswith("contact") and geoms is not None and 0 <= which < len(geoms):
            pair = (int(geoms[which, 0]), int(geoms[which, 1]))
        key = (kind, which, *pair)
        if key not in self._names:
            element = constraint_element(self._d, word, which, geoms)
            if element is None:
                name = f"{type_text(word)} {which}"
            elif element.kind is ElementKind.CONTACT:
                name = " – ".join(side_name(self._d, geom) for geom in pair)
            else:
                name = element_name(self._d, element)
            self._names[key] = (name, element)
        return self._names[key]

    def _states(
        self, frames: FrameSet, count: int, heads: int
    ) -> tuple[list[str], NDArray[np.int8]]:
        state = self._ints(frames, "state")
        if state is None:
            return [""] * (heads + count), np.zeros(heads + count, dtype=np.int8)
        words = self._d.constraint_states
        known = [words[n] if 0 <= n < len(words) else f"state {n}" for n in state]
        at_limit = np.array(
            [word in ("cone", "linearneg", "linearpos") for word in known], dtype=np.bool_
        )
        levels = np.where(at_limit, WARN, NORMAL).astype(np.int8)
        return (
            [""] * heads + [_STATES.get(word, word) for word in known],
            np.concatenate((np.zeros(heads, dtype=np.int8), levels)),
        )

    @staticmethod
    def _numbers(frames: FrameSet, name: str, heads: int, count: int) -> Cells:
        array = frames.array(Topic.CONSTRAINTS, name)
        known = array is not None and array.size == count
        values = array if array is not None and known else np.full(count, np.nan)
        present = np.full(count, known)
        if name == "island":
            present &= values >= 0
        return Cells(
            numbers=np.concatenate((np.full(heads, np.nan), values)),
            present=np.concatenate((np.zeros(heads, dtype=np.bool_), present)),
            absent="in no island" if name == "island" and known else "not computed in this step",
        )


def _row_keys(kind: NDArray[np.int64], which: NDArray[np.int64]) -> list[Hashable]:
    seen: dict[tuple[int, int], int] = {}
    keys: list[Hashable] = []
    for pair in zip(kind.tolist(), which.tolist(), strict=True):
        number = seen[pair] = seen.get(pair, -1) + 1
        keys.append((*pair, number))
    return keys
