"""Environments of one scene: which are looked at and shown, and states copied among them."""

from typing import TYPE_CHECKING, Final

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.named_environments import check_environments
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.time_messages import Environments, Fork, SelectEnvironments

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_link import SceneLink
    from stroboscope.debugger_protocol.time_machine import TimeMachine

__all__ = ["EnvironmentDesk"]

_TOLD_FAILED: Final = 256
_MOST_SHOWN: Final = 64


class EnvironmentDesk:
    """What clients do with the environments of a scene; owner thread only.

    ``told`` is what clients are told (None: it is one world), replaced by reference: any thread may
    read it.
    """

    def __init__(self, link: "SceneLink") -> None:
        self.told: Environments | None = None
        self._link = link
        self._selected = 0
        self._shown: tuple[int, ...] = (0,)

    def refresh(self, machine: "TimeMachine") -> None:
        """Note how many there are, which are looked at, and which have failed."""
        count = machine.environment_count()
        if not count:
            return
        failed = machine.failed_environments()
        chosen = machine.selected_environments()
        if chosen is not None:
            self._selected, self._shown = chosen
        told = Environments(
            scene_id=self._link.scene_id,
            count=count,
            selected=self._selected,
            shown=self._shown,
            failed=failed[-_TOLD_FAILED:],
            failed_count=len(failed),
        )
        if told != self.told:
            self.told = told

    # --- what clients ask for; CommandError

    def select(self, machine: "TimeMachine", command: SelectEnvironments) -> None:
        """Look at one environment, and show these."""
        count = self._count(machine)
        shown = tuple(dict.fromkeys(command.shown)) or (command.selected,)
        if len(shown) > _MOST_SHOWN:
            raise CommandError(f"at most {_MOST_SHOWN} environments can be shown, got {len(shown)}")
        check_environments((command.selected, *shown), count)
        machine.select_environments(command.selected, shown)
        self._selected, self._shown = command.selected, shown
        self._link.selection_changed()

    def fork(self, machine: "TimeMachine", command: Fork) -> None:
        """Copy the state of one environment to others."""
        check_environments((command.source, *command.targets), self._count(machine))
        self._link.past.go_live("environments were forked")
        machine.fork(command.source, command.targets)
        self._link.state_replaced(f"environment {command.source} was forked")
        self._link.log_text(
            LogLevel.INFO,
            f"environment {command.source} was copied to {len(command.targets)} others",
        )

    def _count(self, machine: "TimeMachine") -> int:
        count = machine.environment_count()
        if not count:
            raise CommandError(f"{self._link.name!r} has no environments: it is one world")
        return count
