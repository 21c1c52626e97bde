"""Reads what is plotted of the shown scene from its rollouts that are ghosts."""

import math
from typing import TYPE_CHECKING

import numpy as np

from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.models.derived_signals import derivation_of
from stroboscope.app.models.rollout_curves import RolloutCurve, columns_of
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.signal_columns import SignalColumns
from stroboscope.debugger_protocol.time_messages import (
    GhostRef,
    GhostSource,
    ReadRows,
    RolloutInfo,
    Rows,
    StatesCompared,
)

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["RolloutFeed"]

_MAX_ROWS = 20_000
_Key = tuple[GhostRef, str]


class RolloutFeed:
    """Follows ghosts and plots; GUI thread only. ``close`` stops listening.

    Channels that don't follow from rows (contacts, what the script logs) have no such curves.
    """

    def __init__(self, window: "MainWindow") -> None:
        self._window = window
        self._scene: SceneModel | None = None
        self._known: dict[_Key, SignalColumns | None] = {}
        # Whoever asked for a scene that is not shown any more.
        self._generation = 0
        self._curves = window.plots.rollouts
        window.plots.layout_changed.connect(self._refresh)
        self._curves.removed.connect(self._on_removed)
        window.sessions.shown_changed.connect(self._follow)
        self._follow(window.sessions.shown)

    def close(self) -> None:
        """Stop listening."""
        self._window.plots.layout_changed.disconnect(self._refresh)
        self._curves.removed.disconnect(self._on_removed)
        self._window.sessions.shown_changed.disconnect(self._follow)
        self._follow(None)

    def _follow(self, scene: SceneModel | None) -> None:
        if self._scene is not None:
            self._scene.ghosts.changed.disconnect(self._refresh)
        self._scene = scene
        self._generation += 1
        self._known.clear()
        if scene is not None:
            scene.ghosts.changed.connect(self._refresh)
        self._refresh()

    def _channels(self, scene: SceneModel) -> list[str]:
        key = scene_key(scene)
        plotted = self._window.plots.plots.all_series()
        channels = dict.fromkeys(each.channel for each in plotted if each.scene == key)
        user = scene.user_channels
        return [name for name in channels if name not in user and derivation_of(name) is None]

    def _refresh(self) -> None:
        scene = self._scene
        if scene is None:
            self._curves.replace({})
            return
        entries = [
            entry
            for entry in scene.ghosts.entries
            if entry.on
            and entry.ref.source is GhostSource.ROLLOUT
            and entry.ref.scene_id in (0, scene.scene_id)  # 0: of scenes that have ended
        ]
        channels = self._channels(scene)
        wanted = {(entry.ref, channel) for entry in entries for channel in channels}
        self._known = {key: columns for key, columns in self._known.items() if key in wanted}
        for entry in entries:
            for channel in channels:
                if (entry.ref, channel) not in self._known:
                    self._known[entry.ref, channel] = None
                    self._read(scene, entry.ref, channel)
        key = scene_key(scene)
        self._curves.replace(
            {
                (key, channel): tuple(
                    RolloutCurve(entry.ref, entry.label, entry.colour, columns)
                    for entry in entries
                    if (columns := self._known.get((entry.ref, channel))) is not None
                )
                for channel in channels
            }
        )

    def _read(self, scene: SceneModel, ref: GhostRef, channel: str) -> None:
        ended = scene.session.finished.rollouts
        info = (
            scene.rollouts.find(ref.number)
            if ref.scene_id
            else next((each for each in ended if each.rollout_id == ref.number), None)
        )
        if info is None or scene.is_stale:
            return
        pieces: list[Rows] = []
        generation = self._generation

        def take(message: Rows | StatesCompared) -> None:
            if isinstance(message, Rows):
                pieces.append(message)

        def done(_id: int, _value: int | None) -> None:
            if generation == self._generation and (ref, channel) in self._known and pieces:
                self._known[ref, channel] = self._columns(scene, info, pieces)
                self._refresh()

        scene.session.send(
            lambda i: ReadRows(
                id=i,
                scene_id=ref.scene_id,
                channels=(channel,),
                rollout_id=ref.number,
                max_rows=_MAX_ROWS,
            ),
            piece=take,
            then=done,
        )

    def _columns(self, scene: SceneModel, info: RolloutInfo, pieces: list[Rows]) -> SignalColumns:
        axis = np.concatenate([np.frombuffer(p.blob, "<i8", p.count) for p in pieces])
        time = np.concatenate([np.frombuffer(p.blob, "<f8", p.count, 8 * p.count) for p in pieces])
        width = sum(pieces[0].widths)
        values = np.concatenate(
            [np.frombuffer(p.blob, "<f8", offset=16 * p.count).reshape(-1, width) for p in pieces]
        )
        begin = self._begins_at(scene, info, float(time[0]) if len(time) else 0.0)
        return columns_of(axis, time, begin + (time - time[:1]), values)

    def _begins_at(self, scene: SceneModel, info: RolloutInfo, time: float) -> float:
        """Return the session time [s] at which a rollout stands that begins at ``time``."""
        known = self._window.store.scenes.get(scene_key(scene))
        if known is None:
            return time
        if info.from_axis >= 0:
            return known.time.session_at(info.from_axis)
        now = known.time.now
        # It began with a state that is not in the history: where that time would be now.
        if now is None or not math.isfinite(now.episode_time):
            return time
        return now.session_time - (now.episode_time - time)

    def _on_removed(self, ref: GhostRef) -> None:
        if self._scene is not None:
            self._scene.ghosts.remove(ref)
