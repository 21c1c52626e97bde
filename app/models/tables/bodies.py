"""The table of bodies: where they are, how they move, and what acts on them from outside."""

import numpy as np

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.dofs import names_of
from stroboscope.app.models.tables.table import (
    Cells,
    Column,
    ColumnKind,
    Table,
    numbers_of,
    texts_of,
)
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["BodyTable"]

_XYZ = tuple(enumerate("xyz"))


def _vector(
    key: str, title: str, unit: str, *, sample: str = "−000.000", tip: str = "", extra: bool = False
) -> tuple[Column, ...]:
    return tuple(
        Column(
            key=f"{key}{n}", title=f"{title} {axis}", unit=unit, sample=sample, tip=tip, extra=extra
        )
        for n, axis in _XYZ
    )


_COLUMNS = (
    Column(key="name", title="body", kind=ColumnKind.TEXT, sample="left_shoulder_pitch_link"),
    *_vector("pos", "", "m", tip="Body frame in the world."),
    *_vector("vel", "v", "m/s", tip="Velocity of the body frame in the world."),
    Column(key="spin", title="|ω|", unit="rad/s"),
    Column(key="mass", title="mass", unit="kg", sample="0000.000"),
    Column(key="subtree", title="subtree", unit="kg", sample="0000.000"),
    *_vector(
        "contact",
        "contact F",
        "N",
        sample="−00000.00",
        tip="Sum of the contact forces on the body, world frame.",
    ),
    *_vector(
        "applied",
        "applied F",
        "N",
        sample="−00000.00",
        tip="xfrc_applied as the step used it, perturbation included.",
        extra=True,
    ),
    *_vector("acc", "a", "m/s²", tip="Acceleration of the body frame.", extra=True),
    Column(key="awake", title="state", kind=ColumnKind.TEXT, sample="asleep"),
    Column(key="island", title="island", decimals=0, sample="000", extra=True),
)


class BodyTable:
    """Rows of one description."""

    topics = (Topic.POSE, Topic.STATE)
    optional = (Topic.BODIES,)

    def __init__(self, description: SceneDescription) -> None:
        bodies = description.bodies
        count = len(bodies)
        self._rows = np.arange(count, dtype=np.int64)
        self._names = names_of(description, ElementKind.BODY, count)
        self._elements = [Element(ElementKind.BODY, n) for n in range(count)]
        self._mass = np.array([body.mass for body in bodies])
        self._subtree = np.array([body.subtree_mass for body in bodies])
        self._fixed = ["fixed" if body.weld == 0 and n else "" for n, body in enumerate(bodies)]

    def table(self, frames: FrameSet | None) -> Table:
        """Return all rows at the instant of ``frames``."""
        velocity = frames.array(Topic.STATE, "body_velocity") if frames is not None else None
        spin = np.full(len(self._rows), np.nan)
        has_spin = velocity is not None and velocity.shape == (len(self._rows), 6)
        if velocity is not None and has_spin:
            spin = np.linalg.norm(velocity[:, 3:], axis=1)
        cells: dict[str, Cells] = {
            "name": texts_of(self._names),
            "spin": Cells(numbers=spin, present=np.full(len(spin), has_spin)),
            "mass": Cells(numbers=self._mass),
            "subtree": Cells(numbers=self._subtree),
            "awake": texts_of(self._states(frames)),
            "island": self._island(frames),
        }
        for n, _ in _XYZ:
            cells[f"pos{n}"] = self._of(frames, Topic.POSE, "xpos", n)
            cells[f"vel{n}"] = self._of(frames, Topic.STATE, "body_velocity", n)
            cells[f"contact{n}"] = self._of(frames, Topic.BODIES, "contact_force", n)
            cells[f"applied{n}"] = self._of(frames, Topic.BODIES, "xfrc_applied", n)
            cells[f"acc{n}"] = self._of(frames, Topic.BODIES, "acceleration", n)
        return Table(columns=_COLUMNS, cells=cells, keys=self._elements, elements=self._elements)

    def _of(self, frames: FrameSet | None, topic: Topic, name: str, column: int) -> Cells:
        return numbers_of(frames, topic, name, self._rows, column=column)

    def _states(self, frames: FrameSet | None) -> list[str]:
        awake = frames.array(Topic.BODIES, "awake") if frames is not None else None
        if awake is None or len(awake) != len(self._rows):
            return self._fixed
        return [
            fixed or ("asleep" if not is_awake else "")
            for fixed, is_awake in zip(self._fixed, awake, strict=True)
        ]

    def _island(self, frames: FrameSet | None) -> Cells:
        cells = numbers_of(frames, Topic.BODIES, "island", self._rows, absent="in no island")
        if cells.numbers is None or cells.present is None:
            return cells
        return Cells(
            numbers=cells.numbers,
            present=cells.present & (cells.numbers >= 0),
            absent=cells.absent,
        )
