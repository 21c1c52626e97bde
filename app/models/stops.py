"""What has stopped a scene by itself, where it stands because of that, and which rules are on."""

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

from stroboscope.app.models.numbers import count_text, number_text, with_unit
from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.time_messages import (
    SceneStops,
    SetStopRules,
    StopInfo,
    StopReason,
)

if TYPE_CHECKING:
    from stroboscope.app.models.scene import SceneModel

__all__ = [
    "REASONS",
    "Reason",
    "StopsModel",
    "reason_of",
    "stop_headline",
    "stop_message",
    "stop_place",
    "stop_sentence",
    "stop_text",
    "stop_whose",
]


@dataclasses.dataclass(frozen=True, slots=True)
class Reason:
    """What a rule is called, what it watches for, and whether it is grave or somebody's wish."""

    title: str
    what: str
    is_grave: bool = True


REASONS: dict[StopReason, Reason] = {
    StopReason.NON_FINITE: Reason(
        "Not a number", "A position, velocity or acceleration is NaN or infinite."
    ),
    StopReason.EXPLODING: Reason(
        "Exploding", "Velocities grow from step to step as nothing real does."
    ),
    StopReason.BAD_INPUT: Reason("Bad input", "A control or an applied force is not a number."),
    StopReason.WARNING: Reason("Engine warning", "The engine warned in this step."),
    StopReason.AUTORESET: Reason(
        "Automatic reset", "The engine replaced a diverged state with the initial one."
    ),
    StopReason.FATAL: Reason("Fatal error", "The engine's step raised an error."),
    StopReason.ARENA: Reason("Memory full", "Contacts or constraints had no room and are missing."),
    StopReason.CALLBACK: Reason("Callback raised", "A callback of the script raised an exception."),
    StopReason.SCRIPT_ERROR: Reason("Script raised", "The script raised an exception."),
    StopReason.CONDITION: Reason("Condition", "A condition of yours came true.", is_grave=False),
}
"""Every rule in the order in which they are listed."""

_SIGNAL = Reason("Process ended", "A signal told the process to end.", is_grave=False)


def reason_of(stop: StopInfo) -> Reason:
    """Return what a stop is called: by its rule, unless a signal has ended the process there."""
    return _SIGNAL if stop.signal else REASONS[stop.reason]


def stop_place(stop: StopInfo) -> str:
    """Return where a stop was, as in "episode 3 · step 141 · t 0.282 s"."""
    parts = [f"episode {count_text(stop.episode)}"] if stop.episode > 0 else []
    if stop.env >= 0:
        parts.append(f"environment {stop.env}")
    parts.append(f"step {count_text(stop.step)}")
    if stop.physics_step != stop.step:
        parts.append(f"physics step {count_text(stop.physics_step)}")
    parts.append(f"t {with_unit(number_text(stop.time), 's')}")
    return " · ".join(parts)


def stop_message(stop: StopInfo) -> str:
    """Return what happened without the environment, where its place stands beside it."""
    return stop.message.removeprefix(f"environment {stop.env}: ")


def stop_whose(stop: StopInfo) -> str:
    """Return what happened after the environment that it happened in, where there are several."""
    return f"environment {stop.env}: {stop_message(stop)}" if stop.env >= 0 else stop.message


def stop_headline(stop: StopInfo) -> str:
    """Return what happened, after the name of the rule where that says more."""
    title, message = reason_of(stop).title, stop_message(stop)
    says_it = message.casefold().startswith(title.casefold())
    if says_it or not reason_of(stop).is_grave:
        return message[:1].upper() + message[1:]
    return f"{title}: {message}"


def stop_sentence(stop: StopInfo) -> str:
    """Return what happened where the name of the rule stands over it."""
    title, message = f"{reason_of(stop).title}: ", stop_message(stop)
    has_title = message.casefold().startswith(title.casefold())
    text = message[len(title) :] if has_title else message
    return text[:1].upper() + text[1:]


def stop_text(stop: StopInfo) -> str:
    """Return everything that is known of a stop, for the clipboard."""
    lines = [stop_headline(stop), stop_place(stop)]
    lines += [part for part in (stop.culprit, stop.advice) if part]
    lines += [f"offer: {label}" for label, _ in stop.what_if]
    return "\n".join(lines)


_QUIET = 10
"""So many statuses of a scene that has gone on without a reset by its engine end the mark."""


class StopsModel:
    """The stops and rules of one scene; what people choose is believed when it is told back.

    ``changed``: stops or rules; ``rules_chosen``: those of this window's user. GUI thread only.
    """

    def __init__(self, scene: "SceneModel") -> None:
        self.changed: Signal[[]] = Signal()
        self.rules_chosen: Signal[[]] = Signal()
        self.told = SceneStops(scene_id=scene.scene_id, stops=())
        self._scene = scene
        # What was asked for and is not told back yet: quick clicks build on each other.
        self._asked: SetStopRules | None = None
        self._quiet = _QUIET

    @property
    def is_known(self) -> bool:
        """Whether the engine watches for stops at all: one that remembers nothing doesn't."""
        return self._scene.history.told is not None

    @property
    def stops(self) -> tuple[StopInfo, ...]:
        """Those that are still kept, oldest first."""
        return self.told.stops

    @property
    def rules(self) -> SceneStops | SetStopRules:
        """Which rules are off, ``stop_all`` and ``mark_only``, as they are or will be in a moment.

        Fields of the same name in both messages.
        """
        return self._asked if self._asked is not None else self.told

    @property
    def resetting(self) -> str:
        """How often the engine has reset the scene by itself, while it does; empty: it does not."""
        if self._quiet >= _QUIET:
            return ""
        count = self.told.resets
        return (
            f"the engine resets it by itself: {count_text(count)} time{'s' * (count != 1)} so far"
        )

    @property
    def standing(self) -> StopInfo | None:
        """The stop that the scene is held by, None when it is not."""
        scene, status = self._scene, self._scene.status
        if not self.told.stops or status is None or scene.is_stale:
            return None
        newest = self.told.stops[-1]
        held = newest.held and status.held and scene.mode is PlaybackMode.PAUSED
        return newest if held and status.hold_reason == newest.message else None

    @property
    def in_view(self) -> StopInfo | None:
        """The stop that holds the scene, or that a recorded run had where it is looked at."""
        history, standing = self._scene.history, self.standing
        if standing is not None and not self._is_elsewhere(standing):
            return standing
        if self._scene.is_stale or not history.is_replay:
            return None
        axis = history.live if history.view is None else history.view
        here = [stop for stop in reversed(self.told.stops) if stop.axis == axis]
        # Whoever ends a process whose scene is held by a stop does not want that one hidden.
        return next((stop for stop in here if not stop.signal), here[0] if here else None)

    def _is_elsewhere(self, stop: StopInfo) -> bool:
        """Whether another episode is looked at, or what was recorded before the stop's branch."""
        history, told = self._scene.history, self._scene.history.told
        if told is None or told.view is None:
            return False
        place = history.place(told.view)
        if place is not None and place.episode != stop.episode:
            return True
        return history.is_replay and stop.axis > told.recording_end

    def find(self, stop_id: int) -> StopInfo | None:
        """Return a stop by its id, None when it is not kept any more."""
        return next((stop for stop in self.told.stops if stop.stop_id == stop_id), None)

    def receive(self, message: SceneStops) -> None:
        """Take what the application says."""
        if message.resets > self.told.resets:
            self._quiet = 0
        self.told = message
        self.changed.emit()

    def note_steps(self) -> None:
        """Note that the scene has gone on: a status says so."""
        self._quiet = min(self._quiet + 1, _QUIET)

    def set_rules(
        self,
        *,
        off: Iterable[StopReason] | None = None,
        stop_all: bool | None = None,
        mark_only: bool | None = None,
    ) -> None:
        """Switch rules; what is None stays as it is."""
        scene, now = self._scene, self.rules
        if scene.is_stale:
            return
        chosen = tuple(now.off if off is None else off)
        every = now.stop_all if stop_all is None else stop_all
        only = now.mark_only if mark_only is None else mark_only

        def make(number: int) -> SetStopRules:
            return SetStopRules(
                id=number, scene_id=scene.scene_id, off=chosen, stop_all=every, mark_only=only
            )

        sent = scene.session.send(make, then=self._answered, otherwise=self._refused)
        if sent is not None:
            self._asked = make(sent)
            self.changed.emit()
            self.rules_chosen.emit()

    def switch(self, reason: StopReason, *, on: bool) -> None:
        """Switch one rule."""
        off = {*self.rules.off} - {reason} if on else {*self.rules.off, reason}
        self.set_rules(off=tuple(each for each in REASONS if each in off))

    def _answered(self, command_id: int, _value: int | None) -> None:
        if self._asked is not None and self._asked.id == command_id:
            self._asked = None
            self.changed.emit()

    def _refused(self, command_id: int, _reason: str) -> None:
        self._answered(command_id, None)
