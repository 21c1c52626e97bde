"""What an engine calls around its physics steps: one link per scene.

While nothing is attached, ``active`` is False and the engine calls nothing. Otherwise it calls
``begin_step``, then ``gate`` and ``after_physics`` around every physics step, and ``end_step`` as
soon as its counters are right. The fast path takes no lock and allocates nothing.

Stopping is race-free because of an order: the owner first says that it is in a step, then looks at
``attention``; whoever stops it first sets ``attention`` (under the lock), then looks whether the
owner is in a step.
"""

import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.backend import SceneBackend
from stroboscope.debugger_protocol.codec import trim_text
from stroboscope.debugger_protocol.exceptions import CommandError, SceneClosedError
from stroboscope.debugger_protocol.host.owners import Visit
from stroboscope.debugger_protocol.host.playback import GrantKind, HoldKind, Pacer, Ticket
from stroboscope.debugger_protocol.host.scene_changes import SceneChanges
from stroboscope.debugger_protocol.host.scene_signals import SceneSignals
from stroboscope.debugger_protocol.host.time_desk import TimeDesk
from stroboscope.debugger_protocol.host.user_channels import (
    channel_info,
    check_channel_name,
    open_channel,
)
from stroboscope.debugger_protocol.messages import LogLevel, SceneRestored
from stroboscope.debugger_protocol.signal_handlers import goes_to_script, is_of_handler
from stroboscope.debugger_protocol.time_messages import StopInfo
from stroboscope.debugger_protocol.topics import Topic

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.checkpoints import MadeByScript
    from stroboscope.debugger_protocol.host.host import Host
    from stroboscope.debugger_protocol.host.owners import Owner

__all__ = ["LoggedValue", "SceneLink", "channel_info", "check_channel_name"]

LoggedValue = float | Sequence[float] | NDArray[np.generic]

# Shorter waits cost more than they are right: sub-millisecond steps run in batches.
_MIN_SLEEP = 0.001


class SceneLink(SceneSignals):
    """The host's side of one scene. Made by :meth:`Host.open_scene`, on the owner thread.

    Methods without a remark are for the owner thread only; "lock held" ones are the host's own.
    """

    def __init__(
        self, host: "Host", owner: "Owner", backend: SceneBackend, *, scene_id: int, name: str
    ) -> None:
        super().__init__(host, owner, backend, scene_id=scene_id, name=name)
        self.monotonic = host.monotonic
        """The clock of :attr:`quiet_until` [s]."""
        self.shows_old_state = False
        """Whether NOW frames are due although the thread does not stop."""
        self.replacements = 0
        """How often the state was replaced: restored or reset; what remains of a step is void."""
        self.restored = SceneRestored(scene_id=scene_id, reason="", axis=0, time=0.0, count=0)
        """The newest restore; ``count`` is how many there were. Replaced by reference."""
        self.is_at_end = False
        """Whether its script has come to its end, and is held there."""
        self.hold_location = ""
        """Where the script paused itself, as "train.py:118"; valid while that holds the scene."""
        self.physics_ticks = 0
        """Physics steps seen; a sign of life for whoever waits."""
        self.stamp = 0.0
        """When the owner last passed a gate or ended a step [s]."""
        self.pacer = Pacer()
        self.changes = SceneChanges(self, host)
        """What clients change in this scene."""
        self.past = TimeDesk(self, host)
        """Its past, as clients look at it, and what stops it."""
        self.publisher.ghosts = self.past.ghosts.arrays
        self._step_open = False
        self._step_ticks = 0
        self._frame_begun = False
        self._untold = False
        """Whether the server thread is to be woken after this physics step."""
        self._now_of = (-1, -1)

    # --- stepping

    def begin_step(self) -> None:
        """Begin an application step."""
        self._step_open = True
        self._step_ticks = self.physics_ticks

    def gate(self) -> bool:
        """Serve, park and pace before a physics step.

        Returns False when the state was replaced in the middle of an application step: abandon
        the rest of it and don't call :meth:`end_step`. Raises SceneClosedError when the scene or
        the host is closed, and what the script's own callbacks raise.
        """
        self.in_step = True
        self.stamp = now = self._monotonic()
        if self.attention or self._paced:
            if not self._hold_back():
                return False
            self.stamp = now = self._monotonic()
        if self.intervening:
            self.changes.intervene()
        if now >= self._due or self._granted:
            self._before_due(now)
        if self.ring is not None:
            self._begin_row()
        return True

    def after_physics(self) -> None:
        """Publish what the physics step computed; directly after it."""
        self.physics_ticks += 1
        if self.ring is not None:
            self.row_after()
        if self._frame_begun:
            self._frame_begun = False
            self.publisher.end()
            self._untold = True
        if self._untold:
            self._untold = False
            self._host.wake()

    def end_step(self) -> None:
        """Complete an application step, after the engine has counted it, before any callback."""
        self._step_open = False
        self.in_step = False
        self.stamp = self._monotonic()
        if self.attention:
            self._attentive_end()

    def abandon_step(self) -> None:
        """Say that an application step won't be completed: its physics raised an error."""
        self._step_open = False
        self.in_step = False
        self.stamp = self._monotonic()
        self._frame_begun = False
        with self._playback.lock:
            self.left_step()
            if any(grant.started for grant in self.grants):
                self.cancel_grants("a step did not complete, the script was told why")
        self._host.wake()

    def serve(self) -> None:
        """Do what was asked of this thread's scenes and publish the state; never parks.

        For scenes that aren't stepped. Raises SceneClosedError.
        """
        self.touched = True
        self.stamp = now = self._monotonic()
        if not self.active or any(link.in_step for link in self.owner.links):
            return  # detached, or called from inside a physics step, where nothing may change
        if now >= self._due:
            self.refresh_clock()
            self.past.refresh()
            self.publisher.publish_now_if_changed(now)
            self._set_due()
            self._host.wake()
        self.owner.attend(self, visit=Visit.SERVE)

    def sync(self) -> None:
        """Stand in for a whole step whose physics ran elsewhere: count it, publish, park, pace.

        Raises SceneClosedError.
        """
        if not self.active:
            return
        self.physics_ticks += 1
        self.publisher.state_changed()
        self.end_step()
        now = self._monotonic()
        if now >= self._due or self._granted:
            self.refresh_clock()
            self.past.refresh()
            self.publisher.publish_now_if_changed(now)
            self._set_due()
            self._host.wake()
        self.in_step = True
        if self.attention or self._paced:
            self._hold_back()
        self.in_step = False
        self.stamp = self._monotonic()

    def park(self, reason: str, location: str) -> None:
        """Hold this scene and stop here until a client lets it go on; nothing when detached."""
        reason = trim_text(str(reason), self._host.limits.log_text_bytes)
        with self._playback.lock:
            if not self.active or self.closed or not self.follow:
                return
            self.cancel_grants(f"the script paused itself at {location}: {reason}")
            self.holds[HoldKind.SCRIPT] = reason
            self.hold_location = location
            self.refresh()
        self.refresh_clock()  # it may have run a while since somebody looked
        self._host.log(LogLevel.INFO, f"paused by the script: {reason}", link=self, source=location)
        if self.in_step:
            return  # called from inside a physics step, where nothing may stop: the next gate parks
        self.owner.attend(self, visit=Visit.STOP)
        self.in_step = False
        self.stamp = self._monotonic()

    def park_at_end(self, reason: str) -> None:
        """Hold this scene, which no step comes to any more; nothing when nobody controls it.

        Returns when a client lets it go on, or has gone.
        """
        self.refresh_clock()
        while True:
            with self._playback.lock:
                if not self.active or self.closed or not self.follow:
                    return
                if not self._playback.controlled or not self._playback.attached:
                    return
                told, self.is_at_end = self.is_at_end, True
                self.cancel_grants("the script is over, no step comes any more: look back instead")
                self.holds[HoldKind.SCRIPT] = reason
                self.hold_location = ""
                self.refresh()
            if not told:
                self._host.log(LogLevel.WARNING, reason, link=self)
            self.owner.attend(self, visit=Visit.STOP)
            # Somebody who asks for a step wants to see one, not the end of everything.
            if not self.grants:
                return

    def stop(self, info: StopInfo) -> bool:
        """Say that the scene has to stop before a physics step; ``stop_id`` is given here.

        True: it is held, put the state back to the row before that step and pass the gate again;
        after that :meth:`take_unguarded` tells whether to run the step all the same. False: the
        stop is only marked, because nobody controls the session or the rules say so; go on.
        """
        return self.past.stops.stop(info)

    def stop_here(self, info: StopInfo, location: str) -> None:
        """Stop for an error of the script at ``location``, here, before that goes on.

        Returns when a client lets the scene go on, and at once where the stop is only marked, or
        where this is inside a physics step: the next gate parks then.
        """
        if not self.past.stops.stop(info, is_complete=True):
            return
        self.hold_location = location
        if self.in_step:
            return
        self.owner.attend(self, visit=Visit.STOP)
        self.in_step = False
        self.stamp = self._monotonic()

    def release_holds(self, reason: str) -> None:
        """Let the scene go on as far as it is itself concerned. Lock held."""
        if HoldKind.STOP in self.holds and self.past.stops.stands_where_it_stopped():
            self.unguarded = True
        self.end_grants()  # those of before: whoever asks now gets one of their own
        self.holds.clear()
        self.want_live(reason)

    def forget_parent(self) -> None:
        """In a forked child: nothing that was asked for in the parent counts."""
        super().forget_parent()
        self.past.forget_parent()

    def want_live(self, reason: str) -> None:
        """Have the owner put the view back to live before the scene goes on. Lock held."""
        if self.past.is_away:
            self.live_wanted = reason

    # --- what the script says

    def log(
        self,
        channel: str,
        value: LoggedValue,
        *,
        names: Sequence[str] | None = None,
        detached: bool = False,
    ) -> None:
        """Append ``value``, a number or a vector, to a user channel at this instant.

        The width of a channel is that of its first value. Nothing when detached, unless that
        counts as well (``detached``). Raises ValueError for another width or for what is no number.
        """
        if not (self.active or detached) or self.closed:
            return
        row = np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()
        ring = self.user_channels.get(channel)
        if ring is None:
            number = len(self.user_channels)
            ring = open_channel(channel, row, names, number=number, limits=self._host.limits)
            self.user_channels[channel] = ring
            self._host.wake()
        if row.size != ring.width:
            raise ValueError(
                f"channel {channel!r} has {ring.width} values per row: "
                f"this one has {row.size}, log it under another name"
            )
        ring.append(self.backend.clock(), row)

    def checkpoint_made(self, made: "MadeByScript", *, approximate: str = "") -> None:
        """List a checkpoint that the script has made under a name; ``approximate``: why it is so.

        The list holds on to it while somebody is attached, and otherwise as long as the script.
        """
        if not self.closed:
            self.changes.editor.list_made(made, approximate=approximate)

    def log_text(self, level: LogLevel, text: str, *, channel: str = "") -> None:
        """Put a sentence into the log of every client; nothing when detached.

        ``channel``: the name under which the script has logged it.
        """
        if self.active and not self.closed:
            if self.owner.thread is threading.current_thread():
                self.refresh_clock()
            self._host.log(level, text, link=self, channel=channel)

    def log_problem(self, text: str) -> None:
        """Say that something was not recorded; once for all that is said up to the first colon."""
        if self.active and not self.closed:
            self._host.log_once(self, text)

    def state_replaced(self, reason: str) -> None:
        """Say that the script has restored or reset the scene: an episode, never a stop."""
        self.replacements += 1
        self.pacer.forget()
        self.changes.editor.end_drag()
        self.publisher.state_replaced()
        self.unguarded = False
        if HoldKind.STOP in self.holds:
            self.holds[HoldKind.STOP] = f"{reason}, after it had stopped"
        if not self.active or self.closed:
            return
        if self.ring is None and self.applied_interest.channels:
            self.rebuild_ring()  # reading signals failed, maybe because of the state
        # What is remembered stays due: episodes may be shorter than the time between two looks.
        due = self._clock_due
        clock = self.refresh_clock()
        self._clock_due = due
        self.restored = SceneRestored(
            scene_id=self.scene_id,
            reason=reason,
            axis=clock.axis,
            time=clock.time,
            count=self.restored.count + 1,
        )
        self._host.wake()

    @property
    def is_step_open(self) -> bool:
        """Whether an application step has begun and not ended."""
        return self._step_open

    def topic_changed(self, topic: Topic) -> None:
        """Say that a topic's values are others now although nothing was stepped."""
        self.publisher.topic_changed(topic)

    def selection_changed(self) -> None:
        """Say that all topics are of something else now: another environment, other ghosts."""
        self.publisher.state_edited()
        self.publisher.past_changed()
        self.shows_old_state = True

    def model_replaced(self) -> None:
        """Say that the model is another one: description, initial state and channels are stale."""
        self.publisher.model_replaced()
        self.pacer.forget()
        self.initial = None
        self.changes.editor.model_replaced()
        self.past.model_replaced()
        self.intervening = False
        self.rebuild_ring()
        with self._playback.lock:
            self.needs_initial = self.needs_findings = self._playback.attached
            self.refresh()
        self._host.model_changed(self)

    def transfer_to(self, thread: threading.Thread) -> None:
        """Give the scene to another owner thread, with everything that waits for it."""
        self._host.transfer(self, thread)

    def close(self) -> None:
        """End the scene; any thread. A thread that is parked in it gets SceneClosedError."""
        self._host.close_scene(self, "the scene was closed")

    def close_soon(self) -> None:
        """End the scene from a finalizer: takes no lock, so it can't wait for this very thread."""
        self._host.close_scene_soon(self)

    # --- the slow path

    def _hold_back(self) -> bool:
        """Attend and pace until the physics step may run; False: abandon the step."""
        owner = self.owner
        if owner.serving:
            return True
        while True:
            if self.attention and not self._attend():
                return False
            if not self._paced:
                return True
            pacer = self.pacer
            try:
                sim_time = self.backend.clock().time
            except Exception as error:  # the user's simulation goes on
                if is_of_handler(error):
                    raise
                self.report_failure(f"reading the clock failed, so it is not paced: {error!r}")
                return True
            now = self._monotonic()
            speed = self._playback.speed
            ahead = pacer.ahead(sim_time, now=now, speed=speed, turns=owner.turns)
            if ahead < _MIN_SLEEP:
                return True
            self.in_step = False
            if now >= self._due:
                self.refresh_clock()
                self._host.wake()
            owner.pace(self, ahead)
            self.in_step = True
            self.stamp = self._monotonic()
            pacer.has_waited(self.stamp - now)

    def _attend(self) -> bool:
        try:
            proceed = self.owner.attend(self, visit=Visit.GATE)
        except BaseException:
            self.in_step = self._step_open = False
            raise
        if not proceed:
            self.in_step = self._step_open = False
        return proceed

    def _attentive_end(self) -> None:
        with self._playback.lock:
            if self.closed or self._playback.closed:
                return
            self.left_step()
            if self.grants:
                grant = self.grants[0]
                if grant.kind is GrantKind.STEPS and grant.started:
                    grant.remaining -= 1
                self._settle_grants()
                self.refresh()
        self._host.wake()

    def _before_due(self, now: float) -> None:
        every_step = self._granted and self._is_last_step()
        if now >= self._clock_due:
            self.refresh_clock()
            self.past.refresh()
            self._untold = True
        if now >= self._signal_due:
            self._signal_due = now + self._signal_interval(now)
            self._untold = True
        # A step on all cores would share them with the server thread and with clients: those are
        # told after it, while only the owner is busy. Of a long one the server tells by itself.
        if self._untold and not self._takes_all_cores:
            self._untold = False
            self._host.wake()
        self._frame_begun = self.publisher.begin(now, every_step=every_step)
        self._set_due()

    def _is_last_step(self) -> bool:
        grants = self.grants
        return not grants or grants[0].kind is GrantKind.UNTIL or grants[0].remaining <= 1

    def _set_due(self) -> None:
        self._due = min(self._clock_due, self._signal_due, self.publisher.next_due())
        # First written, then checked: whoever stops us takes the permission back after _quiet.
        self.quiet_until = self._due
        if not self._quiet:
            self.quiet_until = -math.inf

    # --- what the owner's loop asks and does

    def capture_initial(self) -> None:
        """Capture the state that RestoreInitial goes back to."""
        self.needs_initial = False
        self.touched = True
        try:
            # By a name: so an engine that compares models can say what a restore leaves as it is.
            self.initial = self.backend.capture_checkpoint("the initial state")
        except BaseException as error:  # the user's simulation goes on
            if goes_to_script(error):
                self.needs_initial = True
                raise
            self.initial = b""
            self.report_failure(f"the initial state could not be captured: {error!r}")
        self.refresh_clock()
        self._host.wake()
        with self._playback.lock:
            self.refresh()

    def apply_interest(self) -> None:
        """Publish what clients want from now on."""
        interest = self.interest
        channels_changed = interest.channels != self.applied_interest.channels
        self.applied_interest = interest
        self.publisher.interest = interest.intervals
        self.shows_old_state = True
        if channels_changed:
            self.rebuild_ring()
        elif self.ring is None:
            self._signal_due = 0.0 if interest.user_channels else math.inf
        with self._playback.lock:
            self.refresh()

    def has_stale_now(self) -> bool:
        """Return whether the state as it stands has not been published yet. Lock held."""
        if not self.active:
            return False
        standing = (self.physics_ticks, self.replacements)
        if standing != self._now_of:
            self._now_of = standing
            self.publisher.state_changed()
        return self.publisher.has_stale_now()

    def publish_now(self) -> None:
        """Publish the state as it stands."""
        self.shows_old_state = False
        self.refresh_clock()
        self.publisher.publish_now()
        self._host.wake()

    def publish_last(self) -> None:
        """Publish the state that the scene is left in, when nothing will step it any more.

        On its owner thread, or on any when that has ended.
        """
        if self.closed or not self.active or self.in_step:
            return
        self.publisher.interest = self.applied_interest.intervals
        self.publisher.state_changed()
        self.publish_now()

    def tell(self, event: str) -> None:
        """Run the script's callbacks for ``event``; what they raise goes to the script."""
        self.backend.on_mode(event)

    def note_parked(self) -> float:
        """Return the time, having told the server thread where the scene stopped. Lock held.

        All scenes of a thread stand still when it parks in one of them.
        """
        self.pacer.forget()
        now = self._monotonic()
        for link in self.owner.links:
            link.refresh_clock()
            link.past.refresh()
        self._host.wake()
        return now

    def note_left_park(self) -> None:
        """Tell the server thread that this thread goes on: it may be the main thread, and end."""
        self._host.wake()

    def is_mid_step(self) -> bool:
        """Return whether physics steps of the open application step have run already."""
        return self._step_open and self.physics_ticks > self._step_ticks

    def refresh_flags(self) -> None:
        """Recompute the flags of the fast path, and tell the server thread that there are news."""
        with self._playback.lock:
            self.refresh()
        self._host.wake()

    def tell_news(self) -> None:
        """Let the server thread look for what has to be told."""
        self._host.wake()

    def answer(self, ticket: Ticket, error: CommandError | None) -> None:
        """Settle a ticket, unless that was done already."""
        with self._playback.lock:
            ticket.settle(error)
        self._host.wake()

    def check_open(self) -> None:
        """Raise SceneClosedError when the scene or the host is closed."""
        if self.closed or self._playback.closed:
            raise SceneClosedError(self._playback.closed or f"{self.name!r}: {self.closed}")
