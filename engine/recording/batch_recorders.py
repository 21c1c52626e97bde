"""Who records a scene of many environments, and which of them what happens is about."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stroboscope.debugger_protocol.time_messages import StopInfo
from stroboscope.engine.recording.scene_recorders import SceneRecorders
from stroboscope.engine.recording.scene_records import chosen_environments

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene

__all__ = ["BatchRecorders"]


class BatchRecorders(SceneRecorders):
    """What records the environments of one scene; owner thread only.

    What the script logs is about the scene as a whole, at the time of the environment that is
    looked at; what is edited in the debugger is about that one.
    """

    def __init__(self, scene: "BatchScene") -> None:
        super().__init__(scene)
        self._batch = scene

    @property
    def _time(self) -> float:
        return float(self._batch.environments.time[self._batch.selected.env])

    def edited(self, option: str, *, before: Sequence[float], values: Sequence[float]) -> None:
        """Record that somebody has edited an option of the environment that is looked at."""
        self._edited(option, before, values, {"env": self._batch.selected.env})

    def warned(self, env: int, stop: StopInfo) -> None:
        """Record what a stop would have said of an environment, which is only noted."""
        if not self.wants:
            return
        data: dict[str, object] = {"reason": str(stop.reason), "env": env}
        event = self.event_at(
            "warning",
            f"environment {env}: {stop.message}",
            time=stop.time,
            episode=stop.episode,
            counts=(stop.physics_step, stop.step),
            data=data,
        )
        self._add(event)

    def script_ended(self, text: str, data: dict[str, object]) -> None:
        """Record what ends the script, in each of the recorded environments."""
        envs, counters = self._batch.environments, self._batch.environments.counters
        stops = [
            self.event_at(
                "stop",
                text,
                time=float(envs.time[env]),
                episode=int(self._batch.batch_history.episodes[env]),
                counts=(counters.physics_count(env), counters.step_count(env)),
                data={**data, "env": env},
            )
            for env in self._recorded_envs()
        ]
        self._add_stops(None, stops)

    def _recorded_envs(self) -> list[int]:
        recorded = set[int]()
        for _, _, wanted in self._feeds:
            recorded.update(chosen_environments(wanted.envs, n_envs=self._batch.n_envs).tolist())
        return sorted(recorded)

    def stopped_in(self, stops: Sequence[StopInfo]) -> None:
        """Record the stops of one step, each of another environment."""
        if not self.wants:
            return
        self._add_stops(None, [self._stop_event(stop) for stop in stops])
