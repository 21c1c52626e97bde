"""The table of joints: one row per dof, with limits and what pushes it."""

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import range_text
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.dofs import dof_rows
from stroboscope.app.models.tables.table import (
    NORMAL,
    WARN,
    Cells,
    Column,
    ColumnKind,
    Table,
    numbers_of,
    texts_of,
)
from stroboscope.debugger_protocol.messages import EditField
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["JointTable"]

_FORCES = (
    ("qfrc_passive", "passive", "springs, dampers, gravity compensation, fluid", False),
    ("qfrc_actuator", "actuators", "what all actuators do to this dof", False),
    ("qfrc_applied", "applied", "written by the script or by you", False),
    ("qfrc_constraint", "constraints", "contacts, limits, friction, equalities", False),
    ("qfrc_bias", "bias", "Coriolis, centrifugal and gravity; stands on the other side", False),
    ("qfrc_spring", "spring", "part of passive", True),
    ("qfrc_damper", "damper", "part of passive", True),
    ("qfrc_gravcomp", "gravcomp", "gravity compensation", True),
    ("qfrc_fluid", "fluid", "drag and lift, part of passive", True),
)
_COLUMNS = (
    Column(key="name", title="joint", kind=ColumnKind.TEXT, sample="left_shoulder_pitch"),
    Column(key="position", title="position", sample="−000.000 rad"),
    Column(key="velocity", title="velocity", sample="−000.000 rad/s"),
    Column(key="acceleration", title="acceleration", sample="−000.000 rad/s²"),
    Column(key="range", title="range", kind=ColumnKind.TEXT, sample="−0.000 … 0.000"),
    Column(
        key="margin",
        title="to limit",
        sample="−0.000 rad",
        tip="How far the position is from its nearer limit; negative: beyond it.",
    ),
    Column(key="state", title="state", kind=ColumnKind.TEXT, sample="beyond upper", marked=True),
    *(
        Column(key=key, title=title, sample="−0000.000 N·m", tip=f"{key}: {tip}.", extra=extra)
        for key, title, tip, extra in _FORCES
    ),
    Column(
        key="inertia",
        title="inertia",
        decimals=5,
        sample="000.00000 kg·m²",
        tip="Diagonal of the joint-space inertia matrix, armature included.",
    ),
)


class JointTable:
    """Rows of one description; ``table`` fills in the numbers of an instant."""

    topics = (Topic.STATE,)
    optional: tuple[Topic, ...] = ()

    def __init__(self, description: SceneDescription) -> None:
        rows = dof_rows(description)
        joints = description.joints
        self._qpos = np.array([row.qpos for row in rows], dtype=np.int64)
        self._dof = np.array([row.dof for row in rows], dtype=np.int64)
        self._names = [row.name for row in rows]
        self._elements = [Element(ElementKind.JOINT, row.joint) for row in rows]
        self._low = np.full(len(rows), -np.inf)
        self._high = np.full(len(rows), np.inf)
        self._ranges: list[str] = []
        for n, row in enumerate(rows):
            limits = joints[row.joint].range if row.qpos >= 0 and row.dof >= 0 else None
            if limits is not None and not np.isfinite(limits).any():
                limits = None
            self._ranges.append(range_text(*limits) if limits is not None else "")
            if limits is not None:
                self._low[n], self._high[n] = limits
        self._touch = np.array([joints[row.joint].margin for row in rows])
        linear = [row.linear for row in rows]
        quaternion = [row.dof < 0 for row in rows]

        def units(straight: str, turning: str) -> list[str]:
            return [straight if is_linear else turning for is_linear in linear]

        self._position_units = [
            "" if q else unit for q, unit in zip(quaternion, units("m", "rad"), strict=True)
        ]
        self._velocity_units = units("m/s", "rad/s")
        self._acceleration_units = units("m/s²", "rad/s²")
        self._force_units = units("N", "N·m")
        self._inertia_units = units("kg", "kg·m²")

    def table(self, frames: FrameSet | None) -> Table:
        """Return all rows at the instant of ``frames``; absent values where there are none."""
        position = numbers_of(
            frames,
            Topic.STATE,
            "qpos",
            self._qpos,
            channel="qpos",
            field=EditField.QPOS,
            units=self._position_units,
        )
        margin, state, levels = self._limits(position)
        cells = {
            "name": texts_of(self._names),
            "position": position,
            "velocity": self._of_dof(frames, "qvel", self._velocity_units, field=EditField.QVEL),
            "acceleration": self._of_dof(frames, "qacc", self._acceleration_units),
            "range": texts_of(self._ranges),
            "margin": margin,
            "state": texts_of(state, levels=levels),
            "inertia": numbers_of(
                frames, Topic.STATE, "dof_inertia", self._dof, units=self._inertia_units
            ),
            **{
                key: self._of_dof(
                    frames,
                    key,
                    self._force_units,
                    field=EditField.QFRC_APPLIED if key == "qfrc_applied" else None,
                )
                for key, *_ in _FORCES
            },
        }
        return Table(columns=_COLUMNS, cells=cells, keys=self._names, elements=self._elements)

    def _of_dof(
        self,
        frames: FrameSet | None,
        name: str,
        units: list[str],
        *,
        field: EditField | None = None,
    ) -> Cells:
        return numbers_of(
            frames, Topic.STATE, name, self._dof, channel=name, field=field, units=units
        )

    def _limits(self, position: Cells) -> tuple[Cells, list[str], NDArray[np.int8]]:
        numbers = position.numbers if position.numbers is not None else np.empty(0)
        limited = (np.isfinite(self._low) | np.isfinite(self._high)) & np.isfinite(numbers)
        limited &= position.present if position.present is not None else True
        below, above = numbers - self._low, self._high - numbers
        margin = np.minimum(below, above)
        beyond = limited & (margin < 0.0)
        at_limit = limited & ~beyond & (margin <= self._touch)
        levels = np.where(beyond, WARN, NORMAL).astype(np.int8)
        upper = above < below
        state = [""] * len(numbers)
        for n in np.flatnonzero(beyond | at_limit):
            side = "upper" if upper[n] else "lower"
            state[n] = f"beyond {side}" if beyond[n] else f"at {side}"
        cells = Cells(
            numbers=margin,
            present=limited.astype(np.bool_),
            absent="no limit, or the position is no number",
            units=self._position_units,
            levels=levels,
        )
        return cells, state, levels
