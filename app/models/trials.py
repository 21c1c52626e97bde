"""Trying what a stop offers: the recorded inputs once more with an edit, as a ghost."""

import dataclasses
from typing import TYPE_CHECKING

from stroboscope.app.models.rollouts import rollout_ref
from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.time_messages import RolloutInfo, StopInfo
from stroboscope.debugger_protocol.trials import trial_span

if TYPE_CHECKING:
    from stroboscope.app.models.scene import SceneModel

__all__ = ["Trial", "TrialsModel"]


@dataclasses.dataclass(frozen=True, slots=True)
class Trial:
    """One offer that was tried; ``rollout_id`` is 0 while it runs."""

    stop: StopInfo
    label: str
    rollout_id: int = 0


class TrialsModel:
    """What was tried in one scene. ``changed`` with each step of it. GUI thread only."""

    def __init__(self, scene: "SceneModel") -> None:
        self.changed: Signal[[]] = Signal()
        self._scene = scene
        self._trials: dict[tuple[int, str], Trial] = {}

    def find(self, stop_id: int, label: str) -> Trial | None:
        """Return what has become of an offer, None when it was not tried."""
        return self._trials.get((stop_id, label))

    def rollout(self, trial: Trial) -> RolloutInfo | None:
        """Return the rollout of a trial, None while it runs or when it was dropped."""
        return self._scene.rollouts.find(trial.rollout_id) if trial.rollout_id else None

    def span(self, stop: StopInfo) -> tuple[int, int] | None:
        """Return the row that a trial of a stop begins with, and its steps (0: all that follow).

        None: nothing from before it is kept.
        """
        history, description = self._scene.history, self._scene.description
        return trial_span(
            stop,
            first=history.first,
            view=history.view,
            segments=history.segments,
            live=history.live,
            timestep=description.timestep if description is not None else 0.0,
        )

    def start(self, stop: StopInfo, label: str) -> str:
        """Try one of a stop's offers; return why not, empty when it runs."""
        scene = self._scene
        edits = next((edits for name, edits in stop.what_if if name == label), None)
        if edits is None:
            return f"This stop offers nothing called {label!r}."
        span = self.span(stop)
        if span is None:
            return "Nothing from before this stop is kept in the history."
        # What is simulated again are the inputs of the environment that is looked at.
        scene.environments.look_at(stop.env)
        key = (stop.stop_id, label)
        self._trials[key] = Trial(stop, label)

        def done(rollout_id: int) -> None:
            self._trials[key] = Trial(stop, label, rollout_id)
            scene.ghosts.add(rollout_ref(scene.scene_id, rollout_id), label)
            self.changed.emit()

        def refused(_reason: str) -> None:
            self._trials.pop(key, None)
            self.changed.emit()

        begin, steps = span
        scene.rollouts.resimulate(
            begin, edits, name=label, steps=steps, then=done, otherwise=refused
        )
        self.changed.emit()
        return ""
