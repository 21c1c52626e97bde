"""Rollouts of one scene: what is simulated again beside it, and numbers that are computed of them.

Those of scenes that have ended are in ``finished.py``.
"""

from typing import TYPE_CHECKING, Final

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.deriving import derive
from stroboscope.debugger_protocol.host.works import Work
from stroboscope.debugger_protocol.step_words import place_words
from stroboscope.debugger_protocol.time_messages import (
    DeriveNumber,
    DropRollout,
    Resimulate,
    RolloutInfo,
    SceneRollouts,
)

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.host import Host
    from stroboscope.debugger_protocol.host.playback import Ticket
    from stroboscope.debugger_protocol.host.scene_link import SceneLink
    from stroboscope.debugger_protocol.time_machine import TimeMachine

__all__ = ["RolloutDesk"]

# A hand of a hundred servos, each with its own kp and kv.
_MAX_EDITS: Final = 256


class RolloutDesk:
    """What clients do with rollouts; owner thread only.

    ``told`` is what clients are told (None: nothing yet), replaced by reference: any thread may
    read it.
    """

    def __init__(self, link: "SceneLink", host: "Host") -> None:
        self.told: SceneRollouts | None = None
        self._link = link
        self._host = host
        self._dropped: set[int] = set()

    def refresh(self, machine: "TimeMachine") -> None:
        """Note which rollouts there are."""
        rollouts = machine.rollouts()
        told = self.told
        if told is None and not rollouts:
            return
        before = told.rollouts if told is not None else ()
        if before is rollouts:
            return
        # What nobody has dropped has made room.
        present = {each.rollout_id for each in rollouts} | self._dropped
        gone = sum(each.rollout_id not in present for each in before)
        dropped = (told.dropped if told is not None else 0) + gone
        self.told = SceneRollouts(scene_id=self._link.scene_id, rollouts=rollouts, dropped=dropped)

    def find(self, machine: "TimeMachine", rollout_id: int) -> RolloutInfo:
        """Return what is known of a rollout; CommandError when there is none."""
        for rollout in machine.rollouts():
            if rollout.rollout_id == rollout_id:
                return rollout
        raise CommandError(f"there is no rollout {rollout_id}: it was dropped, or never made")

    # --- what clients ask for; CommandError

    def resimulate(
        self, machine: "TimeMachine", ticket: "Ticket", command: Resimulate, *, view: int | None
    ) -> Work:
        """Return what simulates recorded inputs again, from the row in view or where it says."""
        state = machine.history()
        near = state.live if view is None else view
        axis = near if command.axis is None else command.axis
        if axis != state.live and not state.rows:
            raise CommandError(f"nothing of {self._link.name!r} is remembered yet")
        if axis != state.live and not state.first <= axis < state.live:
            raise CommandError(
                f"row {axis} is not remembered: rows from {state.first} to {state.live - 1} are"
            )
        if len(command.edits) > _MAX_EDITS:
            raise CommandError(f"at most {_MAX_EDITS} edits can be tried, got {len(command.edits)}")
        where = place_words(state.segments, axis)
        # With edits it is called after them.
        name = command.name or ("" if command.edits else f"again from {where}")
        steps = machine.resimulate(axis, steps=command.steps, edits=command.edits, name=name)

        def finish() -> bool:
            rollouts = machine.rollouts()
            ticket.value = rollouts[-1].rollout_id if rollouts else None
            return True

        title = command.name or f"re-simulating from {where}"
        return Work(ticket, steps, finish=finish, title=title)

    def derive(self, machine: "TimeMachine", command: DeriveNumber) -> None:
        """Have a number of rollouts computed, by a thread of the host."""
        steps = machine.derive(
            command.rollout_ids, command.expression, reduction=command.reduction, name=command.name
        )
        derive(self._host, self._link, steps)

    def drop(self, machine: "TimeMachine", command: DropRollout) -> None:
        """Forget a rollout."""
        machine.drop_rollout(command.rollout_id)
        self._dropped.add(command.rollout_id)
