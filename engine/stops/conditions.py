"""What the user wants a scene to stop for: expressions that are watched at every physics step.

A condition is looked at when a step is complete, on the values of that very step; when it becomes
true the scene is held where it stands. Nothing is taken back, so that the run goes on as it would
have without it.
"""

import functools
import logging
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.expressions import (
    ExpressionError,
    UnknownSignal,
    awaited_channels,
    check_condition,
)
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.time_messages import ConditionInfo, StopReason
from stroboscope.engine.arguments import flag
from stroboscope.engine.expression_channels import ExpressionScope
from stroboscope.engine.signal_channels import ENGINE_CHANNELS
from stroboscope.engine.stops.already import already_text, is_true_now
from stroboscope.engine.stops.condition_words import condition_stop
from stroboscope.engine.stops.limits import LEAST_LIMITS, Limits
from stroboscope.engine.stops.watched import StepValues, WatchedExpression, Watcher

if TYPE_CHECKING:
    from stroboscope.engine.history.ring import RowRing
    from stroboscope.engine.history.scene_history import SceneHistory
    from stroboscope.engine.scene import Scene
    from stroboscope.engine.world import World

__all__ = ["Condition", "ConditionEntry", "SceneConditions", "check"]

_log = logging.getLogger(__name__)


class ConditionEntry:
    """One condition and where its evaluation stands."""

    __slots__ = ("awaited", "info", "was_true", "watched")

    def __init__(self, info: ConditionInfo) -> None:
        self.info = info
        self.watched: WatchedExpression | None = None
        self.awaited: tuple[str, ...] = ()
        """What the script has to log before it can be looked at."""
        self.was_true = False

    @property
    def reads_logged(self) -> bool:
        """Whether it speaks of what the script logs."""
        watched = self.watched
        uses = watched.expression.channels if watched is not None else ()
        return bool(self.awaited) or any(use.is_user for use in uses)


_Watching = tuple[ConditionEntry, Callable[[StepValues], float]]
_AtHand = tuple[
    "RowRing | None", "SceneHistory", StepValues, list[_Watching], Limits | None, float, int
]
"""Ring, history, values, what is looked at each for itself, and what at once; and time and episode
in which the last step ended. Without a ring it has to be gathered anew.
"""


class SceneConditions:
    """All conditions of one scene; owner thread only."""

    def __init__(self, scene: "Scene") -> None:
        self._scene = scene
        self._entries: dict[int, ConditionEntry] = {}
        self._next_id = 1
        self._infos: tuple[ConditionInfo, ...] | None = ()
        self._world: World | None = None
        self._watcher: Watcher | None = None
        self._watcher_of: tuple[object, ...] = ()
        self.reads_logged = False
        """Whether anything that is looked at speaks of what the script logs."""
        self._limited: list[_Watching] = []
        """What is looked at at once, in the order of its limits."""
        self._at_hand: _AtHand
        """What every step needs, in one attribute; there while anything is watched."""

    # --- what there is

    @property
    def infos(self) -> tuple[ConditionInfo, ...]:
        """All of them, oldest first; the same object while nothing changed."""
        if self._infos is None:
            self._infos = tuple(entry.info for entry in self._entries.values())
        return self._infos

    def info(self, condition_id: int) -> ConditionInfo:
        """Return one of them; CommandError when there is none."""
        return self._entry(condition_id).info

    def put(self, info: ConditionInfo) -> ConditionInfo:
        """Add a condition (id 0) or replace the one with its id; CommandError when it is wrong.

        A changed expression begins to count anew.
        """
        if self._world is not None and self._world is not self._scene.world:
            self._follow_world()
        known = self._entry(info.condition_id) if info.condition_id else None
        if known is None or known.info.expression != info.expression:
            entry = ConditionEntry(msgspec.structs.replace(info, hit_count=0))
            self._compile(entry)
            if known is None:
                entry.info = msgspec.structs.replace(entry.info, condition_id=self._next_id)
                self._next_id += 1
            self._entries[entry.info.condition_id] = entry
        else:
            entry = known
            entry.info = info
        self._changed()
        return entry.info

    def remove(self, condition_id: int) -> None:
        """Forget a condition; CommandError when there is none."""
        self._entry(condition_id)
        del self._entries[condition_id]
        self._changed()

    def _entry(self, condition_id: int) -> ConditionEntry:
        entry = self._entries.get(condition_id)
        if entry is None:
            raise CommandError(f"there is no condition {condition_id}: it was removed")
        return entry

    def _changed(self) -> None:
        """Have the next step gather what is watched: adding one costs what that one costs."""
        self._infos = None
        active = [entry for entry in self._entries.values() if _is_active(entry)]
        self.reads_logged = any(entry.reads_logged for entry in active)
        if active:
            history = self._scene.history
            known: _AtHand | None = getattr(self, "_at_hand", None)
            ends_at = math.nan if known is None else known[5]
            episode = -1 if known is None else known[6]
            self._at_hand = None, history, self.watcher().values, [], None, ends_at, episode
        self._scene.stops.conditions = self if active else None

    def _gather(self) -> None:
        """Put together what every step looks at."""
        active: list[_Watching] = []
        limited: list[tuple[_Watching, tuple[int, float, float]]] = []
        for entry in self._entries.values():
            if not _is_active(entry):
                continue
            if entry.watched is None:
                active.append((entry, functools.partial(self._awaited_number, entry)))
                continue
            watching = entry, entry.watched.number
            limit = entry.watched.limit
            if limit is None:
                active.append(watching)
            else:
                limited.append((watching, limit))
        limits = None
        self._limited = []
        if len(limited) >= LEAST_LIMITS:
            limits = Limits([limit for _, limit in limited])
            limits.put([watching[0].was_true for watching, _ in limited])
            self._limited = [watching for watching, _ in limited]
        elif limited:
            active = sorted([*active, *(each for each, _ in limited)], key=_age)
        history = self._scene.history
        values, (ends_at, episode) = self.watcher().values, self._at_hand[5:]
        self._at_hand = history.ring, history, values, active, limits, ends_at, episode

    def _compile(self, entry: ConditionEntry) -> None:
        """Make an entry ready to be looked at, or to wait for what the script logs; CommandError.

        Nothing has changed then.
        """
        text, watcher = entry.info.expression, self.watcher()
        awaited = _awaited(text, watcher)
        entry.watched = None if awaited else WatchedExpression(text, watcher)
        entry.awaited = awaited
        failure = f"it {_waits(awaited)}" if awaited else ""
        entry.info = msgspec.structs.replace(entry.info, failure=failure)

    def _awaited_number(self, entry: ConditionEntry, values: StepValues) -> float:
        """Return the value of a condition as soon as all it waits for is logged; NaN until then."""
        logged = self._scene.link.user_channels
        if not all(name in logged for name in entry.awaited):
            return math.nan
        failure = self._compile_or_fail(entry)
        self._changed()
        if failure:
            text = (
                f"condition “{entry.info.name or entry.info.expression}” is not watched: {failure}"
            )
            _log.warning("scene %r: %s", self._scene.name, text)
            self._scene.link.log_text(LogLevel.WARNING, text)
        return math.nan if entry.watched is None else entry.watched.number(values)

    def _compile_or_fail(self, entry: ConditionEntry) -> str:
        """Compile an entry anew; return why it can't be, "" if it can. It is kept, and says so."""
        try:
            self._compile(entry)
        except CommandError as error:
            entry.watched, entry.awaited = None, ()
            entry.info = msgspec.structs.replace(entry.info, failure=str(error))
            return str(error)
        return ""

    def watcher(self) -> Watcher:
        """Return what reads the present world; made anew where the script logs more by now."""
        user = self._scene.link.user_channels
        key = (self._scene.world, *map(id, tuple(user.values())))
        if self._watcher is None or key != self._watcher_of:
            self._watcher, self._watcher_of = self._new_watcher(), key
        return self._watcher

    def _new_watcher(self) -> Watcher:
        world, link = self._scene.world, self._scene.link
        scope = ExpressionScope(
            world.model,
            channels=world.channels,
            user=link.user_channels,
            report=link.log_problem,
            adapter=world.adapter,
        )
        self._world = world
        return Watcher(world, scope, self._scene.history.packing)

    def note_of(self, condition_id: int) -> str:
        """Return what whoever has set it should know: it waits, or is true already; or ""."""
        entry = self._entries.get(condition_id)
        if entry is None or not _is_active(entry):
            return ""
        if entry.awaited:
            return _waits(entry.awaited)
        if entry.was_true and not self._will_forget():
            return ""  # it can't become true
        scene = self._scene
        if not is_true_now(scene, entry.info.expression, self.watcher()):
            return ""
        return already_text(scene, entry.info, guards_detached=scene.stops.guards_detached)

    def _will_forget(self) -> bool:
        """Return whether the next step begins elsewhere than the last one has ended."""
        history, (ends_at, episode) = self._scene.history, self._at_hand[5:]
        return float(self._scene.world.live().time) != ends_at or history.episode != episode

    # --- after every physics step

    def after(self, ring: "RowRing", at: int, data: Any, *, is_counted: bool = True) -> None:
        """Look at the physics step that is complete and counted, whose row was written ``at``.

        ``is_counted``: so is the application step that it is part of.
        Raises SimulationStopped where the script wants that, and what its callbacks raise.
        """
        # Few attributes: after a step none of them is in the processor's cache.
        known, history, values, active, limits, ends_at, episode = self._at_hand
        if ring is not known:
            if self._world is not self._scene.world:
                self._follow_world()  # another world has another ring
                if self._scene.stops.conditions is None:
                    return
            self._gather()
            _, history, values, active, limits, ends_at, episode = self._at_hand
        values.put(ring, at, data)
        if values.time != ends_at or history.episode != episode:
            self._forget()
            if limits is not None:
                limits.forget()
        self._at_hand = ring, history, values, active, limits, history.time_after, history.episode
        if limits is not None:
            changed = limits.changed(values)
            if changed.size:
                limited = self._limited
                active = sorted([*active, *(limited[at] for at in changed.tolist())], key=_age)
        for entry, number in active:
            value = number(values)
            if not value or value != value:  # what is no number is not true
                entry.was_true = False
            elif not entry.was_true:
                with self._scene.link.owner.signals:  # it is told, or found in the next step
                    entry.was_true = True
                    self._hit(entry, values, is_counted=is_counted)

    def _forget(self) -> None:
        """Begin anew where the state was replaced: what is true there became true there."""
        for entry in self._entries.values():
            entry.was_true = False
            if entry.watched is not None:
                entry.watched.forget()

    def _follow_world(self) -> None:
        """Compile anew for another model; what no longer fits is kept and says why."""
        for entry in self._entries.values():
            self._compile_or_fail(entry)
            entry.was_true = False
        self._world = self._scene.world
        self._changed()

    def _hit(self, entry: ConditionEntry, values: StepValues, *, is_counted: bool) -> None:
        info = msgspec.structs.replace(entry.info, hit_count=entry.info.hit_count + 1)
        entry.info = info
        self._infos = None
        stops = self._scene.stops
        if info.hit_count < info.hits or StopReason.CONDITION in stops.off:
            return
        watched = entry.watched
        if watched is None:
            return
        stop = condition_stop(self._scene, info, watched, values, is_counted=is_counted)
        if info.once:
            del self._entries[info.condition_id]
            self._changed()
        if info.log_only:
            if self._scene.link.active:
                self._scene.link.stop(msgspec.structs.replace(stop, held=False))
            else:
                _log.info("scene %r: %s", self._scene.name, stop.message)
            return
        stops.stop_after_step(stop)


def _is_active(entry: ConditionEntry) -> bool:
    return entry.info.enabled and (entry.watched is not None or bool(entry.awaited))


def _age(watching: _Watching) -> int:
    """Return by what the oldest comes first."""
    return watching[0].info.condition_id


def check(text: str, watcher: Watcher) -> None:
    """Raise CommandError for an expression that is no condition as things stand."""
    try:
        check_condition(text, watcher.scope.table)
    except UnknownSignal as error:
        advice = (
            "what the script logs can be spoken of after the script has logged it with a debugger "
            "attached"
        )
        raise CommandError(
            str(error.with_advice(advice) if error.may_be_logged else error)
        ) from error
    except ExpressionError as error:
        raise CommandError(str(error)) from error


def _awaited(text: str, watcher: Watcher) -> tuple[str, ...]:
    """Return what the script has to log before a condition can be looked at; CommandError."""
    try:
        awaited = awaited_channels(text, watcher.scope.table)
    except UnknownSignal as error:
        advice = f"if the script will log it: user[{error.name!r}]"
        is_name = error.name.isidentifier() and error.name not in ENGINE_CHANNELS
        raise CommandError(str(error.with_advice(advice) if is_name else error)) from error
    except ExpressionError as error:
        raise CommandError(str(error)) from error
    if ENGINE_CHANNELS & {*awaited}:
        # Under such a name the script's numbers are kept apart from the engine's.
        try:
            check_condition(text, watcher.scope.table)
        except UnknownSignal as error:
            raise CommandError(
                str(error.with_advice("this scene has nothing of the kind"))
            ) from error
    return awaited


def _waits(awaited: tuple[str, ...]) -> str:
    return f"waits until the script logs {' and '.join(map(repr, awaited))}"


class Condition:
    """One condition of a scene, as a script has it; the scene's owner thread only."""

    def __init__(
        self, conditions: SceneConditions, condition_id: int, guard: Callable[[], None]
    ) -> None:
        self._conditions = conditions
        self._guard = guard
        self.condition_id = condition_id
        """Its number in the scene."""

    @property
    def info(self) -> ConditionInfo:
        """Everything about it; CommandError after it was removed."""
        self._guard()
        return self._conditions.info(self.condition_id)

    @property
    def expression(self) -> str:
        """What is watched."""
        return self.info.expression

    @property
    def hit_count(self) -> int:
        """How often it became true."""
        return self.info.hit_count

    @property
    def enabled(self) -> bool:
        """Whether it is watched; may be set."""
        return self.info.enabled

    @enabled.setter
    def enabled(self, wanted: bool) -> None:
        self._conditions.put(msgspec.structs.replace(self.info, enabled=flag(wanted, "enabled")))

    def remove(self) -> None:
        """Forget it; twice is harmless."""
        self._guard()
        if any(info.condition_id == self.condition_id for info in self._conditions.infos):
            self._conditions.remove(self.condition_id)

    def __repr__(self) -> str:
        """Say what is watched."""
        return f"Condition({self.condition_id}, {self.expression!r})"
