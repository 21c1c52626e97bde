"""Owner threads: one bell, one bounded mailbox, and the loop that serves while parked.

A thread owns all scenes that it created. Whenever one of them needs attention the thread comes
here, does what was asked of any of its scenes, and waits while the scene it was about to step may
not move.
"""

import dataclasses
import enum
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from stroboscope.debugger_protocol.exceptions import CommandError, SceneClosedError
from stroboscope.debugger_protocol.host.frames import outwards
from stroboscope.debugger_protocol.host.playback import Playback, Ticket, Turns
from stroboscope.debugger_protocol.host.script_place import script_place
from stroboscope.debugger_protocol.signal_handlers import HeldSignals

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_link import SceneLink

__all__ = ["Job", "Owner", "Visit", "interrupted"]

# Windows can't interrupt a lock that waits, so Ctrl+C needs the wait to end now and then.
_WAIT_SLICE: Final = 0.1 if os.name == "nt" else None


@dataclasses.dataclass(slots=True)
class Job:
    """Something that only the owner thread may do. ``work`` settles the ticket.

    With ``is_goto`` it only says where to look; then it may stand for ``older`` ones as well, which
    are answered as it is.
    """

    link: "SceneLink"
    ticket: Ticket
    work: Callable[[], None]
    is_goto: bool = False
    older: tuple[Ticket, ...] = ()
    error: BaseException | None = None
    """What has come between."""

    @property
    def tickets(self) -> tuple[Ticket, ...]:
        """Everybody who waits for it."""
        return *self.older, self.ticket

    def run(self) -> None:
        """Do it on the owner thread; whoever asked is answered even when Ctrl+C comes between."""
        owner = self.link.owner
        try:
            self.work()
        except BaseException as error:
            self.error = error
            owner.answer_interrupted()
            raise
        owner.running = None


def interrupted(ticket: Ticket, error: BaseException | None) -> CommandError:
    """Return what to answer where something has come between that goes to the script."""
    by = f" by {error!r}, which the script was given" if error is not None else ""
    return CommandError(f"{ticket.what} was interrupted{by}")


class Visit(enum.Enum):
    """What brings an owner thread here."""

    SERVE = enum.auto()
    """A scene that isn't stepped is served: never park."""
    STOP = enum.auto()
    """The script stopped itself between steps: park, no physics follows at once."""
    GATE = enum.auto()
    """A physics step is about to run."""


class _Verdict(enum.Enum):
    PROCEED = enum.auto()


class Bell:
    """Wakes the one thread that waits for it, or that will wait next.

    A Condition could do it, but Ctrl+C may come just when that has let go of its lock: leaving the
    ``with`` block then raises RuntimeError in place of KeyboardInterrupt. Here is one lock that
    nothing else is done with, held as long as nobody has rung.
    """

    def __init__(self) -> None:
        self._silence = threading.Lock()
        self._silence.acquire()

    def ring(self) -> None:
        """Let the thread look again; one thread at a time (the playback's lock sees to that)."""
        if self._silence.locked():
            self._silence.release()

    def wait(self, seconds: float | None) -> None:
        """Wait until somebody has rung since the last wait, or for ``seconds``."""
        self._silence.acquire(timeout=-1 if seconds is None else seconds)


class Owner:
    """One owner thread. Everything but the loop itself is guarded by the playback's lock."""

    def __init__(self, playback: Playback, thread: threading.Thread, *, mailbox: int) -> None:
        self.thread = thread
        self.bell = Bell()
        self.mailbox: deque[Job] = deque()
        self.links: list[SceneLink] = []
        self.running: Job | None = None
        """The job that runs, or that something came between before anybody was answered: deep in
        a recursion of the script there may be no stack left, to do it or to say so."""
        self.parked_at = ""
        """Where in the script the thread parked last."""
        self.parked_in: SceneLink | None = None
        self.pacing_in: SceneLink | None = None
        self.since = 0.0
        """When the thread last parked [s]; valid while ``parked_in`` is set."""
        self.signals = HeldSignals()
        """What handlers of signals raise waits while something is done for a client: the script's
        own code in it is let through."""
        self._playback = playback
        self._mailbox_size = mailbox
        self.serving = False
        """Whether the thread is in :meth:`attend`; owner thread only."""
        self.turns = Turns()
        """Whose turn it is to be paced; owner thread only."""
        self._may_work = True
        """Whether a slice of what takes long may delay a step; owner thread only."""

    # --- any thread, lock held

    def post(self, job: Job) -> None:
        """Put a job into the mailbox and wake the owner; raises CommandError when it is full."""
        if len(self.mailbox) >= self._mailbox_size:
            raise CommandError(
                f"{self.thread.name} has {len(self.mailbox)} commands waiting, "
                f"at most {self._mailbox_size} fit: wait until some are done"
            )
        self.mailbox.append(job)
        self.refresh()

    def take_goto(self, link: "SceneLink") -> tuple[Ticket, ...]:
        """Take out a Goto of this scene that is waiting last: another one stands for it now."""
        if self.mailbox and self.mailbox[-1].is_goto and self.mailbox[-1].link is link:
            return self.mailbox.pop().tickets
        return ()

    def refresh(self) -> None:
        """Recompute what the scenes may do, and let the thread look at it."""
        for link in self.links:
            link.refresh()
        self.bell.ring()

    def interrupt_pacing(self) -> None:
        """Let a thread that waits for real time look again: the speed has changed."""
        self.bell.ring()

    def withdraw(self, ticket: Ticket) -> None:
        """Take the jobs of ``ticket`` out of the mailbox, unless others wait for one as well."""
        for job in [job for job in self.mailbox if job.ticket is ticket]:
            if all(each.settled for each in job.older):
                self.mailbox.remove(job)

    def has_lost(self, ticket: Ticket) -> bool:
        """Return whether something came between the job of ``ticket`` for good. Lock held."""
        return not self.serving and self.running is not None and ticket in self.running.tickets

    def forget_parent(self) -> None:
        """In a forked child: begin anew, nobody has rung."""
        self.bell = Bell()
        self.mailbox.clear()
        self.parked_in = self.pacing_in = self.running = None
        self.serving = False

    # --- the owner thread

    def attend(self, link: "SceneLink", *, visit: Visit) -> bool:
        """Serve all scenes of this thread; unless only serving, wait until ``link`` may move.

        Returns False when the state was replaced in the middle of an application step. Raises
        SceneClosedError, and whatever the script's own callbacks and handlers of signals raise.
        """
        if self.serving:
            return True  # a callback of the script steps or serves: never park inside it
        self.serving = self._may_work = True
        try:
            return self._attend(link, visit)
        except SceneClosedError:
            raise
        except BaseException as error:
            # Nobody knows when, and whether, the script comes here again.
            with self.signals:
                for each in tuple(self.links):
                    each.past.give_up(error)
            raise
        finally:
            self.serving = False
            if self.parked_in is not None:
                self.parked_in = None
                link.note_left_park()

    def _attend(self, link: "SceneLink", visit: Visit) -> bool:
        replacements = link.replacements
        mid_step = visit is Visit.GATE and link.is_mid_step()
        while True:
            with self._playback.lock:
                link.left_step()
                action = self._decide(link, visit)
                if action is None:
                    self._park(link)
                elif isinstance(action, _Verdict):
                    if visit is not Visit.SERVE:
                        link.enter_step(physics=visit is Visit.GATE)
                    return True
            if action is None:
                self.bell.wait(_WAIT_SLICE)
                continue
            with self.signals:
                action()
            if mid_step and link.replacements != replacements:
                return False

    def _park(self, link: "SceneLink") -> None:
        """Say that the thread stands in a scene. Lock held."""
        if self.parked_in is not link:
            self.parked_at = script_place(outwards(sys._getframe()))
            self.parked_in = link
            self.since = link.note_parked()

    def _decide(self, link: "SceneLink", visit: Visit) -> Callable[[], None] | _Verdict | None:
        """Return what to do next, None for waiting. Lock held."""
        if self._playback.closed or link.closed:
            raise SceneClosedError(self._playback.closed or f"{link.name!r}: {link.closed}")
        chore = self._next_chore()
        if chore is not None:
            return chore
        for each in self.links:
            if each.past.wants_look:
                return each.past.look
        may_move = visit is Visit.SERVE or link.may_move()
        if not may_move:
            for each in self.links:
                if each.follow and not each.told_paused and not each.may_move():
                    each.told_paused = True
                    return partial(each.tell, "pause")
        for each in self.links:
            if (not may_move or each.shows_old_state) and each.has_stale_now():
                return each.publish_now
        for each in self.links:
            if each.needs_findings:
                return each.changes.look_over  # the picture comes first
        for each in self.links:
            if each.has_works and (self._may_work or not may_move):
                self._may_work = False
                if not may_move:
                    self._park(link)
                return each.past.works.run_slice
        if not may_move:
            return None
        if visit is not Visit.SERVE and link.told_paused and not link.grants:
            link.told_paused = False
            link.refresh()
            return partial(link.tell, "play")
        return _Verdict.PROCEED

    def answer_interrupted(self) -> None:
        """Answer everybody whose job something has come between."""
        job = self.running
        if job is None:
            return
        for ticket in job.tickets:
            job.link.answer(ticket, interrupted(ticket, job.error))
        self.running = None

    def _next_chore(self) -> Callable[[], None] | None:
        """Return what has to be done whether the thread stops or not. Lock held."""
        if self.running is not None:
            return self.answer_interrupted
        for each in self.links:
            if each.needs_initial:
                return each.capture_initial
            if each.live_wanted:
                return partial(each.past.go_live, each.live_wanted)
            if each.release_wanted is not None:
                return each.changes.release
            if each.interest is not each.applied_interest:
                return each.apply_interest
        return self._run_job if self.mailbox else None

    def _run_job(self) -> None:
        with self._playback.lock:
            if not self.mailbox:
                return  # it was withdrawn
            job = self.mailbox.popleft()
            job.ticket.started = True
            self.running = job
            if not self.mailbox:
                for each in self.links:
                    each.refresh()
        job.run()

    def pace(self, link: "SceneLink", seconds: float) -> None:
        """Wait for ``seconds``, or less when something needs attention."""
        with self._playback.lock:
            if link.attention:
                return
            self.pacing_in = link
        try:
            self.bell.wait(seconds)
        finally:
            self.pacing_in = None
