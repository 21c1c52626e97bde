"""Who records a scene, and what they are told besides its rows."""

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.recording.feed import SceneFeed, Value, wall_ns
from stroboscope.engine.recording.trajectory_file import TrajectoryFile

if TYPE_CHECKING:
    from stroboscope.engine.world import World

__all__ = ["SceneRecorders"]


class _Scene(Protocol):
    world: "World"
    counters: Any
    history: Any


class _Recording(Protocol):
    def end_scene(self, scene: Any) -> None:
        """Record the scene no more."""


class SceneRecorders:
    """What records one scene, the newest last; owner thread only."""

    def __init__(self, scene: _Scene) -> None:
        self._scene = scene
        self._feeds: tuple[tuple[_Recording, SceneFeed, TrajectoryFile], ...] = ()
        self._widths: dict[str, int] = {}

    def add(self, recording: _Recording, feed: SceneFeed, wanted: TrajectoryFile) -> None:
        """Tell ``feed`` what happens from now on."""
        self._feeds = (*self._feeds, (recording, feed, wanted))

    def remove(self, recording: _Recording) -> None:
        """Tell a recording no more; any thread."""
        self._feeds = tuple(each for each in self._feeds if each[0] is not recording)

    @property
    def recordings(self) -> tuple[_Recording, ...]:
        """What records the scene, the newest last."""
        return tuple(recording for recording, _, _ in self._feeds)

    def happened(
        self, kind: str, text: str = "", *, axis: int = -1, data: dict[str, object] | None = None
    ) -> None:
        """Record what has happened where the scene stands, or before physics step ``axis``."""
        if not self._feeds:
            return
        counters = self._scene.counters
        for _, feed, _ in self._feeds:
            feed.add_event(
                FileEvent(
                    kind=kind,
                    scene=feed.record.index,
                    axis=counters.axis if axis < 0 else axis,
                    time=float(self._scene.world.live().time),
                    wall=wall_ns(),
                    text=text,
                    episode=self._scene.history.episode,
                    physics_step=counters.physics_step_count,
                    step_count=counters.step_count,
                    total_steps=counters.total_steps,
                    data=data or {},
                )
            )

    def logged(self, channel: str, values: NDArray[np.float64], names: list[str] | None) -> None:
        """Record values of a channel of the script; ``values``: a number, or (k,)."""
        if not self._feeds:
            return
        plain = values.tolist()
        value = Value(
            channel,
            self._scene.counters.axis,
            float(self._scene.world.live().time),
            wall_ns(),
            tuple(plain) if isinstance(plain, list) else plain,
            tuple(names or ()),
        )
        for _, feed, wanted in self._feeds:
            if wanted.wants(channel):
                feed.add_value(value)

    def finish(self) -> None:
        """End all recordings of the scene, which ends: what went wrong was told."""
        for recording in reversed(self.recordings):
            recording.end_scene(self._scene)
