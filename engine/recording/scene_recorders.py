"""Who records a scene, and what they are told besides its rows."""

import contextlib
import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.host.script_end import describe_error, error_location
from stroboscope.debugger_protocol.time_messages import StopInfo, StopReason
from stroboscope.engine.errors import SceneDestroyedError, SimulationStopped
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.recording.feed import FinalRow, Value, wall_ns
from stroboscope.engine.recording.notes import Notes
from stroboscope.engine.recording.recorded_stops import stop_data
from stroboscope.engine.recording.trajectory_file import TrajectoryFile

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_link import SceneLink
    from stroboscope.engine.stops.trouble import Trouble
    from stroboscope.engine.world import World

__all__ = ["SceneRecorders"]


_log = logging.getLogger(__name__)
_Shape = tuple[tuple[int, ...], tuple[str, ...]]


class _Scene(Protocol):
    link: "SceneLink"
    world: "World"
    counters: Any
    history: Any


class _Recording(Protocol):
    def end_scene(self, scene: Any, *, saves: bool) -> None:
        """Record the scene no more."""

    def stopped(self, final: FinalRow | None, stops: Sequence[FileEvent]) -> None:
        """Hear that the scene has stopped, and what was recorded of that."""


class Listener(Protocol):
    """Who is told what happens besides rows; by the owner."""

    @property
    def index(self) -> int:
        """Which scene of the file it is."""

    def add_event(self, event: FileEvent) -> None:
        """Take what has happened."""

    def add_value(self, value: Value) -> None:
        """Take a value of a channel of the script."""


class SceneRecorders:
    """What records one scene, the newest last; owner thread only."""

    def __init__(self, scene: _Scene) -> None:
        self._scene = scene
        self._feeds: tuple[tuple[_Recording, Listener, TrajectoryFile], ...] = ()
        self.notes = Notes()
        """What happened at the rows that the history keeps."""
        self._lock = threading.Lock()
        self._shapes: dict[str, _Shape] = {}
        self._refused: set[str] = set()
        self._is_synced = False
        self.ended: _Recording | None = None
        """The newest that has ended by itself, while nobody has asked what became of it."""
        self._failure = 0
        """Which exception was recorded; its id, as an exception keeps alive all it has passed."""

    def add(self, recording: _Recording, feed: Listener, wanted: TrajectoryFile) -> None:
        """Tell ``feed`` what happens from now on."""
        with self._lock:
            self._feeds = (*self._feeds, (recording, feed, wanted))
        self.ended = None

    def remove(self, recording: _Recording) -> None:
        """Tell a recording no more; any thread."""
        with self._lock:
            self._feeds = tuple(each for each in self._feeds if each[0] is not recording)

    def forget_parent(self) -> None:
        """In a forked child: whoever held the lock is not here."""
        self._lock = threading.Lock()

    @property
    def recordings(self) -> tuple[_Recording, ...]:
        """What records the scene, the newest last."""
        return tuple(recording for recording, _, _ in self._feeds)

    def happened(
        self, kind: str, text: str = "", *, axis: int = -1, data: dict[str, object] | None = None
    ) -> None:
        """Record what has happened where the scene stands, or before physics step ``axis``."""
        if self.wants:
            self._add(self._event(kind, text, axis=axis, data=data))

    def kept(self, name: str, note: str) -> None:
        """Record that the state which the scene stands at is kept under a name."""
        self.happened("checkpoint", name, data={"note": note} if note else None)

    def _event(
        self, kind: str, text: str, *, axis: int = -1, data: dict[str, object] | None = None
    ) -> FileEvent:
        counters = self._scene.counters
        return self.event_at(
            kind,
            text,
            axis=axis,
            time=self._time,
            episode=self._scene.history.episode,
            counts=(counters.physics_step_count, counters.step_count),
            data=data,
        )

    def event_at(
        self,
        kind: str,
        text: str,
        *,
        axis: int = -1,
        time: float,
        episode: int,
        counts: tuple[int, int],
        data: dict[str, object] | None = None,
    ) -> FileEvent:
        """Return what has happened to a state; ``counts``: physics and application steps."""
        counters = self._scene.counters
        return FileEvent(
            kind=kind,
            axis=counters.axis if axis < 0 else axis,
            time=time,
            wall=wall_ns(),
            text=text,
            episode=episode,
            physics_step=counts[0],
            step_count=counts[1],
            total_steps=counters.total_steps,
            data=data or {},
        )

    @property
    def _time(self) -> float:
        """The simulation time [s] as it stands."""
        return float(self._scene.world.live().time)

    def synced(self) -> None:
        """Say once that steps which the script takes by itself can't be recorded."""
        if not self._feeds or self._is_synced:
            return
        self._is_synced = True
        text = (
            "steps that the script takes by calling mj_step itself, and reports by sync(), are not "
            "recorded: call scene.step(), or start the script with `stroboscope run`"
        )
        _log.warning("scene %r: %s", self._scene.link.name, text)
        self.happened("warning", text)

    def edited(self, option: str, *, before: Sequence[float], values: Sequence[float]) -> None:
        """Record that somebody has edited a physics option in the debugger."""
        self._edited(option, before, values, {})

    def _edited(
        self,
        option: str,
        before: Sequence[float],
        values: Sequence[float],
        more: dict[str, object],
    ) -> None:
        data: dict[str, object] = {
            **more,
            "name": option,
            "before": list(before),
            "values": [float(each) for each in values],
        }
        self.happened("option", f"{option} was edited", data=data)

    @property
    def wants(self) -> bool:
        """Whether anybody records what happens, or may want to save it."""
        return bool(self._feeds) or bool(self._scene.history.keeps)

    def _add(self, event: FileEvent) -> None:
        self.notes.events.append(event)
        for _, feed, _ in self._feeds:
            feed.add_event(msgspec.structs.replace(event, scene=feed.index))

    def logged(self, channel: str, values: NDArray[np.float64], names: list[str] | None) -> None:
        """Record values of a channel of the script; ``values``: a number, or (k,)."""
        if not self.wants:
            return
        plain = values.tolist()
        shape = (values.shape, tuple(names or ()))
        if self._shapes.setdefault(channel, shape) != shape:
            self._refuse(channel, shape)
            return
        value = Value(
            channel,
            self._scene.counters.axis,
            self._time,
            wall_ns(),
            tuple(plain) if isinstance(plain, list) else plain,
            tuple(names or ()),
        )
        self.notes.values.append(value)
        for _, feed, wanted in self._feeds:
            if wanted.wants(channel):
                feed.add_value(value)

    def _refuse(self, channel: str, shape: "_Shape") -> None:
        """Say once that values of a channel are not recorded: it has others."""
        if channel in self._refused:
            return
        self._refused.add(channel)
        (first, labels), (other, _) = self._shapes[channel], shape
        named = f" and the names {list(labels)}" if labels else ""
        _log.warning(
            "scene %r: channel %r is recorded with the shape %s%s of its first values, others (%s) "
            "are left out: log them under another name",
            self._scene.link.name, channel, first, named, other,
        )  # fmt: skip

    def finish(self) -> None:
        """End all recordings of the scene, which ends: what went wrong was told."""
        for recording in reversed(self.recordings):
            recording.end_scene(self._scene, saves=False)

    # --- stops

    def stopped(self, stop: StopInfo, trouble: "Trouble | None" = None) -> None:
        """Record a stop, of the step that ``trouble`` is about or of one that is complete."""
        if not self.wants:
            return
        final = None if trouble is None else self._state_before(trouble)
        self._add_stops(final, [self._stop_event(stop)])

    def _stop_event(self, stop: StopInfo) -> FileEvent:
        return FileEvent(
            kind="stop",
            axis=stop.axis,
            time=stop.time,
            wall=wall_ns(),
            text=stop.message,
            episode=stop.episode,
            physics_step=stop.physics_step,
            step_count=stop.step,
            total_steps=self._scene.counters.total_steps,
            data=stop_data(stop),
        )

    def _add_stops(self, final: FinalRow | None, stops: Sequence[FileEvent]) -> None:
        for stop in stops:
            self._add(stop)
        for recording, _, _ in self._feeds:
            recording.stopped(final, stops)

    def _state_before(self, trouble: "Trouble") -> FinalRow:
        counters = self._scene.counters
        return FinalRow(
            row=trouble.row.copy(),
            axis=counters.axis,
            step=counters.total_steps,
            timestep=trouble.timestep,
            wall=wall_ns(),
            hidden=self._scene.history.keyframes.at(counters.axis) or b"",
            follows=self._scene.history.ring.coming_follows,
        )

    def failed(self, error: Exception) -> None:
        """Record an exception that ends the script, once."""
        if id(error) == self._failure or isinstance(error, SimulationStopped):
            return
        self._failure = id(error)
        where = error_location(error)
        text = f"the script ended with {describe_error(error)}{f' ({where})' if where else ''}"
        data: dict[str, object] = {"reason": str(StopReason.SCRIPT_ERROR), "message": text}
        self.script_ended(text, data)

    def script_ended(self, text: str, data: dict[str, object]) -> None:
        """Record what ends the script, and with it the scene where it stands."""
        if not self.wants:
            return
        # Where the script has dropped its data, the scene has ended before, and well.
        with contextlib.suppress(SceneDestroyedError):
            self._add_stops(None, [self._event("stop", text, data=data)])

    def note_failure(self, error: Exception) -> None:
        """Note that a stop was recorded for an exception, which will end the script."""
        self._failure = id(error)
