"""Rollouts of a scene: re-simulations, a planner's candidates, and scenes that have ended."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.time_messages import (
    DropRollout,
    GhostRef,
    GhostSource,
    Resimulate,
    RolloutInfo,
    SceneRollouts,
    WhatIf,
)

if TYPE_CHECKING:
    from stroboscope.app.models.scene import SceneModel

__all__ = ["RolloutsModel", "rollout_ref"]


def rollout_ref(scene_id: int, rollout_id: int) -> GhostRef:
    """Return how a rollout is referred to; ``scene_id`` 0: what is left of an ended scene."""
    return GhostRef(source=GhostSource.ROLLOUT, number=rollout_id, scene_id=scene_id)


class RolloutsModel:
    """The rollouts of one scene; ``changed`` when they are others. GUI thread only."""

    def __init__(self, scene: "SceneModel") -> None:
        self.changed: Signal[[]] = Signal()
        self.told = SceneRollouts(scene_id=scene.scene_id, rollouts=())
        self.running = ""
        """What is re-simulated because it was asked for here, empty when nothing is."""
        self._scene = scene
        self._under_way: dict[int, str] = {}

    @property
    def rollouts(self) -> tuple[RolloutInfo, ...]:
        """All of them, oldest first."""
        return self.told.rollouts

    def find(self, rollout_id: int) -> RolloutInfo | None:
        """Return a rollout by its id, None when it is not kept any more."""
        return next((each for each in self.rollouts if each.rollout_id == rollout_id), None)

    def receive(self, message: SceneRollouts) -> None:
        """Take what the application says."""
        self.told = message
        self.changed.emit()

    def resimulate(
        self,
        axis: int,
        edits: Iterable[WhatIf],
        *,
        name: str,
        steps: int = 0,
        then: Callable[[int], None] = lambda _rollout: None,
        otherwise: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        """Run recorded inputs again from a row with edits.

        ``then`` gets the rollout's id, ``otherwise`` why there is none.
        """
        scene, tried = self._scene, tuple(edits)
        if scene.is_stale:
            return

        def done(command_id: int, value: int | None) -> None:
            self._ended(command_id)
            if value is not None:
                then(value)

        def failed(command_id: int, reason: str) -> None:
            self._ended(command_id)
            otherwise(reason)

        sent = scene.session.send(
            lambda i: Resimulate(
                id=i, scene_id=scene.scene_id, axis=axis, steps=steps, edits=tried, name=name
            ),
            then=done,
            otherwise=failed,
        )
        if sent is not None:
            self._under_way[sent] = name
            self._tell_running()

    def drop(self, rollout_id: int) -> None:
        """Forget a rollout."""
        scene = self._scene
        if not scene.is_stale:
            scene.session.send(
                lambda i: DropRollout(id=i, scene_id=scene.scene_id, rollout_id=rollout_id)
            )

    def _ended(self, command_id: int) -> None:
        self._under_way.pop(command_id, None)
        self._tell_running()

    def _tell_running(self) -> None:
        self.running = next(iter(self._under_way.values()), "")
        self.changed.emit()
