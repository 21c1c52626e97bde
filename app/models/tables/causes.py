"""Why a dof accelerates: its sources, ranked, and the sum that the engine states."""

import dataclasses
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.elements import element_name
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.contact_words import side_name
from stroboscope.app.models.tables.dofs import dof_rows
from stroboscope.app.models.tables.table import Cells, Column, ColumnKind, Table, texts_of
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import AccelerationSource, Topic

__all__ = ["CauseTable", "DofChoice", "dof_choices", "dofs_of"]

_SOURCES = tuple(AccelerationSource)
_WORDS = {
    AccelerationSource.GRAVITY: "gravity",
    AccelerationSource.CORIOLIS: "Coriolis and centrifugal",
    AccelerationSource.ACTUATOR: "actuator",
    AccelerationSource.SPRING: "spring",
    AccelerationSource.DAMPER: "damper",
    AccelerationSource.GRAVCOMP: "gravity compensation",
    AccelerationSource.FLUID: "fluid",
    AccelerationSource.APPLIED: "applied to the joint (qfrc_applied)",
    AccelerationSource.BODY_FORCE: "applied to the body (xfrc_applied)",
    AccelerationSource.CONTACT: "contact",
    AccelerationSource.LIMIT: "limit",
    AccelerationSource.FRICTION: "friction",
    AccelerationSource.EQUALITY: "equality",
    AccelerationSource.TENDON: "tendon",
    AccelerationSource.CALLBACK: "callback of the script",
    AccelerationSource.REST: "rest, not attributed",
}
_KINDS = {
    AccelerationSource.ACTUATOR: ElementKind.ACTUATOR,
    AccelerationSource.SPRING: ElementKind.JOINT,
    AccelerationSource.DAMPER: ElementKind.JOINT,
    AccelerationSource.GRAVCOMP: ElementKind.BODY,
    AccelerationSource.APPLIED: ElementKind.JOINT,
    AccelerationSource.BODY_FORCE: ElementKind.BODY,
    AccelerationSource.LIMIT: ElementKind.JOINT,
    AccelerationSource.FRICTION: ElementKind.JOINT,
    AccelerationSource.EQUALITY: ElementKind.EQUALITY,
    AccelerationSource.TENDON: ElementKind.TENDON,
}


@dataclasses.dataclass(frozen=True, slots=True)
class DofChoice:
    """One dof that can be asked about."""

    dof: int
    name: str
    linear: bool

    @property
    def unit(self) -> str:
        """Unit of its acceleration."""
        return "m/s²" if self.linear else "rad/s²"


def dof_choices(d: SceneDescription) -> tuple[DofChoice, ...]:
    """Return every dof of a model by name."""
    return tuple(DofChoice(row.dof, row.name, row.linear) for row in dof_rows(d) if row.dof >= 0)


def dofs_of(d: SceneDescription, element: Element | None) -> range:
    """Return the dofs that a selected element is about: a joint's, or its body's first joint's."""
    joint = _joint_of(d, element) if element is not None else -1
    if not 0 <= joint < len(d.joints):
        return range(0)
    info = d.joints[joint]
    return range(info.dof, info.dof + info.type.n_dof)


def _joint_of(d: SceneDescription, element: Element) -> int:
    match element.kind:
        case ElementKind.JOINT:
            return element.index
        case ElementKind.ACTUATOR if element.index < len(d.actuators):
            return d.actuators[element.index].joint
        case ElementKind.BODY:
            body = element.index
        case ElementKind.GEOM if element.index < len(d.geoms):
            body = d.geoms[element.index].body
        case ElementKind.SITE if element.index < len(d.sites):
            body = d.sites[element.index].body
        case _:
            return -1
    # A body without joints moves with the next one above it that has some.
    while 0 < body < len(d.bodies):
        found = next((n for n, joint in enumerate(d.joints) if joint.body == body), -1)
        if found >= 0:
            return found
        body = d.bodies[body].parent
    return -1


class CauseTable:
    """The sources of one dof's acceleration, largest first. ``choice`` None: none is chosen."""

    topics = (Topic.ACCELERATION,)
    optional = (Topic.CONTACTS,)

    def __init__(self, description: SceneDescription) -> None:
        self._d = description
        self.choice: DofChoice | None = None
        self.total: float | None = None

    def table(self, frames: FrameSet | None) -> Table:
        """Return the sources that do something to the chosen dof."""
        self.total = None
        columns = _columns(self.choice)
        arrays = [
            frames.array(Topic.ACCELERATION, name) if frames is not None else None
            for name in ("kind", "index", "qacc", "qfrc", "total")
        ]
        kind, index, qacc, qfrc, total = arrays
        choice = self.choice
        if (
            frames is None
            or choice is None
            or kind is None
            or index is None
            or qacc is None
            or qacc.ndim != 2
            or choice.dof >= qacc.shape[1]
        ):
            return Table(columns=columns, cells={}, keys=())
        if total is not None and choice.dof < total.size:
            self.total = float(total[choice.dof])
        values = qacc[:, choice.dof]
        order = np.argsort(-np.abs(values), kind="stable")
        order = order[values[order] != 0.0]
        kinds = [_source(int(n)) for n in kind[order]]
        which = [int(n) for n in index[order]]
        geoms = frames.array(Topic.CONTACTS, "geom")
        named = [self._named(k, i, geoms) for k, i in zip(kinds, which, strict=True)]
        scale = float(np.abs(values).sum()) or 1.0
        forces = qfrc[order, choice.dof] if qfrc is not None else None
        cells = {
            "name": texts_of([name for name, _ in named]),
            "qacc": Cells(numbers=values[order]),
            "part": Cells(numbers=100.0 * values[order] / scale),
            "kind": texts_of([_WORDS[k] for k in kinds]),
        }
        if forces is not None:
            cells["qfrc"] = Cells(numbers=forces)
        elements = [element for _, element in named]
        keys = _keys(kinds, which, elements)
        return Table(columns=columns, cells=cells, keys=keys, elements=elements)

    def _named(
        self, source: AccelerationSource, index: int, geoms: NDArray[np.float64] | None
    ) -> tuple[str, Element | None]:
        d = self._d
        if index < 0:
            return _WORDS[source], None
        if source is AccelerationSource.CONTACT:
            if geoms is not None and index < len(geoms):
                first, second = (int(geom) for geom in geoms[index])
                pair = Element(ElementKind.CONTACT, first, second)
                return f"{side_name(d, first)} – {side_name(d, second)}", pair
            return f"contact {index}", None
        kind = _KINDS.get(source)
        if kind is None:
            return f"{_WORDS[source]} {index}", None
        element = Element(kind, index)
        return element_name(d, element), element


def _keys(
    kinds: list[AccelerationSource], which: list[int], elements: list[Element | None]
) -> list[Hashable]:
    """Return what tells a source from others in the next frame too; contacts are renumbered."""
    seen: dict[Hashable, int] = {}
    keys: list[Hashable] = []
    for kind, index, element in zip(kinds, which, elements, strict=True):
        name = (kind.value, element if element is not None else index)
        number = seen[name] = seen.get(name, -1) + 1
        keys.append((*name, number))
    return keys


def _source(number: int) -> AccelerationSource:
    return _SOURCES[number] if 0 <= number < len(_SOURCES) else AccelerationSource.REST


def _columns(choice: DofChoice | None) -> tuple[Column, ...]:
    unit = choice.unit if choice is not None else ""
    force = "" if choice is None else ("N" if choice.linear else "N·m")
    return (
        Column(
            key="name", title="source", kind=ColumnKind.TEXT, sample="applied to the joint (qfrc_)"
        ),
        Column(key="qacc", title="acceleration", unit=unit, sample="−000000.000"),
        Column(
            key="part",
            title="part",
            unit="%",
            kind=ColumnKind.BAR,
            decimals=1,
            sample="−100.0 of all",
            tip="Of the sum of all magnitudes; negative: against the dof's positive direction.",
        ),
        Column(key="qfrc", title="force", unit=force, sample="−000000.000"),
        Column(
            key="kind", title="kind", kind=ColumnKind.TEXT, sample="applied to the body (xfrc_app"
        ),
    )
