"""Rollouts of a scene: re-simulations, a planner's candidates, and scenes that have ended."""

import dataclasses
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.time_messages import (
    DeriveNumber,
    DropRollout,
    GhostRef,
    GhostSource,
    Reduction,
    Resimulate,
    RolloutInfo,
    SceneRollouts,
    WhatIf,
)

if TYPE_CHECKING:
    from stroboscope.app.models.scene import SceneModel

__all__ = ["OFFERED_NUMBERS", "DerivedNumber", "RolloutsModel", "rollout_ref"]


@dataclasses.dataclass(frozen=True, slots=True)
class DerivedNumber:
    """A number of rollouts that can be asked for: of ``expression``, under ``name``."""

    title: str
    name: str
    expression: str
    reduction: Reduction = Reduction.MAX

    def command(self, id: int, *, scene_id: int, rollout_ids: tuple[int, ...]) -> DeriveNumber:
        """Return what asks for it."""
        return DeriveNumber(
            id=id,
            scene_id=scene_id,
            expression=self.expression,
            reduction=self.reduction,
            name=self.name,
            rollout_ids=rollout_ids,
        )


OFFERED_NUMBERS = (
    DerivedNumber("Deepest penetration", "max penetration [m]", "contact.depth"),
    DerivedNumber("Largest contact force", "max contact force [N]", "contact.force"),
    DerivedNumber("Most contacts", "most contacts", "contact.count"),
    DerivedNumber("Largest speed", "max |qvel|", "max(abs(qvel))"),
    DerivedNumber("Largest acceleration", "max |qacc|", "max(abs(qacc))"),
    DerivedNumber("Largest actuator load", "max actuator load", "max(actuator.load)"),
    DerivedNumber(
        "Smallest distance to a joint limit",
        "min joint margin",
        "min(joint.margin)",
        Reduction.MIN,
    ),
    DerivedNumber("Highest energy", "max energy [J]", "energy.total"),
    DerivedNumber("Lowest energy", "min energy [J]", "energy.total", Reduction.MIN),
)
"""What is offered beside an expression of one's own."""


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

    def derive(self, number: DerivedNumber) -> None:
        """Compute a number of all of them, and of what is left of scenes that have ended."""
        scene = self._scene
        if scene.is_stale:
            return
        for scene_id, rollouts in (
            (scene.scene_id, self.rollouts),
            (0, scene.session.finished.rollouts),
        ):
            missing = tuple(
                each.rollout_id for each in rollouts if number.name not in dict(each.numbers)
            )
            if missing:
                scene.session.send(partial(number.command, scene_id=scene_id, rollout_ids=missing))

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
