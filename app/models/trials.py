"""Trying what a stop offers: the recorded inputs once more with an edit, as a ghost."""

import dataclasses
from typing import TYPE_CHECKING

from stroboscope.app.models.rollouts import rollout_ref
from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.time_messages import RolloutInfo, StopInfo

if TYPE_CHECKING:
    from stroboscope.app.models.scene import SceneModel

__all__ = ["Trial", "TrialsModel"]

# How much of what led to the stop is simulated again [s], and at least so many steps.
_BEFORE_S = 0.5
_LEAST_STEPS = 20


@dataclasses.dataclass(frozen=True, slots=True)
class Trial:
    """One offer that was tried; ``rollout_id`` is 0 while it runs."""

    stop_id: int
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

    def begin(self, stop: StopInfo) -> int | None:
        """Return the row that a trial of a stop begins with; None: nothing before it is kept.

        The row that is looked at, when that is before the stop; else half a second before it.
        """
        history = self._scene.history
        segment = history.segment_at(stop.axis - 1)
        first = max(history.first, segment.begin if segment is not None else 0)
        if history.view is not None and first <= history.view < stop.axis:
            return history.view
        if stop.axis <= first:
            return None
        description = self._scene.description
        timestep = description.timestep if description is not None else 0.0
        steps = max(round(_BEFORE_S / timestep) if timestep > 0.0 else 0, _LEAST_STEPS)
        return max(first, stop.axis - steps)

    def start(self, stop: StopInfo, label: str) -> str:
        """Try one of a stop's offers; return why not, empty when it runs."""
        scene = self._scene
        edits = next((edits for name, edits in stop.what_if if name == label), None)
        if edits is None:
            return f"This stop offers nothing called {label!r}."
        begin = self.begin(stop)
        if begin is None:
            return "Nothing from before this stop is kept in the history."
        # What is simulated again are the inputs of the environment that is looked at.
        scene.environments.look_at(stop.env)
        key = (stop.stop_id, label)
        self._trials[key] = Trial(stop.stop_id, label)

        def done(rollout_id: int) -> None:
            self._trials[key] = Trial(stop.stop_id, label, rollout_id)
            scene.ghosts.add(rollout_ref(scene.scene_id, rollout_id), label)
            self.changed.emit()

        def refused(_reason: str) -> None:
            self._trials.pop(key, None)
            self.changed.emit()

        scene.rollouts.resimulate(begin, edits, name=label, then=done, otherwise=refused)
        self.changed.emit()
        return ""
