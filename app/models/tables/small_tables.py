"""Tables of tendons, sensors, user data and equalities: one row per number."""

import numpy as np

from stroboscope.app.models.elements import element_name, sensor_components
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import range_text
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.dofs import names_of
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
from stroboscope.debugger_protocol.scene_description import EqualityInfo, SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["EqualityTable", "SensorTable", "TendonTable", "UserdataTable", "equality_objects"]


class TendonTable:
    """Length, range and force of each tendon."""

    topics = (Topic.TENDONS,)
    optional: tuple[Topic, ...] = ()
    _columns = (
        Column(key="name", title="tendon", kind=ColumnKind.TEXT, sample="left_hamstring_tendon"),
        Column(key="length", title="length", decimals=4),
        Column(key="velocity", title="velocity", decimals=4),
        Column(key="range", title="range", kind=ColumnKind.TEXT, sample="−0.000 … 0.000"),
        Column(key="margin", title="to limit", decimals=4),
        Column(
            key="force",
            title="force",
            sample="−0000.000",
            tip="Of actuators, springs and dampers along the tendon.",
        ),
        Column(
            key="state", title="state", kind=ColumnKind.TEXT, sample="beyond upper", marked=True
        ),
    )

    def __init__(self, description: SceneDescription) -> None:
        tendons = description.tendons
        count = len(tendons)
        self._rows = np.arange(count, dtype=np.int64)
        self._names = names_of(description, ElementKind.TENDON, count)
        self._elements = [Element(ElementKind.TENDON, n) for n in range(count)]
        self._ranges = [range_text(*t.range) if t.range is not None else "" for t in tendons]
        limits = [t.range if t.range is not None else (-np.inf, np.inf) for t in tendons]
        self._low, self._high = np.array(limits, dtype=np.float64).reshape(-1, 2).T

    def table(self, frames: FrameSet | None) -> Table:
        """Return all rows at the instant of ``frames``."""
        length = numbers_of(frames, Topic.TENDONS, "length", self._rows)
        numbers = length.numbers if length.numbers is not None else np.empty(0)
        below, above = numbers - self._low, self._high - numbers
        margin = np.minimum(below, above)
        known = np.isfinite(margin)
        beyond = known & (margin < 0)
        levels = np.where(beyond, WARN, NORMAL).astype(np.int8)
        states = [
            f"beyond {'upper' if high < low else 'lower'}" if is_beyond else ""
            for is_beyond, low, high in zip(beyond, below, above, strict=True)
        ]
        cells = {
            "name": texts_of(self._names),
            "length": length,
            "velocity": numbers_of(frames, Topic.TENDONS, "velocity", self._rows),
            "range": texts_of(self._ranges),
            "margin": Cells(numbers=margin, present=known, absent="no limit", levels=levels),
            "force": numbers_of(frames, Topic.TENDONS, "force", self._rows),
            "state": texts_of(states, levels=levels),
        }
        return Table(
            columns=self._columns, cells=cells, keys=self._elements, elements=self._elements
        )


class SensorTable:
    """One row per number of every sensor."""

    topics = (Topic.SENSORS,)
    optional: tuple[Topic, ...] = ()
    _columns = (
        Column(key="name", title="sensor", kind=ColumnKind.TEXT, sample="imu_in_torso_velocity x"),
        Column(key="value", title="value", decimals=4, sample="−00000.0000 kg·m²/s"),
        Column(key="kind", title="kind", kind=ColumnKind.TEXT, sample="tendonlimitfrc"),
        Column(key="object", title="of", kind=ColumnKind.TEXT, sample="left_shoulder_pitch_link"),
        Column(key="state", title="state", kind=ColumnKind.TEXT, sample="at cutoff", marked=True),
    )

    def __init__(self, description: SceneDescription) -> None:
        rows = [
            (index, n) for index, s in enumerate(description.sensors) for n in range(max(s.dim, 1))
        ]
        sensors = [description.sensors[index] for index, _ in rows]
        self._adr = np.array([s.adr + n for s, (_, n) in zip(sensors, rows, strict=True)], np.int64)
        self._names = []
        for (index, n), sensor in zip(rows, sensors, strict=True):
            axes = sensor_components(sensor)
            name = element_name(description, Element(ElementKind.SENSOR, index))
            self._names.append(f"{name} {axes[n]}".rstrip())
        self._units = [sensor.unit for sensor in sensors]
        self._kinds = [sensor.kind for sensor in sensors]
        self._objects = [sensor.object for sensor in sensors]
        self._cutoff = np.array([sensor.cutoff or np.inf for sensor in sensors])
        self._elements = [Element(ElementKind.SENSOR, index) for index, _ in rows]

    def table(self, frames: FrameSet | None) -> Table:
        """Return all rows at the instant of ``frames``."""
        value = numbers_of(
            frames,
            Topic.SENSORS,
            "sensordata",
            self._adr,
            channel="sensordata",
            units=self._units,
        )
        numbers = value.numbers if value.numbers is not None else np.empty(0)
        cut = np.abs(np.nan_to_num(numbers)) >= self._cutoff
        levels = np.where(cut, WARN, NORMAL).astype(np.int8)
        cells = {
            "name": texts_of(self._names),
            "value": value,
            "kind": texts_of(self._kinds),
            "object": texts_of(self._objects),
            "state": texts_of(["at cutoff" if c else "" for c in cut], levels=levels),
        }
        return Table(columns=self._columns, cells=cells, keys=self._names, elements=self._elements)


class UserdataTable:
    """The numbers that the script keeps in ``userdata``."""

    topics = (Topic.STATE,)
    optional: tuple[Topic, ...] = ()
    _columns = (
        Column(key="name", title="user data", kind=ColumnKind.TEXT, sample="userdata[1000]"),
        Column(key="value", title="value", decimals=6, sample="−00000.000000"),
    )

    def __init__(self, description: SceneDescription) -> None:
        self._description = description

    def table(self, frames: FrameSet | None) -> Table:
        """Return all rows at the instant of ``frames``."""
        values = frames.array(Topic.STATE, "userdata") if frames is not None else None
        rows = np.arange(0 if values is None else values.size, dtype=np.int64)
        names = [f"userdata[{n}]" for n in rows]
        cells = {
            "name": texts_of(names),
            "value": numbers_of(frames, Topic.STATE, "userdata", rows, field=EditField.USERDATA),
        }
        return Table(columns=self._columns, cells=cells, keys=names)


def equality_objects(description: SceneDescription, info: EqualityInfo) -> tuple[str, str]:
    """Return the names of what an equality ties together; the world where there is no second."""
    try:
        kind = ElementKind(info.object_kind)
    except ValueError:
        return (f"{info.object_kind} {info.object1}", f"{info.object_kind} {info.object2}")
    names = [
        element_name(description, Element(kind, index)) if index >= 0 else "nothing"
        for index in (info.object1, info.object2)
    ]
    if info.object2 < 0:
        names[1] = "the world" if kind in (ElementKind.BODY, ElementKind.SITE) else "its reference"
    return names[0], names[1]


class EqualityTable:
    """Whether each equality is on, how far it is from being fulfilled, and its force."""

    topics = (Topic.CONSTRAINTS,)
    optional: tuple[Topic, ...] = ()
    _columns = (
        Column(key="name", title="equality", kind=ColumnKind.TEXT, sample="left_finger_coupling"),
        Column(key="kind", title="kind", kind=ColumnKind.TEXT, sample="connect"),
        Column(key="first", title="ties", kind=ColumnKind.TEXT, sample="left_outer_knuckle"),
        Column(key="second", title="to", kind=ColumnKind.TEXT, sample="left_outer_knuckle"),
        Column(
            key="residual",
            title="residual",
            decimals=6,
            sample="0.000000",
            tip="Length of the constraint's residual: how far it is from being fulfilled.",
        ),
        Column(
            key="force",
            title="force",
            sample="00000.000",
            tip="Length of the constraint's force [N or N·m, by row].",
        ),
        Column(
            key="state", title="state", kind=ColumnKind.TEXT, sample="off, by default", marked=True
        ),
    )

    def __init__(self, description: SceneDescription) -> None:
        infos = description.equalities
        self._d = description
        self._names = names_of(description, ElementKind.EQUALITY, len(infos))
        self._elements = [Element(ElementKind.EQUALITY, n) for n in range(len(infos))]
        self._ties = [equality_objects(description, info) for info in infos]
        words = description.constraint_types
        self._type = words.index("equality") if "equality" in words else 0

    def table(self, frames: FrameSet | None) -> Table:
        """Return all rows at the instant of ``frames``."""
        infos = self._d.equalities
        count = len(infos)
        squares = np.zeros((2, count))
        seen = np.zeros(count, dtype=np.bool_)
        arrays = [
            frames.array(Topic.CONSTRAINTS, name) if frames is not None else None
            for name in ("type", "id", "pos", "force")
        ]
        kind, which, pos, force = arrays
        if kind is not None and which is not None and pos is not None and force is not None:
            rows = np.flatnonzero((kind == self._type) & (which >= 0) & (which < count))
            owner = which[rows].astype(np.int64)
            np.add.at(squares[0], owner, pos[rows] ** 2)
            np.add.at(squares[1], owner, force[rows] ** 2)
            seen[owner] = True
        active = frames.array(Topic.CONSTRAINTS, "eq_active") if frames is not None else None
        states = []
        for n, info in enumerate(infos):
            on = bool(active[n]) if active is not None and n < len(active) else info.active
            states.append("" if on else "off")
        cells = {
            "name": texts_of(self._names),
            "kind": texts_of([info.kind for info in infos]),
            "first": texts_of([first for first, _ in self._ties]),
            "second": texts_of([second for _, second in self._ties]),
            "residual": Cells(
                numbers=np.sqrt(squares[0]), present=seen, absent="it has no row in this step"
            ),
            "force": Cells(
                numbers=np.sqrt(squares[1]), present=seen, absent="it has no row in this step"
            ),
            "state": texts_of(states),
        }
        return Table(
            columns=self._columns, cells=cells, keys=self._elements, elements=self._elements
        )
