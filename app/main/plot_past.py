"""Fills curves with what happened before they were asked for."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.plot_store import PlotStore, SceneKey
from stroboscope.app.models.scene import SceneModel
from stroboscope.debugger_protocol.time_messages import ReadRows, Rows, StatesCompared

__all__ = ["PlotPast"]

# Rows of a recorded run per curve, of a longer one every so many'th; and the newest ones of a
# scene that runs, whose owner finds them between its steps.
_MAX_ROWS_OF_FILE = 20_000
_MAX_ROWS = 5_000

_Piece = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


class PlotPast:
    """Reads the past of one scene for its curves, from its history; GUI thread only.

    A curve that is added begins with what the scene remembers, and all curves begin anew with that
    when another environment is looked at: rows of two never stay in one. What can't be told from
    rows of the past (what a script logs, while it runs) begins where it is asked for. New rows wait
    until those of the past are there.
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
        self._waiting: dict[str, list[_Piece]] = {}
        scene.environments.changed.connect(self._on_environment)

    def close(self) -> None:
        """Stop listening."""
        self._scene.environments.changed.disconnect(self._on_environment)
        self._waiting.clear()

    def begin(self, channels: Iterable[str]) -> None:
        """Read what is remembered of channels that have no row yet."""
        history = self._scene.history
        if not history.has_rows:
            return
        first, most = max(history.first, history.live - _MAX_ROWS), _MAX_ROWS
        if history.recording:
            first, most = history.first, _MAX_ROWS_OF_FILE
        for channel in channels:
            columns = self._store.columns(self._key, channel)
            if channel not in self._waiting and (columns is None or not columns.count):
                self._read(channel, first=first, most=most)

    def takes(
        self, channel: str, axis: NDArray[np.int64], time: NDArray[np.float64], values: object
    ) -> bool:
        """Return whether new rows of a channel wait here, because its past comes first."""
        if channel not in self._waiting:
            return False
        self._waiting[channel].append((axis, time, np.asarray(values, np.float64)))
        return True

    def _on_environment(self) -> None:
        told = self._scene.environments.told
        before, self._selected = self._selected, told.selected if told.count else None
        if before is None or self._selected is None or before == self._selected:
            return
        self._generation += 1
        self._store.begin_anew(self._key)
        self._waiting.clear()
        first = max(0, self._scene.history.live - _MAX_ROWS)
        for channel in sorted(set(self._channels())):
            self._read(channel, first=first, most=_MAX_ROWS)

    def _read(self, channel: str, *, first: int, most: int) -> None:
        scene, generation = self._scene, self._generation
        pieces: list[_Piece] = []
        self._waiting[channel] = []

        def take(message: Rows | StatesCompared) -> None:
            if isinstance(message, Rows):
                pieces.append(_piece(message))

        def over(*, is_there: bool) -> None:
            if generation != self._generation:
                return
            waited = self._waiting.pop(channel, [])
            if self._key in self._store.scenes:
                for piece in (*(pieces if is_there else ()), *waited):
                    self._append(channel, piece)

        sent = scene.session.send(
            lambda i: ReadRows(
                id=i, scene_id=scene.scene_id, channels=(channel,), first=first, max_rows=most
            ),
            piece=take,
            then=lambda _id, _value: over(is_there=True),
            otherwise=lambda _id, _reason: over(is_there=False),
        )
        if sent is None:
            self._waiting.pop(channel, None)

    def _append(self, channel: str, piece: _Piece) -> None:
        axis, time, values = piece
        self._store.append(self._key, axis, time, {channel: values})


def _piece(rows: Rows) -> _Piece:
    count = rows.count
    axis = np.frombuffer(rows.blob, "<i8", count)
    time = np.frombuffer(rows.blob, "<f8", count, 8 * count)
    values = np.frombuffer(rows.blob, "<f8", offset=16 * count).reshape(count, -1)
    return axis, time, values
