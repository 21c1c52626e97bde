"""The host: every debugged scene of this process, and the commands that act on them.

Commands may come from any thread (the server's, usually). They change the shared playback under
its lock and wake the owner threads concerned; what only an owner may do goes into its mailbox.
Every command returns a :class:`Ticket` that is settled when the command was *done*, or raises
CommandError at once when it can't be.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType

import msgspec

from stroboscope.debugger_protocol.backend import SceneBackend
from stroboscope.debugger_protocol.codec import trim_text
from stroboscope.debugger_protocol.exceptions import CommandError, SceneClosedError
from stroboscope.debugger_protocol.host.deriving import Deriver, among_finished
from stroboscope.debugger_protocol.host.edits import AT_REST_FIELDS, EDIT_WORDS
from stroboscope.debugger_protocol.host.events import HostListener
from stroboscope.debugger_protocol.host.finished import HostKeeper
from stroboscope.debugger_protocol.host.hold_at_end import keep_newest
from stroboscope.debugger_protocol.host.host_sessions import HostSessions
from stroboscope.debugger_protocol.host.owners import Job, Owner
from stroboscope.debugger_protocol.host.playback import (
    MAX_SPEED,
    MIN_SPEED,
    Grant,
    GrantKind,
    HoldKind,
    PauseWait,
    Reply,
    Tell,
    Ticket,
    step_count,
)
from stroboscope.debugger_protocol.host.scene_link import SceneLink
from stroboscope.debugger_protocol.host.scene_playback import Interest, ScenePlayback
from stroboscope.debugger_protocol.host.time_desk import PAUSING, TIME_WORDS
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import (
    Command,
    EditState,
    Goto,
    LoadKeyframe,
    PlaybackMode,
    RestoreCheckpoint,
)
from stroboscope.debugger_protocol.playback_messages import ONLY_ANOTHER, PAUSED_ALONE

__all__ = ["Host", "HostListener"]

# What " (12345)" adds to a name that is taken.
_NUMBER_BYTES = 16
_RUNS_FREE = "runs free and never stops: create it with playback='follow' to step and pause it"


class Host(HostSessions):
    """All scenes of one process that a debugger may see. Any thread, unless a method says more.

    ``monotonic`` is the clock of pacing and deadlines, in seconds.
    """

    def __init__(
        self, *, limits: Limits | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(limits or Limits())
        self.monotonic = monotonic
        self.unseen_scenes = 0
        """Simulations that run free because there is no room for them as scenes."""
        self._next_id = 1
        # The main thread may come out of its shutdown while the server thread does its work for it.
        self._publishing_last = threading.Lock()
        self.deriver = Deriver(self)
        self.keeper = HostKeeper(self.find_scene, self.finished)
        self._closing: deque[tuple[SceneLink, str]] = deque()

    # --- scenes

    @property
    def links(self) -> Mapping[int, SceneLink]:
        """The open scenes by id, in the order in which they were opened (a live view)."""
        return MappingProxyType(self._links)

    def open_scene(self, name: str, backend: SceneBackend, *, follow: bool = True) -> SceneLink:
        """Open a scene that the calling thread owns; ``name`` gets a number when it is taken.

        With ``follow=False`` the scene neither parks nor is paced. Raises SceneClosedError after
        :meth:`close`.
        """
        self._close_finalized()
        thread = threading.current_thread()
        with self.playback.lock:
            if self.playback.closed:
                raise SceneClosedError(f"{name!r} can't be opened: {self.playback.closed}")
            owner = self._owner_of(thread)
            link = SceneLink(
                self, owner, backend, scene_id=self._next_id, name=self._free_name(name)
            )
            link.follow = follow
            self._next_id += 1
            self._links = {**self._links, link.scene_id: link}
            owner.links.append(link)
            keep_newest(owner, wanted=self.playback.hold_at_end)
            link.needs_initial = link.needs_findings = self.playback.attached
            link.changes.editor.checkpoints.hold(wanted=self.playback.attached)
            link.refresh()
        self.wake()
        return link

    def close_scene(self, link: SceneLink, reason: str) -> None:
        """Close a scene; a thread that is parked in it gets SceneClosedError."""
        if link.owner.thread is threading.current_thread() or link.is_orphaned():
            self.finished.keep(link)
        with self.playback.lock:
            if link.closed:
                return
            link.closed = reason
            self._links = {k: v for k, v in self._links.items() if v is not link}
            owner = link.owner
            owner.links.remove(link)
            if not owner.links:
                self._owners.pop(owner.thread, None)
            self._forget_pending(link, reason)
            link.refresh()
            owner.refresh()
        self.wake()

    def close_scene_soon(self, link: SceneLink) -> None:
        """Close a scene from a finalizer, which may run while any lock is held: take none."""
        self._closing.append((link, "its data was garbage-collected"))
        self.wake()

    def transfer(self, link: SceneLink, thread: threading.Thread) -> None:
        """Give a scene to another thread; called by its present owner."""
        with self.playback.lock:
            link.check_open()
            old, new = link.owner, self._owner_of(thread)
            if new is old:
                return
            jobs = [job for job in old.mailbox if job.link is link]
            for job in jobs:
                old.mailbox.remove(job)
            old.links.remove(link)
            if not old.links:
                self._owners.pop(old.thread, None)
            link.owner = new
            new.links.append(link)
            new.mailbox.extend(jobs)
            old.refresh()
            new.refresh()
        self.wake()

    # --- sessions

    def set_interest(self, link: SceneLink, interest: Interest) -> None:
        """Tell a scene's owner what the clients want from now on."""
        with self.playback.lock:
            link.interest = interest
            link.owner.refresh()

    def forget_parent(self) -> None:
        """In a forked child: start detached, with locks that no other thread ever held."""
        self.forget_listener()
        self.playback.lock = threading.Lock()
        self._publishing_last = threading.Lock()
        self.finished.forget_parent()
        self.deriver.forget_parent()
        self.playback.attached = False
        survivor = threading.current_thread()
        for thread, owner in list(self._owners.items()):
            owner.forget_parent()
            for link in owner.links:
                link.forget_parent()
                if thread is not survivor:
                    link.closed = "its thread did not survive a fork"
                link.refresh()
            if thread is not survivor:
                del self._owners[thread]
        self._links = {k: link for k, link in self._links.items() if not link.closed}

    def release_all(self, reason: str) -> None:
        """Release every thread and end the session; safe in signal handlers and finalizers.

        Returns at once. A signal handler may have interrupted whoever holds the lock, so another
        thread does it: the server's, or without one a short-lived one.
        """
        if self.listener is not None:
            self.listener.released(reason)
            return
        threading.Thread(target=self.detach, args=(reason,), daemon=True).start()

    def close(self, reason: str = "the host was closed") -> None:
        """End everything: whoever steps or serves a scene gets SceneClosedError. Idempotent."""
        with self.playback.lock:
            if self.playback.closed:
                return
            self.playback.attached = False
            self.playback.closed = reason
            for link in self._links.values():
                self._forget_pending(link, reason)
            self._refresh_all()
        self.wake()

    # --- commands: whole session or one scene

    def play(self, scene_id: int | None = None, *, reply: Reply | None = None) -> Ticket:
        """Play all scenes, or this one while the others stand still as far as they did before."""
        return self._run(PlaybackMode.PLAYING, scene_id, reply)

    def fast_forward(self, scene_id: int | None = None, *, reply: Reply | None = None) -> Ticket:
        """Run all scenes, or this one while the others stand still, without a throttle."""
        return self._run(PlaybackMode.FAST_FORWARD, scene_id, reply)

    def _run(self, mode: PlaybackMode, scene_id: int | None, reply: Reply | None) -> Ticket:
        ticket = Ticket(mode.value, scene_id, reply)
        with self.playback.lock:
            self._check_attached()
            chosen = self._scope(scene_id)
            if scene_id is not None and self.playback.mode is not mode:
                # Nobody else may change its pace because one scene was chosen.
                for link in self._links.values():
                    if link not in chosen and link.follow:
                        link.holds.setdefault(HoldKind.SCOPE, ONLY_ANOTHER)
            self.playback.mode = mode
            for link in chosen:
                link.release_holds(f"the scene was released to {mode.value}")
                link.cancel_grants(f"the scene was released to {mode.value}", kind=GrantKind.UNTIL)
            ticket.settle()
            self._refresh_all()
        self.wake()
        return ticket

    def pause(self, scene_id: int | None = None, *, reply: Reply | None = None) -> Ticket:
        """Stop all scenes, or hold this one. Done when none of them is inside a step.

        A thread that is in its script's code has stopped in effect: its next gate parks.
        """
        ticket = Ticket("pause", scene_id, reply)
        with self.playback.lock:
            self._check_attached()
            chosen = [link for link in self._scope(scene_id) if link.follow]
            if not chosen and scene_id is not None:
                raise CommandError(f"{self._links[scene_id].name!r} {_RUNS_FREE}")
            if scene_id is None:
                self.playback.mode = PlaybackMode.PAUSED
            for link in chosen:
                if scene_id is not None:
                    link.holds.setdefault(HoldKind.SCOPE, PAUSED_ALONE)
                link.cancel_grants("the scene was paused")
            self._refresh_all()
            self._settle_when_still(ticket, chosen)
        self.wake()
        return ticket

    def _settle_when_still(self, ticket: Ticket, links: Iterable[SceneLink]) -> None:
        running: set[ScenePlayback] = set()
        for link in links:
            if link.in_step and not link.is_orphaned():
                running.add(link)
            else:
                link.refresh_clock()
        if not running:
            ticket.settle()
            return
        wait = PauseWait(ticket, running)
        for each in running:
            each.pause_waits.append(wait)

    def set_speed(self, speed: float, *, reply: Reply | None = None) -> Ticket:
        """Set simulated seconds per wall second while playing, 1/64 … 64."""
        ticket = Ticket("set speed", None, reply)
        if not MIN_SPEED <= speed <= MAX_SPEED:
            raise CommandError(f"speed must be 1/64…64, got {speed:g}")
        with self.playback.lock:
            self._check_attached()
            self.playback.speed = float(speed)
            ticket.settle()
            for owner in self._owners.values():
                owner.interrupt_pacing()
        self.wake()
        return ticket

    # --- commands: one scene

    def step(
        self,
        scene_id: int,
        count: int = 1,
        *,
        with_dependents: bool = False,
        reply: Reply | None = None,
    ) -> Ticket:
        """Pause all; let one scene complete exactly ``count`` application steps."""
        ticket = Ticket("step", scene_id, reply)
        grant = Grant(
            GrantKind.STEPS, ticket, remaining=step_count(count), with_dependents=with_dependents
        )
        return self._grant(scene_id, grant)

    def physics_step(self, scene_id: int, count: int = 1, *, reply: Reply | None = None) -> Ticket:
        """Pause all; let one scene complete exactly ``count`` physics steps."""
        ticket = Ticket("physics step", scene_id, reply)
        return self._grant(
            scene_id, Grant(GrantKind.PHYSICS_STEPS, ticket, remaining=step_count(count))
        )

    def run_until(
        self,
        scene_id: int,
        *,
        time: float | None = None,
        step_count: int | None = None,
        reply: Reply | None = None,
    ) -> Ticket:
        """Pause all; run one scene unthrottled until simulation ``time`` [s] or a step count."""
        if time is None and step_count is None:
            raise CommandError("run until needs a time or a step count, got neither")
        ticket = Ticket("run until", scene_id, reply)
        return self._grant(
            scene_id, Grant(GrantKind.UNTIL, ticket, time=time, step_count=step_count)
        )

    def _grant(self, scene_id: int, grant: Grant) -> Ticket:
        with self.playback.lock:
            self._check_attached()
            link = self._movable(scene_id, grant.ticket.what)
            if grant.kind is GrantKind.UNTIL:
                self._check_ahead(link, grant)
            self.playback.mode = PlaybackMode.PAUSED
            link.release_holds(f"{grant.ticket.what} was asked for")
            link.grants.append(grant)
            self._refresh_all()
        self.wake()
        return grant.ticket

    def restore_initial(self, scene_id: int, *, reply: Reply | None = None) -> Ticket:
        """Put one scene back to the state before its first step; the mode stays what it is."""
        ticket = Ticket("restore", scene_id, reply)
        with self.playback.lock:
            self._check_attached()
            link = self._owned(self._scope(scene_id)[0], ticket.what)
            link.cancel_grants("the scene was restored")
            link.owner.post(Job(link, ticket, partial(link.changes.run_restore, ticket)))
        return ticket

    def edit(self, command: Command, *, client: int = 0, reply: Reply | None = None) -> Ticket:
        """Change one scene from outside: one of :data:`EDIT_WORDS`, given by ``client``."""
        scene_id: int = command.scene_id  # type: ignore[attr-defined]
        ticket = Ticket(EDIT_WORDS[type(command)], scene_id, reply)
        with self.playback.lock:
            self._check_attached()
            link = self._owned(self._scope(scene_id)[0], ticket.what)
            if isinstance(command, EditState) and command.field in AT_REST_FIELDS:
                link.check_at_rest()
            if isinstance(command, LoadKeyframe | RestoreCheckpoint):
                link.cancel_grants("the scene was restored")
            run = partial(link.changes.run_command, ticket, command, client)
            link.owner.post(Job(link, ticket, run))
        return ticket

    def travel(
        self, command: Command, *, reply: Reply | None = None, tell: Tell | None = None
    ) -> Ticket:
        """Look at the past of one scene, branch it, or say what stops it: :data:`TIME_WORDS`.

        ``tell`` is given what comes before the answer.
        """
        scene_id: int = command.scene_id  # type: ignore[attr-defined]
        ticket = Ticket(TIME_WORDS[type(command)], scene_id, reply)
        ticket.tell = tell or ticket.tell
        if not scene_id:
            return among_finished(self, command, ticket)
        with self.playback.lock:
            self._check_attached()
            if isinstance(command, PAUSING):
                link = self._movable(scene_id, ticket.what)
                link.cancel_grants(f"{ticket.what} was asked for")
                if link.moves_by_mode():
                    self.playback.mode = PlaybackMode.PAUSED
            else:
                link = self._owned(self._scope(scene_id)[0], ticket.what)
            is_goto = isinstance(command, Goto)
            older = link.owner.take_goto(link) if is_goto else ()
            run = partial(link.past.run, ticket, command, older)
            link.owner.post(Job(link, ticket, run, is_goto, older))
            self._refresh_all()
        self.wake()
        return ticket

    def ask(self, link: SceneLink, what: str, work: Callable[[], None]) -> None:
        """Have a scene's owner call ``work`` when it comes to it; nobody hears of it. Any thread.

        Raises CommandError when its mailbox is full, or nothing is attached.
        """
        with self.playback.lock:
            self._check_attached()
            link.owner.post(Job(link, Ticket(what, link.scene_id, None), work))
        self.wake()

    def stop_all(self, reason: str) -> None:
        """Pause every scene because one has stopped. Lock held."""
        self.playback.mode = PlaybackMode.PAUSED
        for link in self._links.values():
            if link.follow:
                link.cancel_grants(reason)
        self._refresh_all()

    def cancel(self, ticket: Ticket) -> bool:
        """Withdraw a command; False when it is done or being done, and its answer comes.

        What a step has already moved stays moved; what remains of it is taken back.
        """
        with self.playback.lock:
            link = self._links.get(ticket.scene_id) if ticket.scene_id is not None else None
            if ticket.settled:
                return False
            held = link is not None and any(grant.ticket is ticket for grant in link.grants)
            if ticket.started and not held and not (link and link.owner.has_lost(ticket)):
                return False
            ticket.settled = True
            for each in self._links.values():
                each.grants = [grant for grant in each.grants if grant.ticket is not ticket]
                each.pause_waits = [wait for wait in each.pause_waits if wait.ticket is not ticket]
                each.owner.withdraw(ticket)
            self._refresh_all()
            return True

    def step_dependents(self, ticket: Ticket) -> None:
        """Let every scene that stands still take one step, because a stepped one waits for it.

        For a step ``with_dependents`` whose owner doesn't get on.
        """
        with self.playback.lock:
            if ticket.settled:
                return
            for link in self._links.values():
                if link.follow and not link.grants and link.owner.parked_in is link:
                    helper = Ticket("dependent step", link.scene_id, None)
                    link.grants.append(Grant(GrantKind.STEPS, helper, remaining=1))
            self._refresh_all()

    # --- the end

    def publish_last(self, *, main_is_over: bool = False) -> None:
        """Publish where the scenes stand that nobody steps any more, because the session ends.

        Those of the calling thread, of threads that have ended, and of the main thread when it
        only waits for others any more (``main_is_over``).
        """
        if not self.playback.attached:
            return
        with self._publishing_last:
            for link in tuple(self._links.values()):
                thread = link.owner.thread
                is_over = link.is_orphaned() or (main_is_over and thread is threading.main_thread())
                if (thread is threading.current_thread() or is_over) and not link.closed:
                    link.past.refresh()
                    link.publish_last()

    def take_events(self) -> list[msgspec.Struct]:
        """Return what was queued for the clients since the last call; server thread."""
        self._close_finalized()
        return super().take_events()

    # --- inside, lock held

    def _owner_of(self, thread: threading.Thread) -> Owner:
        owner = self._owners.get(thread)
        if owner is None:
            owner = Owner(self.playback, thread, mailbox=self.limits.mailbox)
            self._owners[thread] = owner
        return owner

    def _free_name(self, name: str) -> str:
        taken = {link.name for link in self._links.values()}
        # Room for the number; whoever reads the name elsewhere must find the same one.
        name = trim_text(name, self.limits.name_bytes - _NUMBER_BYTES)
        candidate, number = name, 2
        while candidate in taken:
            candidate, number = f"{name} ({number})", number + 1
        return candidate

    def _check_attached(self) -> None:
        if self.playback.closed:
            raise CommandError(f"nothing can be done any more: {self.playback.closed}")
        if not self.playback.attached:
            raise CommandError("no client holds this session: attach first")

    def _scope(self, scene_id: int | None) -> list[SceneLink]:
        if scene_id is None:
            return list(self._links.values())
        return [self.find_scene(scene_id)]

    def _movable(self, scene_id: int, what: str) -> SceneLink:
        link = self._scope(scene_id)[0]
        if not link.follow:
            raise CommandError(f"{link.name!r} {_RUNS_FREE}")
        return self._owned(link, what)

    def _owned(self, link: SceneLink, what: str) -> SceneLink:
        """Return the scene if its thread can still do something for it."""
        if link.is_orphaned():
            raise CommandError(
                f"{what} is not possible for {link.name!r}: "
                f"its thread {link.owner.thread.name} has ended"
            )
        return link

    def _check_ahead(self, link: SceneLink, grant: Grant) -> None:
        if not link.in_step:
            link.refresh_clock()
        clock = link.clock
        if clock is not None and grant.is_reached(time=clock.time, step_count=clock.step_count):
            raise CommandError(
                f"{link.name!r} is at {clock.time:g} s, step {clock.step_count} already: "
                f"run until needs a later target"
            )

    def _close_finalized(self) -> None:
        while self._closing:
            link, reason = self._closing.popleft()
            self.finished.keep(link)  # nobody can step it any more
            self.close_scene(link, reason)
