"""The table of actuators: what they are told, what they do about it, and how stiff they are."""

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.elements import actuator_columns, element_name
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import number_text, range_text
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.dofs import reflected_stiffness
from stroboscope.app.models.tables.options import timestep_of
from stroboscope.app.models.tables.table import (
    NORMAL,
    NOT_COMPUTED,
    WARN,
    Cells,
    Column,
    ColumnKind,
    Table,
    numbers_of,
    texts_of,
)
from stroboscope.debugger_protocol.messages import EditField
from stroboscope.debugger_protocol.scene_description import ActuatorInfo, SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["KP_LIMIT", "KV_LIMIT", "ActuatorTable", "gain_text", "saturation"]

KP_LIMIT = 1.0
KV_LIMIT = 2.0
"""kp·dt²/I and kv·dt/I from which on an explicit servo overshoots within one step."""


def _ratio_text(value: float) -> str:
    return number_text(value, 4 if abs(value) < 10.0 else 1)


_COLUMNS = (
    Column(key="name", title="actuator", kind=ColumnKind.TEXT, sample="left_shoulder_pitch"),
    Column(key="drives", title="drives", kind=ColumnKind.TEXT, sample="left_shoulder_pitch"),
    Column(key="control", title="control", sample="−000.000 rad"),
    Column(
        key="clamped",
        title="clamped",
        sample="−000.000 rad",
        tip="The control as the engine uses it: within its range.",
    ),
    Column(key="range", title="control range", kind=ColumnKind.TEXT, sample="−0.000 … 0.000"),
    Column(key="activation", title="activation", sample="−000.000"),
    Column(key="force", title="force", sample="−0000.000 N·m"),
    Column(
        key="used",
        title="of limit",
        unit="%",
        kind=ColumnKind.BAR,
        decimals=0,
        sample="1000",
        tip="|force| as a part of the force limit on its side.",
    ),
    Column(key="state", title="state", kind=ColumnKind.TEXT, sample="force saturated", marked=True),
    Column(key="length", title="length", sample="−000.000"),
    Column(key="velocity", title="velocity", sample="−000.000"),
    Column(
        key="kp",
        title="kp·dt²/I",
        sample="0000.0000",
        write=_ratio_text,
        tip="Stiffness of a position servo against the inertia it moves; above 1 it overshoots "
        "within one step. Lower kp, a shorter timestep or armature help.",
    ),
    Column(
        key="kv",
        title="kv·dt/I",
        sample="0000.0000",
        write=_ratio_text,
        tip="Damping of a servo against the inertia it moves; above 2 an explicit integrator "
        "diverges. implicitfast, a lower kv or armature help.",
    ),
    Column(key="gain", title="gain and bias", kind=ColumnKind.TEXT, sample="kp 100 kv 10 affine"),
    Column(key="act_dot", title="act dot", sample="−0000.000", extra=True),
)


class ActuatorTable:
    """Rows of one description: one per actuator, or per control where one has several."""

    topics = (Topic.STATE,)
    optional = (Topic.OPTIONS,)

    def __init__(self, description: SceneDescription) -> None:
        self._d = description
        rows: list[tuple[int, int, int, int]] = []
        self._names: list[str] = []
        for index, info in enumerate(description.actuators):
            controls, outputs = actuator_columns(description, index)
            name = element_name(description, Element(ElementKind.ACTUATOR, index))
            count = max(len(controls), len(outputs), 1)
            for n in range(count):
                ctrl = controls[n] if n < len(controls) else -1
                output = outputs[n] if n < len(outputs) else -1
                act = info.act + n if info.act >= 0 and n < info.nact else -1
                rows.append((index, ctrl, output, act))
                self._names.append(f"{name} {n}" if count > 1 else name)
        table = np.array(rows, dtype=np.int64).reshape(-1, 4)
        self._index, self._ctrl, self._output, self._act = table.T
        infos = [description.actuators[index] for index in self._index]
        first = np.append(-1, self._index[:-1]) != self._index if len(rows) else np.empty(0, bool)
        self._first = first
        # Only the first control's range is described.
        ctrl_ranges = [a.ctrlrange if f else None for a, f in zip(infos, first, strict=True)]
        self._ctrl_low, self._ctrl_high = _limits(ctrl_ranges)
        self._force_low, self._force_high = _limits([a.forcerange for a in infos])
        self._ranges = [range_text(*r) if r is not None else "" for r in ctrl_ranges]
        self._ctrl_units = [a.ctrl_unit for a in infos]
        self._force_units = [a.force_unit for a in infos]
        self._targets = [
            a.target
            or (
                element_name(description, Element(ElementKind.JOINT, a.joint))
                if a.joint >= 0
                else ""
            )
            for a in infos
        ]
        unused = {"activation", "act_dot"} if not any(a.nact for a in infos) else set()
        self._columns = tuple(column for column in _COLUMNS if column.key not in unused)
        self._gains = [gain_text(a) for a in infos]
        self._elements = [Element(ElementKind.ACTUATOR, int(index)) for index in self._index]

    def table(self, frames: FrameSet | None) -> Table:
        """Return all rows at the instant of ``frames``."""
        control = numbers_of(
            frames,
            Topic.STATE,
            "ctrl",
            self._ctrl,
            channel="ctrl",
            field=EditField.CTRL,
            units=self._ctrl_units,
        )
        force = numbers_of(
            frames,
            Topic.STATE,
            "actuator_force",
            self._output,
            channel="actuator_force",
            units=self._force_units,
        )
        wanted = control.numbers if control.numbers is not None else np.empty(0)
        limited = np.isfinite(self._ctrl_low) | np.isfinite(self._ctrl_high)
        clamped = np.clip(wanted, self._ctrl_low, self._ctrl_high)
        cut = limited & (clamped != wanted) & np.isfinite(wanted)
        used, saturated = self._used(force)
        state = _words(cut, saturated)
        kp, kv = self._ratios(frames)
        cells = {
            "name": texts_of(self._names),
            "drives": texts_of(self._targets),
            "control": control,
            "clamped": Cells(
                numbers=clamped,
                present=control.present,
                absent=NOT_COMPUTED,
                units=self._ctrl_units,
                levels=np.where(cut, WARN, NORMAL).astype(np.int8),
            ),
            "range": texts_of(self._ranges),
            "activation": numbers_of(
                frames,
                Topic.STATE,
                "act",
                self._act,
                channel="act",
                field=EditField.ACT,
                absent="it has no activation",
            ),
            "act_dot": numbers_of(frames, Topic.STATE, "act_dot", self._act),
            "force": force,
            "used": used,
            "state": texts_of(
                state, levels=np.where(cut | saturated, WARN, NORMAL).astype(np.int8)
            ),
            "length": self._of_output(frames, "actuator_length"),
            "velocity": self._of_output(frames, "actuator_velocity"),
            "kp": kp,
            "kv": kv,
            "gain": texts_of(self._gains),
        }
        return Table(columns=self._columns, cells=cells, keys=self._names, elements=self._elements)

    def _of_output(self, frames: FrameSet | None, name: str) -> Cells:
        return numbers_of(frames, Topic.STATE, name, self._output, channel=name)

    def _used(self, force: Cells) -> tuple[Cells, NDArray[np.bool_]]:
        numbers = force.numbers if force.numbers is not None else np.empty(0)
        known = force.present if force.present is not None else np.ones(len(numbers), np.bool_)
        part = saturation(numbers, self._force_low, self._force_high)
        limited = known & np.isfinite(part)
        saturated = limited & (part >= 1.0)
        levels = np.where(saturated, WARN, NORMAL).astype(np.int8)
        cells = Cells(numbers=100.0 * part, present=limited, absent="no force limit", levels=levels)
        return cells, saturated

    def _ratios(self, frames: FrameSet | None) -> tuple[Cells, Cells]:
        inertia = frames.array(Topic.STATE, "dof_inertia") if frames is not None else None
        dt = timestep_of(self._d, frames)
        pairs = np.full((len(self._index), 2), np.nan)
        for n in np.flatnonzero(self._first):
            pairs[n] = [
                np.nan if ratio is None else ratio
                for ratio in reflected_stiffness(
                    self._d, int(self._index[n]), inertia=inertia, timestep=dt
                )
            ]
        known = np.isfinite(pairs)
        reason = NOT_COMPUTED if inertia is None else "no servo of one joint"
        return tuple(
            Cells(
                numbers=pairs[:, n],
                present=known[:, n],
                absent=reason,
                levels=np.where(known[:, n] & (pairs[:, n] > limit), WARN, NORMAL).astype(np.int8),
            )
            for n, limit in enumerate((KP_LIMIT, KV_LIMIT))
        )  # type: ignore[return-value]


def _limits(
    ranges: list[tuple[float, float] | None],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    pairs = np.array([r if r is not None else (-np.inf, np.inf) for r in ranges], dtype=np.float64)
    low, high = pairs.reshape(-1, 2).T
    return low, high


def saturation(
    force: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return |force| as a part of the limit on its side, NaN where there is none, (n,)."""
    limit = np.where(force < 0.0, -low, high)
    usable = np.isfinite(limit) & (limit > 0.0)
    part = np.full(len(force), np.nan)
    part[usable] = np.abs(force[usable]) / limit[usable]
    return part


def _words(cut: NDArray[np.bool_], saturated: NDArray[np.bool_]) -> list[str]:
    words = [""] * len(cut)
    for n in np.flatnonzero(cut | saturated):
        parts = ["force saturated"] if saturated[n] else []
        parts += ["control clamped"] if cut[n] else []
        words[n] = ", ".join(parts)
    return words


def gain_text(info: ActuatorInfo) -> str:
    """Return gain and bias in words: "kp 100, kv 10" or the engine's kinds."""
    gains = [
        f"{name} {value:g}"
        for name, value in (("kp", info.kp), ("kv", info.kv))
        if value is not None
    ]
    if gains:
        return ", ".join(gains)
    kinds = [word for word in (info.gain, info.bias) if word and word != "none"]
    first = f"gain {info.gainprm[0]:g}" if info.gainprm else ""
    return ", ".join(part for part in (first, " + ".join(kinds)) if part) or info.kind
