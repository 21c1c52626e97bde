"""Connects scenes and signals with the plots: names, subscriptions, rows."""

import numpy as np
from PySide6.QtCore import QMimeData

from stroboscope.app.main.plot_past import PlotPast
from stroboscope.app.models.element_values import ValueRow, signals_of
from stroboscope.app.models.expressions import expression_problem
from stroboscope.app.models.plot_colours import PLOT_COLOURS
from stroboscope.app.models.plot_store import (
    SIGNAL_MIME_TYPE,
    PlotSeriesId,
    PlotStore,
    SceneKey,
    encode_signals,
)
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.selection import Element
from stroboscope.app.models.session import SessionModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.debugger_protocol.arrays import unpack_arrays
from stroboscope.debugger_protocol.exceptions import InvalidMessage
from stroboscope.debugger_protocol.expressions import (
    expression_channel,
    expression_text,
    is_expression,
)
from stroboscope.debugger_protocol.messages import Frame, PlaybackMode, Subscribe, Unsubscribe
from stroboscope.debugger_protocol.topics import Topic

__all__ = [
    "PlotFeed",
    "has_signal",
    "mime_of",
    "mime_of_element",
    "mime_of_expression",
    "scene_key",
    "series_of",
    "series_of_element",
]


def scene_key(scene: SceneModel) -> SceneKey:
    """Return how the plots call a scene."""
    info = scene.session.info
    return SceneKey(info.session_id if info is not None else "", scene.scene_id)


def series_of(scene: SceneModel, row: ValueRow) -> PlotSeriesId:
    """Return the signal behind a number of the inspector."""
    return PlotSeriesId(scene_key(scene), row.channel, row.column)


def has_signal(scene: SceneModel, row: ValueRow) -> bool:
    """Return whether this scene has the signal behind a number, or can compute it."""
    if is_expression(row.channel):
        return not expression_problem(expression_text(row.channel), scene.signal_table())
    return any(channel.name == row.channel for channel in scene.channels)


def series_of_element(scene: SceneModel, element: Element) -> tuple[PlotSeriesId, ...]:
    """Return the signals of an element that this scene really has."""
    if scene.description is None:
        return ()
    known = {channel.name for channel in scene.channels}
    return tuple(
        PlotSeriesId(scene_key(scene), channel, column)
        for channel, column in signals_of(scene.description, element)
        if channel in known or is_expression(channel)
    )


def mime_of_element(scene: SceneModel, element: Element) -> QMimeData | None:
    """Return what is dragged from the tree into a plot; None: nothing of it can be plotted."""
    series = series_of_element(scene, element)
    if not series:
        return None
    mime = QMimeData()
    mime.setData(SIGNAL_MIME_TYPE, encode_signals(series))
    return mime


def mime_of(scene: SceneModel, row: ValueRow) -> QMimeData | None:
    """Return what is dragged from the inspector into a plot; None: no such channel."""
    if not has_signal(scene, row):
        return None
    mime = QMimeData()
    mime.setData(SIGNAL_MIME_TYPE, encode_signals([series_of(scene, row)]))
    return mime


def mime_of_expression(scene: SceneModel, text: str, width: int) -> QMimeData:
    """Return what is dragged from a watch into a plot: its values, as many as have colours."""
    channel = expression_channel(text)
    series = [PlotSeriesId(scene_key(scene), channel, n) for n in range(min(width, PLOT_COLOURS))]
    mime = QMimeData()
    mime.setData(SIGNAL_MIME_TYPE, encode_signals(series))
    return mime


class PlotFeed:
    """Keeps the store in step with the scenes, and subscribes to what is plotted.

    GUI thread only. ``close`` stops listening.
    """

    def __init__(self, sessions: SessionsModel, store: PlotStore) -> None:
        self._sessions = sessions
        self._store = store
        self._scenes: dict[SceneKey, SceneModel] = {}
        self._subscribed: dict[SceneKey, set[str]] = {}
        self._wanted_by: dict[SceneKey, dict[str, frozenset[str]]] = {}
        self._closers: dict[SceneKey, list[tuple[object, object]]] = {}
        self._past: dict[SceneKey, PlotPast] = {}
        sessions.scene_added.connect(self._add)
        sessions.scene_removed.connect(self._remove)
        sessions.session_changed.connect(self._on_session)
        sessions.signals_arrived.connect(self._on_signals)

    def close(self) -> None:
        """Stop listening."""
        self._sessions.scene_added.disconnect(self._add)
        self._sessions.scene_removed.disconnect(self._remove)
        self._sessions.session_changed.disconnect(self._on_session)
        self._sessions.signals_arrived.disconnect(self._on_signals)

    def want(self, key: SceneKey, channels: frozenset[str], *, who: str = "plots") -> None:
        """Replace the channels of a scene that ``who`` needs; subscribe to those of everybody."""
        scene = self._scenes.get(key)
        if scene is None or scene.is_stale:
            return
        wanted_by = self._wanted_by.setdefault(key, {})
        wanted_by[who] = channels
        channels = frozenset().union(*wanted_by.values())
        known = {channel.name for channel in scene.channels}
        wanted = {name for name in channels if name in known or is_expression(name)}
        now = self._subscribed.setdefault(key, set())
        more, less = tuple(sorted(wanted - now)), tuple(sorted(now - wanted))
        scene_id, topics = scene.scene_id, (Topic.SIGNALS,)
        # One that is refused must not take the others with it.
        sent = [tuple(name for name in more if not is_expression(name))]
        sent += [(name,) for name in more if is_expression(name)]
        for names in filter(None, sent):
            self._subscribe(scene, names)
        if less:
            scene.session.send(
                lambda i: Unsubscribe(id=i, scene_id=scene_id, topics=topics, channels=less)
            )
        self._subscribed[key] = wanted
        if more:
            self._past[key].begin(more)

    @staticmethod
    def _subscribe(scene: SceneModel, channels: tuple[str, ...]) -> None:
        scene_id, rate = scene.scene_id, scene.signal_rate
        scene.session.send(
            lambda i: Subscribe(
                id=i,
                scene_id=scene_id,
                topics=(Topic.SIGNALS,),
                channels=channels,
                max_rate_hz=rate,
            )
        )

    def _on_rate(self, key: SceneKey, scene: SceneModel) -> None:
        """Have the rows sent as often as somebody draws them; which they are stays."""
        channels = self._subscribed.get(key)
        if channels and not scene.is_stale:
            self._subscribe(scene, tuple(sorted(channels))[:1])

    def _add(self, scene: SceneModel) -> None:
        key = scene_key(scene)
        self._scenes[key] = scene
        self._subscribed[key] = set()
        self._store.add_scene(key, name=scene.name, script=scene.session.identity)
        scene.described.connect(lambda: self._on_described(key, scene))
        scene.channels_changed.connect(lambda: self._set_channels(key, scene))
        scene.status_changed.connect(lambda: self._on_status(key, scene))
        scene.signal_rate_changed.connect(lambda: self._on_rate(key, scene))
        scene.restored.connect(lambda reason: self._on_restored(key, scene, reason))
        self._past[key] = PlotPast(scene, key, self._store, lambda: self._subscribed.get(key, ()))
        if scene.channels:
            self._set_channels(key, scene)

    def _set_channels(self, key: SceneKey, scene: SceneModel) -> None:
        self._store.set_channels(key, scene.channels, table=scene.signal_table())

    def _on_described(self, key: SceneKey, scene: SceneModel) -> None:
        if scene.description is not None:
            self._store.add_scene(
                key,
                name=scene.name,
                script=scene.session.identity,
                timestep=scene.description.timestep,
            )
            self._set_channels(key, scene)

    def _on_status(self, key: SceneKey, scene: SceneModel) -> None:
        if scene.status is not None:
            status, paused = scene.status, scene.mode is PlaybackMode.PAUSED
            self._store.observe(key, axis=status.axis, time=status.time, paused=paused)

    def _on_restored(self, key: SceneKey, scene: SceneModel, reason: str) -> None:
        moment = scene.restored_at
        if moment is not None:
            self._store.mark_restore(key, axis=moment[0], time=moment[1], reason=reason)

    def _remove(self, scene: SceneModel) -> None:
        key = scene_key(scene)
        self._scenes.pop(key, None)
        self._subscribed.pop(key, None)
        self._wanted_by.pop(key, None)
        self._past.pop(key).close()
        self._store.set_stale(key)

    def _on_session(self, session: SessionModel) -> None:
        if not session.is_connected:
            for scene in session.scenes.values():
                key = scene_key(scene)
                self._subscribed.pop(key, None)
                self._wanted_by.pop(key, None)
                known = self._store.scenes.get(key)
                if known is not None and not known.stale:
                    self._store.set_stale(key)

    def _on_signals(self, scene: SceneModel, frame: Frame) -> None:
        arrays = dict(unpack_arrays(frame.arrays, frame.blob))
        axis, time = arrays.pop("axis", None), arrays.pop("time", None)
        key = scene_key(scene)
        if axis is None or time is None or key not in self._store.scenes:
            return
        rows = np.asarray(axis, np.int64), np.asarray(time, np.float64)
        past = self._past[key]
        try:
            self._store.append(
                key,
                *rows,
                {
                    name: np.asarray(values, np.float64)
                    for name, values in arrays.items()
                    if not past.takes(name, *rows, values)
                },
                lost=frame.dropped,
            )
        except ValueError as error:
            raise InvalidMessage(str(error)) from error
