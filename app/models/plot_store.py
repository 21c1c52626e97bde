"""What is plotted: every physics step of the subscribed channels of every scene, bounded."""

import dataclasses
import json
from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.derived_signals import DerivedRows, derivation_of
from stroboscope.app.models.session_time import SessionTime
from stroboscope.app.models.signal import Signal
from stroboscope.app.models.signal_columns import SignalColumns
from stroboscope.debugger_protocol.expressions import (
    ExpressionError,
    SignalTable,
    compile_expression,
    expression_text,
    is_expression,
)
from stroboscope.debugger_protocol.scene_description import ChannelInfo, ChannelKind

__all__ = [
    "SIGNAL_MIME_TYPE",
    "PlotScene",
    "PlotSeriesId",
    "PlotStore",
    "SceneKey",
    "component_label",
    "component_unit",
    "decode_signals",
    "encode_signals",
]

# What a dragged signal carries: the JSON of encode_signals().
SIGNAL_MIME_TYPE = "application/x-stroboscope-signal"
_BUDGET_BYTES = 64 << 20
_MAX_DROPPED_SIGNALS = 256
# A derived signal begins with this many rows of what is known of its source.
_DERIVED_PAST = 50_000


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class SceneKey:
    """One scene of one session; ``session`` is the session's id."""

    session: str
    scene_id: int


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class PlotSeriesId:
    """One line: a component of a channel of a scene."""

    scene: SceneKey
    channel: str
    component: int = 0


def encode_signals(series: Iterable[PlotSeriesId]) -> bytes:
    """Return the payload of ``SIGNAL_MIME_TYPE`` for dragging these signals."""
    return json.dumps(
        [
            {
                "session": each.scene.session,
                "scene_id": each.scene.scene_id,
                "channel": each.channel,
                "component": each.component,
            }
            for each in series
        ]
    ).encode()


def decode_signals(payload: bytes) -> list[PlotSeriesId]:
    """Return the signals of a dragged payload; raises ValueError for anything else."""
    entries = json.loads(payload)
    if isinstance(entries, dict):
        entries = [entries]
    if not isinstance(entries, list) or len(entries) > _MAX_DROPPED_SIGNALS:
        raise ValueError(f"not a list of at most {_MAX_DROPPED_SIGNALS} signals")
    series = []
    for entry in entries:
        match entry:
            case {
                "session": str(session),
                "scene_id": int(scene_id),
                "channel": str(channel),
                "component": int(component),
            } if component >= 0:
                series.append(PlotSeriesId(SceneKey(session, scene_id), channel, component))
            case _:
                raise ValueError(f"not a signal: {entry!r:.100}")
    return series


def component_label(channel: ChannelInfo, component: int) -> str:
    """Return how a component is called: ``reward``, ``qpos[knee]``, ``obs[3]``."""
    derivation = derivation_of(channel.name)
    if derivation is not None:
        source = msgspec.structs.replace(channel, name=derivation.source)
        return derivation.label(component_label(source, component))
    title = channel.name
    if is_expression(title):
        title = expression_text(title)
        if channel.width == 1:
            return title
    if channel.width == 1 and not channel.names:
        return title
    name = channel.names[component] if component < len(channel.names) else ""
    if channel.width == 1 and name in ("", title):
        return title
    return f"{title}[{name or component}]"


def component_unit(channel: ChannelInfo, component: int) -> str:
    """Return the unit of a component, "" when it has none."""
    if component < len(channel.units):
        return channel.units[component]
    return channel.unit


@dataclasses.dataclass(slots=True)
class PlotScene:
    """What the plots know of a scene; ``table`` is what its expressions may name."""

    key: SceneKey
    name: str
    script: str
    time: SessionTime
    channels: dict[str, ChannelInfo]
    stale: bool = False
    paused: bool = False
    table: SignalTable | None = None
    # Expressions and derived signals that were asked for; None: they make no sense here.
    made: dict[str, ChannelInfo | None] = dataclasses.field(default_factory=dict)


class PlotStore:
    """Rows of all plotted channels, within ``budget_bytes``; GUI thread only.

    ``changed``: rows or restores came; ``scenes_changed``: what can be plotted is different.

    Channels that are wanted share the budget equally and lose their oldest rows when they fill
    their share (``SignalColumns.evicted`` counts them). A channel that is not wanted any more
    keeps its rows as long as there is room.
    """

    def __init__(self, *, budget_bytes: int = _BUDGET_BYTES) -> None:
        self.changed: Signal[[]] = Signal()
        self.scenes_changed: Signal[[]] = Signal()
        self.budget_bytes = budget_bytes
        self._scenes: dict[SceneKey, PlotScene] = {}
        self._columns: dict[tuple[SceneKey, str], SignalColumns] = {}
        self._wanted: set[tuple[SceneKey, str]] = set()
        # Not wanted any more, in the order in which they are to go.
        self._retired: dict[tuple[SceneKey, str], None] = {}
        # By source: what is made of its rows as they come.
        self._derived: dict[tuple[SceneKey, str], dict[str, DerivedRows]] = {}

    # --- scenes

    @property
    def scenes(self) -> Mapping[SceneKey, PlotScene]:
        """Every known scene."""
        return self._scenes

    def add_scene(
        self, key: SceneKey, *, name: str, script: str = "", timestep: float = 0.0
    ) -> PlotScene:
        """Make a scene known, or update its name and timestep [s]; it is not stale (any more)."""
        scene = self._scenes.get(key)
        if scene is None:
            scene = PlotScene(key, name, script, SessionTime(timestep=timestep), {})
            self._scenes[key] = scene
        scene.name, scene.script, scene.stale = name, script, False
        if timestep > 0.0:
            scene.time.learn_timestep(timestep)
        self.scenes_changed.emit()
        return scene

    def set_channels(
        self,
        key: SceneKey,
        channels: Iterable[ChannelInfo],
        *,
        table: SignalTable | None = None,
    ) -> None:
        """Replace the list of channels that a scene offers; a changed width starts afresh.

        ``table`` is what expressions may name beside them.
        """
        scene = self._scenes[key]
        scene.channels = {channel.name: channel for channel in channels}
        scene.table = table if table is not None else SignalTable(scene.channels.values())
        scene.made.clear()
        for (owner, name), columns in tuple(self._columns.items()):
            info = self.info(key, name) if owner == key else None
            if owner == key and info is not None and info.width != columns.width:
                self._forget_columns((owner, name))
        self.scenes_changed.emit()

    def set_stale(self, key: SceneKey) -> None:
        """Say that nothing more comes from a scene; what is known stays."""
        if key in self._scenes:
            self._scenes[key].stale = True
            self.scenes_changed.emit()

    def forget_scene(self, key: SceneKey) -> None:
        """Drop a scene and all its rows."""
        self._scenes.pop(key, None)
        self._wanted = {which for which in self._wanted if which[0] != key}
        for owner, name in tuple(self._columns):
            if owner == key:
                self._forget_columns((owner, name))
        self.scenes_changed.emit()

    # --- rows

    def want(self, key: SceneKey, channel: str) -> None:
        """Keep rows of a channel from now on."""
        self._wanted.add((key, channel))
        self._retired.pop((key, channel), None)
        info = self.info(key, channel)
        if (key, channel) not in self._columns and info is not None:
            self._columns[key, channel] = SignalColumns(info.width, limit_bytes=self._share(1))
            self._derive(key, channel)
            self._enforce_budget()

    def retire(self, key: SceneKey, channel: str) -> None:
        """Take no more rows of a channel; those held go as soon as their room is needed."""
        self._wanted.discard((key, channel))
        if (key, channel) in self._columns:
            self._retired[key, channel] = None
            self._enforce_budget()

    def append(
        self,
        key: SceneKey,
        axis: NDArray[np.int64],
        time: NDArray[np.float64],
        values: Mapping[str, NDArray[np.float64]],
        *,
        lost: int = 0,
    ) -> None:
        """Take the rows of one SIGNALS frame.

        ``axis`` (n,) physics steps and ``time`` (n,) [s] belong to every array of ``values``,
        (n, width) each; ``lost`` rows are missing before the first. Channels that nobody wants are
        left out. Raises ValueError when the shapes do not fit; then nothing is taken.
        """
        scene = self._scenes[key]
        n = len(axis)
        for name, array in values.items():
            if len(time) != n or array.ndim != 2 or len(array) != n:
                raise ValueError(
                    f"channel {name!r} has {array.shape} values for {n} steps and {len(time)} times"
                )
        if n and bool(np.any(np.diff(axis) < 0)):
            raise ValueError("the physics steps of a signal frame fall; they must rise")
        axis = np.asarray(axis, np.int64)
        time = np.asarray(time, np.float64)
        session, segment = scene.time.locate(axis, time)
        for name, array in values.items():
            if (key, name) not in self._wanted:
                continue  # unsubscribed while this was on its way
            self._append_channel(key, name, (axis, time, session, segment), array, lost)
        self._enforce_budget()
        self.changed.emit()

    def mark_restore(self, key: SceneKey, *, axis: int, time: float, reason: str) -> None:
        """Say that a scene's state was replaced; see :meth:`SessionTime.mark_restore`."""
        scene = self._scenes.get(key)
        if scene is not None:
            scene.time.mark_restore(axis=axis, time=time, reason=reason)
            self.changed.emit()

    def observe(self, key: SceneKey, *, axis: int, time: float, paused: bool = False) -> None:
        """Note where a scene stands, from its status."""
        scene = self._scenes.get(key)
        if scene is not None:
            before = scene.time.now, scene.paused
            scene.time.observe(axis, time)
            scene.paused = paused
            if (scene.time.now, paused) != before:
                self.changed.emit()

    def columns(self, key: SceneKey, channel: str) -> SignalColumns | None:
        """Return the rows of a channel, or None when it was never wanted."""
        return self._columns.get((key, channel))

    def clear(self) -> None:
        """Drop the rows of every channel; what is plotted starts again from now."""
        for which in tuple(self._columns):
            self._forget_columns(which)
            if which in self._wanted:
                self.want(*which)
        self.changed.emit()

    def begin_anew(self, key: SceneKey) -> None:
        """Drop all rows of a scene, and how its times go on: they will be another environment's."""
        scene = self._scenes.get(key)
        if scene is None:
            return
        scene.time = SessionTime(timestep=scene.time.timestep)
        for which in tuple(self._columns):
            if which[0] == key:
                self._forget_columns(which)
        for which in tuple(self._wanted):
            if which[0] == key:
                self.want(*which)
        self.changed.emit()

    @property
    def nbytes(self) -> int:
        """Bytes held by all rows."""
        return sum(columns.nbytes for columns in self._columns.values())

    # --- names

    def label(self, series: PlotSeriesId) -> str:
        """Return how a series is called within its scene."""
        info = self.info(series.scene, series.channel)
        if info is None:
            return f"{series.channel}[{series.component}]" if series.component else series.channel
        return component_label(info, series.component)

    def unit(self, series: PlotSeriesId) -> str:
        """Return the unit of a series, "" when it has none or is not known."""
        info = self.info(series.scene, series.channel)
        return "" if info is None else component_unit(info, series.component)

    def info(self, key: SceneKey, channel: str) -> ChannelInfo | None:
        """Return what is known of a channel, be it an expression or derived; None: no such one."""
        scene = self._scenes.get(key)
        if scene is None:
            return None
        if channel not in scene.channels and channel not in scene.made:
            scene.made[channel] = self._make_info(scene, channel)
        return scene.channels.get(channel) or scene.made.get(channel)

    def _make_info(self, scene: PlotScene, channel: str) -> ChannelInfo | None:
        derivation = derivation_of(channel)
        if derivation is not None:
            source = self.info(scene.key, derivation.source)
            return None if source is None else derivation.info(source)
        if not is_expression(channel) or scene.table is None:
            return None
        try:
            expression = compile_expression(expression_text(channel), scene.table)
        except ExpressionError:
            return None
        return ChannelInfo(
            name=channel, width=expression.width, names=expression.names, units=expression.units
        )

    def _derive(self, key: SceneKey, channel: str) -> None:
        """Make a derived channel of the rows of its source, those that are here and will come."""
        derivation = derivation_of(channel)
        if derivation is None:
            return
        rows = DerivedRows(derivation)
        self._derived.setdefault((key, derivation.source), {})[channel] = rows
        source = self._columns.get((key, derivation.source))
        if source is None or not source.count:
            return
        past, segment = source.rows(), source.segments()
        newest = slice(-_DERIVED_PAST, None)
        axis, time, session = past.axis[newest], past.time[newest], past.session_time[newest]
        values = rows.compute(time, past.values[newest], segment[newest])
        self._columns[key, channel].append(
            axis, time, session, values, segment=segment[newest], missing=past.missing[newest]
        )

    def _append_channel(
        self,
        key: SceneKey,
        name: str,
        rows: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]],
        values: NDArray[np.float64],
        lost: int,
    ) -> None:
        columns = self._columns.get((key, name))
        if columns is None or columns.width != values.shape[1]:
            self._forget_columns((key, name))
            columns = SignalColumns(values.shape[1], limit_bytes=self._share(1))
            self._columns[key, name] = columns
        axis, time, session, segment = rows
        info = self.info(key, name)
        every_step = info is None or info.kind is ChannelKind.ENGINE
        newest = int(columns.axis[-1]) if columns.count else None
        if newest is not None and len(axis):
            # A new subscription may send again what is here already.
            first = int(np.searchsorted(axis, newest, "right" if every_step else "left"))
            axis, time = axis[first:], time[first:]
            session, segment = session[first:], segment[first:]
            values = values[first:]
        missing = np.zeros(len(axis), np.int64)
        if every_step and len(axis):
            before = axis[0] - 1 if newest is None else newest
            missing = np.maximum(np.diff(axis, prepend=before) - 1, 0)
        if len(axis):
            missing[0] = max(int(missing[0]), lost)
        columns.append(axis, time, session, values, segment=segment, missing=missing, lost=lost)
        for derived, made in self._derived.get((key, name), {}).items():
            derived_values = made.compute(time, values, segment)
            rows = (axis, time, session, segment)
            self._append_channel(key, derived, rows, derived_values, lost)

    def _forget_columns(self, which: tuple[SceneKey, str]) -> None:
        self._columns.pop(which, None)
        self._retired.pop(which, None)
        derivation = derivation_of(which[1])
        if derivation is not None:
            self._derived.get((which[0], derivation.source), {}).pop(which[1], None)

    def _share(self, more: int = 0) -> int:
        return self.budget_bytes // max(len(self._columns) - len(self._retired) + more, 1)

    def _enforce_budget(self) -> None:
        share = self._share()
        for which, columns in self._columns.items():
            if which not in self._retired:
                columns.limit(share)
        held = self.nbytes
        while self._retired and held > self.budget_bytes:
            which = next(iter(self._retired))
            held -= self._columns[which].nbytes
            self._forget_columns(which)
