"""What begins and ends with sessions, in all scenes of a process."""

import threading

from stroboscope.debugger_protocol.exceptions import CommandError, SceneClosedError
from stroboscope.debugger_protocol.host.finished import FinishedRuns
from stroboscope.debugger_protocol.host.host_news import HostNews
from stroboscope.debugger_protocol.host.owners import Owner
from stroboscope.debugger_protocol.host.playback import Playback
from stroboscope.debugger_protocol.host.scene_link import SceneLink
from stroboscope.debugger_protocol.host.scene_playback import Interest
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import PlaybackMode

__all__ = ["HostSessions"]


class HostSessions(HostNews):
    """Attaches sessions to the scenes there are, and lets the scenes go. Any thread."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.playback = Playback()
        self.finished = FinishedRuns()
        """What is left of scenes that have ended."""
        self._links: dict[int, SceneLink] = {}
        self._owners: dict[threading.Thread, Owner] = {}

    def begin_session(self) -> None:
        """Forget the initial states: the next one to attach begins a new session."""
        with self.playback.lock:
            self.finished.clear()
            for link in self._links.values():
                link.initial = None
                link.changes.editor.forget()

    def attach(self, mode: PlaybackMode) -> None:
        """Let the session hold, pace and publish from now on."""
        with self.playback.lock:
            if self.playback.closed:
                raise SceneClosedError(self.playback.closed)
            newly = not self.playback.attached
            self.playback.attached = True
            self.playback.mode = mode
            for link in self._links.values():
                link.changes.editor.checkpoints.hold(wanted=True)
                link.needs_initial = link.initial is None
                link.needs_findings = link.needs_findings or newly
                if newly:
                    link.in_step = False
                    link.told_paused = link.told_paused and link.owner.parked_in is not None
                    link.pacer.forget()
            self._refresh_all()

    def detach(self, reason: str) -> None:
        """Release every scene: holds are cleared, parked steps return, nothing is published."""
        with self.playback.lock:
            self.playback.attached = False
            self.playback.speed = 1.0
            for link in self._links.values():
                self._let_go_of(link, reason)
                link.changes.editor.checkpoints.hold(wanted=False)
                link.interest = Interest()
            self._refresh_all()

    def let_go(self, mode: PlaybackMode, reason: str) -> None:
        """Release every scene to ``mode``, because nobody controls the session any more."""
        with self.playback.lock:
            self.playback.mode = mode
            for link in self._links.values():
                self._let_go_of(link, reason)
            self._refresh_all()
        self.wake()

    def end_perturbations(self, reason: str) -> None:
        """Let go of every perturbed body: whoever pulled is not in control any more."""
        with self.playback.lock:
            for link in self._links.values():
                link.want_release(reason, everything=False)
            self._refresh_all()
        self.wake()

    # --- scenes

    def find_scene(self, scene_id: int) -> SceneLink:
        """Return an open scene by its id; CommandError, with those there are, when it isn't."""
        link = self._links.get(scene_id)
        if link is None:
            known = ", ".join(f"{each.scene_id} ({each.name})" for each in self._links.values())
            raise CommandError(
                f"there is no scene {scene_id}: it may have been closed; open are {known or 'none'}"
            )
        return link

    # --- inside, lock held

    def _refresh_all(self) -> None:
        for owner in self._owners.values():
            owner.refresh()

    def _let_go_of(self, link: SceneLink, reason: str) -> None:
        self._forget_pending(link, reason)
        link.release_holds(reason)
        link.want_release(reason, everything=True)

    def _forget_pending(self, link: SceneLink, reason: str) -> None:
        """Answer everything that waits for a scene."""
        link.cancel_grants(reason)
        link.past.forget(reason)
        for wait in link.pause_waits:
            wait.left(link)
        link.pause_waits.clear()
        for job in [job for job in link.owner.mailbox if job.link is link]:
            link.owner.mailbox.remove(job)
            for ticket in job.tickets:
                ticket.settle(CommandError(f"{ticket.what} was given up: {reason}"))
