"""What stops one scene by itself: the stops there were, their rules, and conditions.

The engine watches; here is kept and told what came of it. Rules and conditions belong to the
scene: they are there whether a client is or not.
"""

import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.missing_contacts import MissingContacts
from stroboscope.debugger_protocol.host.named_environments import environments_of_condition
from stroboscope.debugger_protocol.host.playback import HoldKind
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.time_messages import (
    BreakWhen,
    ConditionInfo,
    EditCondition,
    RemoveCondition,
    SceneConditions,
    SceneStops,
    Segment,
    SetStopRules,
    StopInfo,
    StopReason,
)

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.host import Host
    from stroboscope.debugger_protocol.host.scene_link import SceneLink
    from stroboscope.debugger_protocol.time_machine import TimeMachine

__all__ = ["StopDesk"]

_KEPT_STOPS: Final = 64
_MAX_CONDITIONS: Final = 64
_MAX_HITS: Final = 1_000_000_000


class StopDesk:
    """Stops, rules and conditions of one scene; owner thread only.

    ``stops`` and ``conditions`` are what clients are told, replaced by reference: any thread may
    read them.
    """

    def __init__(self, link: "SceneLink", host: "Host") -> None:
        self.stops = SceneStops(scene_id=link.scene_id, stops=())
        self.conditions = SceneConditions(scene_id=link.scene_id, conditions=())
        self._link = link
        self._host = host
        self._stopped_at = -1
        """How often the state had been replaced when the scene stopped last."""
        self._newest: deque[StopInfo] = deque(maxlen=_KEPT_STOPS)
        self._missing: dict[int, MissingContacts] = {}
        """By environment, -1 without: where contacts had no room."""
        self._seen: tuple[ConditionInfo, ...] = ()

    @property
    def newest(self) -> StopInfo | None:
        """The last stop."""
        return self._newest[-1] if self._newest else None

    def stop(self, stop: StopInfo, *, is_complete: bool = False) -> bool:
        """Record a stop and hold the scene; return False when it is only marked and goes on.

        ``is_complete``: the step that it is about has been done and is not taken back, so that
        there is none to be run unguarded.
        """
        link = self._link
        with self._host.playback.lock:
            held = stop.held and not self.why_it_goes_on() and not link.closed
            # Before the hold can be seen: whoever releases it asks what the scene has stopped at.
            stop = self._record(msgspec.structs.replace(stop, held=held))
            if held:
                self._stopped_at = -1 if is_complete else link.replacements
                link.unguarded = False
                ended = f"the scene has stopped: {stop.message}"
                if is_complete:
                    link.cancel_grants(ended)
                else:
                    link.grants_end = ended  # told when the state has been put back
                link.holds[HoldKind.STOP] = stop.message
                link.hold_location = ""
                link.refresh()
                if self.stops.stop_all:
                    self._host.stop_all(f"{link.name!r} has stopped")
        cause = f"Cause: {stop.culprit}" if stop.culprit else ""
        parts = (stop.message, cause, stop.advice)
        text = " ".join(part if part.endswith(".") else f"{part}." for part in parts if part)
        # A condition that came true is what somebody asked for, nothing that went wrong.
        is_bad = held and stop.reason is not StopReason.CONDITION
        level = LogLevel.ERROR if is_bad else LogLevel.WARNING
        # Not where the scene was last seen: it may have come a long way since.
        self._host.log(level, text, link=link, at=(stop.axis, stop.time))
        self._host.wake()
        return held

    def why_it_goes_on(self) -> str:
        """Return why a stop would not hold the scene; "" where it would. For good: lock held."""
        playback = self._host.playback
        if not playback.attached:
            return "no debugger is attached"
        if not playback.controlled:
            return "nobody controls the session"
        if not self._link.follow:
            return "it runs free"
        return "stops only mark" if self.stops.mark_only else ""

    def stands_where_it_stopped(self) -> bool:
        """Return whether the next physics step is the one that stopped the scene. Lock held.

        A condition may have been found true after a step, which then has happened.
        """
        link, newest = self._link, self.newest
        if newest is None or link.replacements != self._stopped_at:
            return False
        if link.grants_end:
            return True  # its owner is about to put back the step that it has stopped in
        clock = link.clock if link.in_step else link.refresh_clock()
        return clock is not None and clock.axis == newest.axis

    def recall(self, stops: Sequence[StopInfo]) -> None:
        """Have the stops of a recorded run, as if they had been here: nothing is held by them."""
        for stop in stops:
            self._record(msgspec.structs.replace(stop, held=False))

    def _record(self, stop: StopInfo) -> StopInfo:
        """Keep a stop, numbered and dated; return it as it is told."""
        number = self.stops.count + 1
        stop = msgspec.structs.replace(
            stop, stop_id=number, wall_time=stop.wall_time or time.time()
        )
        self._newest.append(stop)
        if stop.reason is StopReason.ARENA or stop.env in self._missing:
            self._missing.setdefault(stop.env, MissingContacts()).add(stop)
        self.stops = msgspec.structs.replace(self.stops, stops=tuple(self._newest), count=number)
        return stop

    def invalid_at(self, axis: int, segments: Sequence[Segment], *, is_executed: bool) -> str:
        """Return why the state before step ``axis`` (and that step) is not valid; "": it may be."""
        if not self._missing:
            return ""
        many = self._link.past.environments.told
        # In a file an environment is a scene by itself.
        envs = self._missing if many is None else (many.selected,)
        known = (self._missing[env] for env in envs if env in self._missing)
        found = (each.since(segments, axis, is_executed=is_executed) for each in known)
        since = next(filter(None, found), None)
        if since is None:
            return ""
        return (
            f"not valid: contacts or constraints are missing since step {since.physics_step} "
            "(memory full)"
        )

    def note_resets(self, count: int) -> None:
        """Tell how often the engine has reset the state by itself, in all."""
        if count != self.stops.resets:
            self.stops = msgspec.structs.replace(self.stops, resets=count)

    # --- what clients ask for; CommandError

    def set_rules(self, machine: "TimeMachine", command: SetStopRules) -> None:
        """Switch rules on and off, and say what a stop does."""
        off = tuple(dict.fromkeys(command.off))
        machine.set_stop_rules(off)
        self.stops = msgspec.structs.replace(
            self.stops, off=off, stop_all=command.stop_all, mark_only=command.mark_only
        )

    def break_when(self, machine: "TimeMachine", command: BreakWhen) -> int:
        """Add a condition; return its id."""
        if len(machine.conditions()) >= _MAX_CONDITIONS:
            raise CommandError(
                f"{_MAX_CONDITIONS} conditions are watched in this scene, the most there may be: "
                "remove one first"
            )
        condition = ConditionInfo(
            condition_id=0,
            expression=_expression(command.expression),
            name=" ".join(command.name.split()),
            hits=_hits(command.hits),
            once=command.once,
            log_only=command.log_only,
            envs_idx=environments_of_condition(command.envs_idx, machine.environment_count()),
        )
        return machine.put_condition(condition).condition_id

    def edit_condition(self, machine: "TimeMachine", command: EditCondition) -> None:
        """Change a condition; what is None stays."""
        known = _find(machine, command.condition_id)
        changes: dict[str, object] = {
            name: value
            for name in ("expression", "enabled", "hits", "once", "log_only")
            if (value := getattr(command, name)) is not None
        }
        if command.expression is not None:
            changes["expression"] = _expression(command.expression)
        if command.hits is not None:
            changes["hits"] = _hits(command.hits)
        machine.put_condition(msgspec.structs.replace(known, **changes))

    def noted(self, machine: "TimeMachine", condition_id: int) -> str:
        """Return what whoever has set a condition should know, and tell it to all clients."""
        note = machine.condition_note(condition_id)
        if note:
            known = _find(machine, condition_id)
            text = f"condition “{known.name or known.expression}” {note}"
            self._link.log_text(LogLevel.WARNING, text)
        return note

    def remove_condition(self, machine: "TimeMachine", command: RemoveCondition) -> None:
        """Forget a condition."""
        _find(machine, command.condition_id)
        machine.remove_condition(command.condition_id)

    def refresh(self, machine: "TimeMachine") -> bool:
        """Note what has become of the conditions; return whether there is something to tell."""
        conditions = machine.conditions()
        if conditions is self._seen:
            return False
        self._seen = conditions
        self.conditions = SceneConditions(scene_id=self._link.scene_id, conditions=conditions)
        return True


def _expression(text: str) -> str:
    text = text.strip()
    if not text:
        raise CommandError("a condition needs an expression, as in max(contact.penetration) > 5e-3")
    return text


def _hits(count: int) -> int:
    if not 1 <= count <= _MAX_HITS:
        raise CommandError(f"hits must be 1…{_MAX_HITS:,}, got {count}")
    return count


def _find(machine: "TimeMachine", condition_id: int) -> ConditionInfo:
    conditions = machine.conditions()
    for condition in conditions:
        if condition.condition_id == condition_id:
            return condition
    known = ", ".join(f"{each.condition_id} ({each.expression})" for each in conditions[-5:])
    raise CommandError(
        f"there is no condition {condition_id}: it was removed, or there never was one; "
        f"the newest are {known or 'none'}"
    )
