"""Conditions that a scene stops on, and those of a script that outlive it."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.time_messages import (
    BreakWhen,
    ConditionInfo,
    EditCondition,
    RemoveCondition,
    SceneConditions,
)

if TYPE_CHECKING:
    from stroboscope.app.models.scene import SceneModel

__all__ = ["ConditionsModel", "SavedCondition", "condition_title", "threshold_expression"]


class SavedCondition(msgspec.Struct, frozen=True, kw_only=True):
    """A condition as the settings keep it; ``envs_idx``: in these environments, empty: anywhere."""

    expression: str
    name: str = ""
    enabled: bool = True
    hits: int = 1
    once: bool = False
    log_only: bool = False
    envs_idx: tuple[int, ...] = ()


def condition_title(condition: ConditionInfo) -> str:
    """Return what a condition is called: its name, else its expression."""
    return condition.name or condition.expression


def threshold_expression(reference: str, value: float, *, above: bool) -> str:
    """Return the condition that a quantity is above or below a value, as short as can be read."""
    relation = ">" if above else "<"
    return f"{reference} {relation} {value:.4g}"


@dataclasses.dataclass(frozen=True, slots=True)
class _Draft:
    """A condition that was sent and has no id yet."""

    saved: SavedCondition
    told: Callable[[int], None]


class ConditionsModel:
    """The conditions of one scene. ``changed`` when they are others.

    Those that were made here (``mine``) are the user's and come back with the script; those of the
    script itself it makes anew. ``mine_changed`` says that there is something else to remember.
    """

    def __init__(self, scene: "SceneModel") -> None:
        self.changed: Signal[[]] = Signal()
        self.mine_changed: Signal[[]] = Signal()
        self.told = SceneConditions(scene_id=scene.scene_id, conditions=())
        self._scene = scene
        self._mine: set[int] = set()
        self._restored: set[tuple[str, tuple[int, ...]]] = set()

    @property
    def is_known(self) -> bool:
        """Whether the engine watches conditions at all: one that remembers nothing doesn't."""
        return self._scene.history.told is not None

    @property
    def conditions(self) -> tuple[ConditionInfo, ...]:
        """All of them, oldest first."""
        return self.told.conditions

    @property
    def mine(self) -> tuple[SavedCondition, ...]:
        """Those that were made in this window and are still there."""
        return tuple(_saved(each) for each in self.conditions if each.condition_id in self._mine)

    def find(self, condition_id: int) -> ConditionInfo | None:
        """Return a condition by its id."""
        return next((each for each in self.conditions if each.condition_id == condition_id), None)

    def receive(self, message: SceneConditions) -> None:
        """Take what the application says."""
        before = self.mine
        self.told = message
        self.changed.emit()
        if self.mine != before:
            self.mine_changed.emit()

    # --- commands

    def add(
        self,
        condition: SavedCondition,
        *,
        then: Callable[[int], None] = lambda _id: None,
        otherwise: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        """Watch a condition from now on; ``otherwise`` is told why that can't be."""
        scene = self._scene
        if scene.is_stale:
            return
        draft = _Draft(condition, then)
        scene.session.send(
            lambda i: BreakWhen(
                id=i,
                scene_id=scene.scene_id,
                expression=condition.expression,
                name=condition.name,
                hits=condition.hits,
                once=condition.once,
                log_only=condition.log_only,
                envs_idx=condition.envs_idx,
            ),
            then=lambda _command, value: self._made(draft, value),
            otherwise=lambda _command, reason: otherwise(reason),
        )

    def _made(self, draft: _Draft, condition_id: int | None) -> None:
        if condition_id is None:
            return
        self._mine.add(condition_id)
        if not draft.saved.enabled:
            self.edit(condition_id, enabled=False)
        draft.told(condition_id)
        self.mine_changed.emit()

    def edit(
        self,
        condition_id: int,
        *,
        expression: str | None = None,
        enabled: bool | None = None,
        hits: int | None = None,
        once: bool | None = None,
        log_only: bool | None = None,
        otherwise: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        """Change a condition; what is None stays."""
        scene = self._scene
        if scene.is_stale:
            return
        scene.session.send(
            lambda i: EditCondition(
                id=i,
                scene_id=scene.scene_id,
                condition_id=condition_id,
                expression=expression,
                enabled=enabled,
                hits=hits,
                once=once,
                log_only=log_only,
            ),
            otherwise=lambda _command, reason: otherwise(reason),
        )

    def remove(self, condition_id: int) -> None:
        """Forget a condition."""
        scene = self._scene
        if not scene.is_stale:
            scene.session.send(
                lambda i: RemoveCondition(id=i, scene_id=scene.scene_id, condition_id=condition_id)
            )

    def restore(self, saved: Iterable[SavedCondition]) -> None:
        """Bring back what was remembered; what is there already, word by word, is taken as it."""
        for each in saved:
            key = each.expression, each.envs_idx
            if key in self._restored:
                continue
            self._restored.add(key)
            known = next((c for c in self.conditions if (c.expression, c.envs_idx) == key), None)
            if known is not None:
                self._mine.add(known.condition_id)
            else:
                self.add(each)


def _saved(condition: ConditionInfo) -> SavedCondition:
    return SavedCondition(
        expression=condition.expression,
        name=condition.name,
        enabled=condition.enabled,
        hits=condition.hits,
        once=condition.once,
        log_only=condition.log_only,
        envs_idx=condition.envs_idx,
    )
