"""Whether one scene may move: holds, grants, and the flags that the fast path looks at.

Everything here is guarded by the playback's lock, except that the owner thread reads the flags
without it.
"""

import dataclasses
import math
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from stroboscope.debugger_protocol.backend import Clock, SceneBackend
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.playback import (
    Grant,
    GrantKind,
    HoldKind,
    PauseWait,
    Playback,
)
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.signal_handlers import is_of_handler
from stroboscope.debugger_protocol.topics import Topic

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.owners import Owner

__all__ = ["Interest", "Release", "ScenePlayback"]

# How often a running scene tells the server thread where it stands [s].
_CLOCK_INTERVAL = 0.1
_NOWHERE = Clock(time=0.0, step_count=0, physics_step_count=0, total_steps=0, axis=0)


@dataclasses.dataclass(frozen=True, slots=True)
class Release:
    """The perturbation, or ``everything`` that clients do beside a script, has to end; why."""

    reason: str
    everything: bool


class Interest:
    """What all clients together want to know about one scene; immutable.

    ``intervals`` [s] of the topics, engine ``channels``, whether user channels are plotted, and how
    often rows of either are to be sent [s].
    """

    __slots__ = ("channels", "intervals", "signal_interval", "user_channels")

    def __init__(
        self,
        *,
        intervals: Mapping[Topic, float] | None = None,
        channels: tuple[str, ...] = (),
        user_channels: bool = False,
        signal_interval: float = 0.0,
    ) -> None:
        self.signal_interval = signal_interval
        self.intervals: Mapping[Topic, float] = intervals or {}
        self.channels = channels
        self.user_channels = user_channels


class ScenePlayback:
    """The playback of one scene, as the host's commands and the owner's loop see it."""

    def __init__(
        self,
        playback: Playback,
        owner: "Owner",
        backend: SceneBackend,
        *,
        scene_id: int,
        name: str,
        monotonic: Callable[[], float],
        report: Callable[[str], None],
    ) -> None:
        self.active = False
        """Whether the engine has to call; False costs it one attribute test."""
        self.attention = False
        """Whether the owner has to take the lock before its next physics step."""
        self.scene_id = scene_id
        self.name = name
        self.follow = True
        self.backend = backend
        self.owner = owner
        self.closed = ""
        self.is_finished = False
        """Whether what is left of the scene is kept already."""
        self.holds: dict[HoldKind, str] = {}
        self.grants: list[Grant] = []
        self.grants_end = ""
        """Why the grants end as soon as the owner has put back the step that it stopped in."""
        self.pause_waits: list[PauseWait] = []
        self.told_paused = False
        """Whether the script's ``on_pause`` has run and its ``on_play`` has not."""
        self.needs_initial = False
        self.needs_findings = False
        """Whether the scene has to be looked over for common mistakes."""
        self.intervening = False
        """Whether the coming physics step is not the script's alone."""
        self.live_wanted = ""
        """Why the view has to go live before the scene goes on; empty: it needn't."""
        self.has_works = False
        """Whether the owner does something long for a client, in slices."""
        self.unguarded = False
        """Whether the coming physics step is to run although it stopped the scene."""
        self.release_wanted: Release | None = None
        """What the owner has to end of that before its next physics step."""
        self.initial: bytes | None = None
        self.interest = self.applied_interest = Interest()
        """What clients want: set by the server thread, applied by the owner."""
        self.in_step = False
        """From a gate to the end of the step: what the owner says before it looks at anything."""
        self.touched = False
        """Whether the scene has ever been stepped or served."""
        self.opened = monotonic()
        """When the scene was opened [s]."""
        self.clock: Clock | None = None
        """Where the scene stood when it last said so; replaced by reference."""
        self._playback = playback
        self._monotonic = monotonic
        self._report = report
        self.quiet_until = -math.inf
        """Until when [s] a step of one physics step may do without ``gate`` and ``after_physics``.

        Such a step sets ``in_step`` before it looks; at its end it counts itself in
        ``physics_ticks``, clears ``in_step`` and calls ``end_step`` if there is ``attention``.
        """
        self._quiet = False
        self._paced = False
        self._granted = False
        self._due = math.inf
        self._clock_due = 0.0

    def refresh(self) -> None:
        """Recompute the flags of the fast path. Lock held."""
        playback = self._playback
        self._due = 0.0
        self._quiet = False
        if self.closed or playback.closed:
            # The engine has to call, or it would never learn that the scene is gone.
            self.active = self.attention = True
            self.quiet_until = -math.inf
            return
        attached = playback.attached
        moves = self.moves_by_mode()
        self._granted = bool(self.grants) and attached
        self._paced = (
            attached and self.follow and not self.grants and playback.mode is PlaybackMode.PLAYING
        )
        self.attention = attached and (
            not moves
            or bool(self.grants)
            or bool(self.owner.mailbox)
            or self.needs_initial
            or self.needs_findings
            or self.release_wanted is not None
            or bool(self.live_wanted)
            or self.has_works
            or self.interest is not self.applied_interest
            or (self.told_paused and moves)
        )
        calls = self.attention or self._paced or self._granted
        self._quiet = attached and not calls and not self.intervening
        # The next gate, with nobody's lock, says until when; see SceneLink._set_due.
        self.quiet_until = -math.inf
        self.active = attached

    def is_orphaned(self) -> bool:
        """Return whether the owner thread has ended without closing the scene; any thread."""
        thread = self.owner.thread
        return thread.ident is not None and not thread.is_alive()

    def moves_by_mode(self) -> bool:
        """Return whether the scene runs without any grant. Lock held."""
        if not self._playback.attached or not self.follow:
            return True
        return self._playback.mode is not PlaybackMode.PAUSED and not self.holds

    def take_unguarded(self) -> bool:
        """Return whether this physics step is to run although it stopped the scene; only once.

        By the owner, after a gate.
        """
        unguarded, self.unguarded = self.unguarded, False
        return unguarded

    def is_released(self) -> bool:
        """Return whether the scene runs, or is about to, by whatever right. Lock held."""
        return self.moves_by_mode() or bool(self.grants)

    def may_move(self) -> bool:
        """Return whether the next physics step may run. Lock held."""
        self.end_grants()
        if self.moves_by_mode():
            return True
        self._settle_grants()
        if self.grants:
            return True
        # Another scene of this thread is to step, and can't before this one lets it.
        return any(grant.with_dependents for link in self.owner.links for grant in link.grants[:1])

    def enter_step(self, *, physics: bool) -> None:
        """Note that the thread may go on, into a ``physics`` step or into the script. Lock held."""
        self.in_step = physics
        self.touched = True
        for grant in self.grants[:1]:
            grant.started = True
            if physics and grant.kind is GrantKind.PHYSICS_STEPS:
                grant.remaining -= 1

    def left_step(self) -> None:
        """Note that no physics step is running; answers who waited for that. Lock held."""
        self.in_step = False
        if self.pause_waits:
            self.refresh_clock()
            for wait in self.pause_waits:
                wait.left(self)
            self.pause_waits.clear()

    def forget_parent(self) -> None:
        """In a forked child: nothing that was asked for in the parent counts."""
        self.grants.clear()
        self.grants_end = ""
        self.holds.clear()
        self.pause_waits.clear()
        self.told_paused = self.needs_initial = self.in_step = self.unguarded = False
        self.want_release("the process was forked", everything=True)
        self.interest = Interest()
        self.initial = None

    @property
    def playback_lock(self) -> threading.Lock:
        """What guards whether the scene may move."""
        return self._playback.lock

    def check_at_rest(self) -> None:
        """Raise CommandError when the scene runs, so that its state can't be edited. Lock held."""
        if self.follow and self.moves_by_mode():
            raise CommandError(f"{self.name!r} is running: pause it before its state can be edited")

    def want_release(self, reason: str, *, everything: bool) -> None:
        """Have the owner end what clients do beside the script, or the perturbation. Lock held.

        Also when there is nothing yet: a command may be under way on the owner thread.
        """
        before = self.release_wanted
        everything = everything or (before is not None and before.everything)
        self.release_wanted = Release(reason, everything)

    def refresh_clock(self) -> Clock:
        """Read where the scene stands, for the server thread.

        By the owner, or with the lock held while the scene is not in a step.
        """
        self._clock_due = self._monotonic() + _CLOCK_INTERVAL
        try:
            clock = self.backend.clock()
        except Exception as error:  # the user's simulation goes on
            if is_of_handler(error):
                raise
            self._report(f"reading the clock failed: {error!r}")
            clock = self.clock or _NOWHERE
        self.clock = clock
        return clock

    def _settle_grants(self) -> None:
        """Answer grants that are used up, now that no physics step is running. Lock held."""
        while self.grants:
            grant = self.grants[0]
            if grant.kind is GrantKind.UNTIL:
                clock = self.refresh_clock()
                if not grant.is_reached(time=clock.time, step_count=clock.step_count):
                    return
            elif grant.remaining > 0:
                return
            self.refresh_clock()
            self.grants.pop(0)
            grant.ticket.settle()
            self.refresh()

    def end_grants(self) -> None:
        """Take back the rights to move that a stop has ended. Lock held."""
        if self.grants_end:
            reason, self.grants_end = self.grants_end, ""
            self.cancel_grants(reason)

    def cancel_grants(self, reason: str, *, kind: GrantKind | None = None) -> None:
        """Take back rights to move, all or those of a kind; tells who had asked. Lock held."""
        kept = []
        for grant in self.grants:
            if kind is None or grant.kind is kind:
                grant.ticket.settle(CommandError(f"{grant.ticket.what} was interrupted: {reason}"))
            else:
                kept.append(grant)
        self.grants = kept
        self.refresh()
