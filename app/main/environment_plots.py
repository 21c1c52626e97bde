"""Lets the plots of a scene follow when another of its environments is looked at."""

from collections.abc import Callable, Iterable

import numpy as np

from stroboscope.app.models.plot_store import PlotStore, SceneKey
from stroboscope.app.models.scene import SceneModel
from stroboscope.debugger_protocol.time_messages import ReadRows, Rows, StatesCompared

__all__ = ["EnvironmentPlots"]

_MAX_ROWS = 5_000


class EnvironmentPlots:
    """Fills the curves of one scene with the past of the environment that is looked at.

    Rows of another environment never stay in a curve. What can't be told from rows of the past
    (what the script logs) begins where the environment is looked at. GUI thread only.
    """

    def __init__(
        self,
        scene: SceneModel,
        key: SceneKey,
        store: PlotStore,
        channels: Callable[[], Iterable[str]],
    ) -> None:
        self._scene = scene
        self._key = key
        self._store = store
        self._channels = channels
        self._selected: int | None = None
        self._generation = 0
        self._awaited: set[str] = set()
        scene.environments.changed.connect(self._on_changed)

    def close(self) -> None:
        """Stop listening."""
        self._scene.environments.changed.disconnect(self._on_changed)

    def accepts(self, channel: str) -> bool:
        """Return whether new rows of a channel may be taken: its past comes first."""
        return channel not in self._awaited

    def _on_changed(self) -> None:
        told = self._scene.environments.told
        before, self._selected = self._selected, told.selected if told.count else None
        if before is None or self._selected is None or before == self._selected:
            return
        self._generation += 1
        self._store.begin_anew(self._key)
        self._awaited = set(self._channels())
        for channel in sorted(self._awaited):
            self._read(channel)

    def _read(self, channel: str) -> None:
        scene, generation = self._scene, self._generation
        pieces: list[Rows] = []

        def take(message: Rows | StatesCompared) -> None:
            if isinstance(message, Rows):
                pieces.append(message)

        def over(fill: bool) -> None:
            if generation != self._generation:
                return
            self._awaited.discard(channel)
            if fill and self._key in self._store.scenes:
                for piece in pieces:
                    self._append(channel, piece)

        sent = scene.session.send(
            lambda i: ReadRows(
                id=i,
                scene_id=scene.scene_id,
                channels=(channel,),
                first=max(0, scene.history.live - _MAX_ROWS),
                max_rows=_MAX_ROWS,
            ),
            piece=take,
            then=lambda _id, _value: over(True),
            otherwise=lambda _id, _reason: over(False),
        )
        if sent is None:
            self._awaited.discard(channel)

    def _append(self, channel: str, piece: Rows) -> None:
        count = piece.count
        axis = np.frombuffer(piece.blob, "<i8", count)
        time = np.frombuffer(piece.blob, "<f8", count, 8 * count)
        values = np.frombuffer(piece.blob, "<f8", offset=16 * count).reshape(count, -1)
        self._store.append(self._key, axis, time, {channel: values})
