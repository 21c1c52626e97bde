"""What clients change in one scene, as far as its owner thread and its frames are concerned."""

from typing import TYPE_CHECKING

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.edits import SceneEditor
from stroboscope.debugger_protocol.host.playback import Ticket
from stroboscope.debugger_protocol.messages import (
    Command,
    DropCheckpoint,
    LabelCheckpoint,
    Lint,
    LogLevel,
    ReleasePerturb,
    RestoreCheckpoint,
    SaveCheckpoint,
    SceneFindings,
)
from stroboscope.debugger_protocol.signal_handlers import is_of_handler

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.host import Host
    from stroboscope.debugger_protocol.host.scene_link import SceneLink

__all__ = ["SceneChanges"]

# These leave the scene as it is, so the view may stay where it is.
_LOOKING = (DropCheckpoint, LabelCheckpoint, Lint, ReleasePerturb, SaveCheckpoint)


class SceneChanges:
    """Restores, edits, interventions and findings of one scene; owner thread only.

    ``findings`` is replaced by reference: any thread may read it.
    """

    def __init__(self, link: "SceneLink", host: "Host") -> None:
        self.findings: SceneFindings | None = None
        self._link = link
        self._host = host
        self.editor = SceneEditor(link, self, host.limits)

    # --- what the owner's loop does

    def run_restore(self, ticket: Ticket) -> None:
        """Restore the initial state and answer ``ticket``."""
        link = self._link
        try:
            if not link.initial:
                raise CommandError(f"{link.name!r} can't be restored: no state could be captured")
            link.past.go_live("the scene is restored")
            self.editor.restore_initial(link.initial)
        except CommandError as error:
            link.answer(ticket, error)
        except Exception as error:  # told to whoever asked
            if is_of_handler(error):
                raise
            link.answer(ticket, CommandError(f"restoring {link.name!r} failed: {error!r}"))
        else:
            self.replaced_by_client(ticket, "initial state restored")

    def run_command(self, ticket: Ticket, command: Command, client: int) -> None:
        """Perform an edit command of a client and answer ``ticket``."""
        link = self._link
        replacements = link.replacements
        try:
            if isinstance(command, RestoreCheckpoint):
                link.past.go_live("a checkpoint is restored")
            elif not isinstance(command, _LOOKING):
                link.past.go_live_for_edit()
            replaced = self.editor.perform(command, client)
            if isinstance(command, SaveCheckpoint):
                ticket.value = self.editor.checkpoints.told[-1].checkpoint_id
        except CommandError as error:
            link.answer(ticket, error)
        except Exception as error:  # told to whoever asked
            if is_of_handler(error):
                raise
            link.answer(ticket, CommandError(f"{ticket.what} of {link.name!r} failed: {error!r}"))
        else:
            if replaced:
                self.replaced_by_client(ticket, replaced)
                return
            # What was edited is the state that the open step goes on with, not another one.
            link.replacements = replacements
            link.answer(ticket, None)

    def replaced_by_client(self, ticket: Ticket, reason: str) -> None:
        """Tell everybody that a client has put the scene somewhere else, and answer it."""
        link = self._link
        link.state_replaced(reason)
        try:
            link.backend.on_mode("restore")
        except BaseException as error:
            came = "was interrupted by" if is_of_handler(error) else "raised"
            link.answer(ticket, CommandError(f"{reason}, but on_restore {came} {error!r}"))
            raise
        link.publisher.state_edited()
        link.shows_old_state = True
        link.refresh_clock()
        link.answer(ticket, None)

    def look_over(self) -> None:
        """Look for common mistakes in the model and the state as it stands, and tell them."""
        link = self._link
        link.needs_findings = False
        try:
            found = link.backend.findings()
        except Exception as error:  # the user's simulation goes on
            if is_of_handler(error):
                raise
            found = ()
            link.report_failure(f"looking for common mistakes failed: {error!r}")
        self.findings = SceneFindings(scene_id=link.scene_id, findings=found)
        for finding in found:
            if finding.level is not LogLevel.INFO:
                self._host.log_finding(link, finding)
        link.refresh_flags()

    def release(self) -> None:
        """End what clients do beside the script, because they are gone."""
        link = self._link
        wanted, link.release_wanted = link.release_wanted, None
        if wanted is None:
            return
        try:
            self.editor.release(wanted.reason, everything=wanted.everything)
        except Exception as error:  # the user's simulation goes on
            if is_of_handler(error):
                raise
            link.intervening = False
            link.report_failure(f"interventions could not be ended: {error!r}")
        link.refresh_flags()

    def intervene(self) -> None:
        """Put in place what clients do beside the script, for the physics step that follows."""
        link = self._link
        if link.release_wanted is not None:
            return  # detached in the middle of a step of several physics steps
        try:
            link.backend.intervene()
        except Exception as error:  # the user's simulation goes on
            if is_of_handler(error):
                raise
            link.report_failure(f"intervening failed, so it was ended: {error!r}")
            self.editor.release("it failed", everything=True)

    def other_scene(self, scene_id: int) -> "SceneLink":
        """Return another scene by its id; CommandError when there is none."""
        return self._host.find_scene(scene_id)

    # --- what the editor has done

    def state_edited(self, reason: str, *, goes_on: bool) -> None:
        """The state was edited; when that ``goes_on`` as before, it is the same edit."""
        link = self._link
        if not goes_on:
            link.state_replaced(reason)
        link.publisher.state_edited()
        link.shows_old_state = True

    def inputs_edited(self) -> None:
        """What the coming physics steps are given was edited; where the scene stands was not."""
        link = self._link
        link.publisher.state_edited()
        link.intervening = self.editor.interventions.are_active
        link.refresh_flags()

    def options_edited(self) -> None:
        """Physics options were edited: whatever was prepared for them is made anew."""
        link = self._link
        link.publisher.state_edited()
        link.pacer.forget()
        if link.ring is not None:
            link.rebuild_ring()
