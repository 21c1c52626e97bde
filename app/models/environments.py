"""Which environment of a batched scene is looked at, and which are shown in a grid."""

from typing import TYPE_CHECKING

from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.environment_grid import grid_of
from stroboscope.debugger_protocol.time_messages import Environments, SelectEnvironments

if TYPE_CHECKING:
    from stroboscope.app.models.scene import SceneModel

__all__ = ["GRID_SIZES", "MAX_SHOWN", "EnvironmentsModel"]

MAX_SHOWN = 64
"""Environments that are drawn at once, at most."""
GRID_SIZES = (1, 4, 9, 16, 36, 64)
"""How many are offered."""


class EnvironmentsModel:
    """The environments of one scene; ``count`` is 0 for a scene that is one world.

    ``changed`` when others are selected, shown, or have failed. GUI thread only.
    """

    def __init__(self, scene: "SceneModel") -> None:
        self.changed: Signal[[]] = Signal()
        self.told = Environments(scene_id=scene.scene_id, count=0)
        self._scene = scene
        self._size = 1
        self._only_failed = False
        # What was asked for and is not told back yet: quick clicks build on each other.
        self._asked: tuple[int, int] | None = None

    @property
    def count(self) -> int:
        """How many there are."""
        return self.told.count

    @property
    def selected(self) -> int:
        """The one that values are of, or will be in a moment."""
        return self._asked[1] if self._asked is not None else self.told.selected

    @property
    def shown(self) -> tuple[int, ...]:
        """Those that are drawn, in the order of the grid."""
        return self.told.shown

    @property
    def size(self) -> int:
        """How many are drawn at once, as chosen."""
        return self._size

    @property
    def only_failed(self) -> bool:
        """Whether the grid holds those that failed, and not neighbours."""
        return self._only_failed

    @property
    def drawn(self) -> int:
        """How many are drawn at once, or will be in a moment; others may choose that, too."""
        return min(self._size, self.count) if self._asked is not None else len(self.told.shown)

    @property
    def draws_failed(self) -> bool:
        """Whether those are drawn that failed, or will be in a moment."""
        is_told = {self.told.selected, *self.told.failed}.issuperset(self.told.shown)
        return self._only_failed and (self._asked is not None or is_told)

    def receive(self, message: Environments) -> None:
        """Take what the application says."""
        before, self.told = self.told, message
        # A stop has selected one that is not in the grid: the grid comes along.
        is_left = message.selected != before.selected and self._asked is None
        if (self._only_failed and message.failed != before.failed) or (
            is_left and self._is_alone()
        ):
            self._send(message.selected)
        self.changed.emit()

    def select(self, number: int) -> None:
        """Look at one environment; the grid follows when it is not in there."""
        if self.count:
            self._send(min(max(number, 0), self.count - 1))

    def look_at(self, number: int) -> None:
        """Look at an environment that something is about, unless it is looked at; -1: none."""
        if 0 <= number < self.count and number != self.selected:
            self._send(number)

    def move(self, offset: int) -> None:
        """Look at the environment so many numbers further, around the end."""
        if self.count:
            self._send((self.selected + offset) % self.count)

    def select_failed(self, direction: int) -> None:
        """Look at the next (1) or previous (-1) one of those that failed."""
        failed = sorted(self.told.failed)
        if not failed:
            return
        now = self.selected
        if direction > 0:
            found = next((each for each in failed if each > now), failed[0])
        else:
            found = next((each for each in reversed(failed) if each < now), failed[-1])
        self._send(found)

    def show_grid(self, size: int, *, only_failed: bool = False) -> None:
        """Draw so many at once: neighbours of the selected one, or those that failed."""
        self._size = min(max(size, 1), MAX_SHOWN)
        self._only_failed = only_failed
        self._send(self.selected)

    def _shown_with(self, selected: int) -> tuple[int, ...]:
        if self._only_failed:
            failed = self.told.failed[-MAX_SHOWN:]
            return tuple(dict.fromkeys((selected, *failed)))[:MAX_SHOWN]
        now = self.told.shown
        if selected in now and len(now) == min(self._size, self.count):
            return now  # nothing moves in the grid while another of it is chosen
        return grid_of(selected, min(self._size, MAX_SHOWN), self.count)

    def _send(self, selected: int) -> None:
        scene = self._scene
        if scene.is_stale or not self.count:
            return
        shown = self._shown_with(selected)
        sent = scene.session.send(
            lambda i: SelectEnvironments(
                id=i, scene_id=scene.scene_id, selected=selected, shown=shown
            ),
            then=lambda command_id, _value: self._done(command_id),
            otherwise=lambda command_id, _reason: self._answered(command_id),
        )
        if sent is not None:
            self._asked = (sent, selected)
            self.changed.emit()

    def _is_alone(self) -> bool:
        """Whether fewer are drawn than were chosen, because something else has selected one."""
        few = len(self.told.shown) < min(self._size, self.told.count)
        return few and not self._only_failed and self._scene.session.has_control

    def _done(self, command_id: int) -> None:
        asked = self._asked
        self._answered(command_id)
        # A stop has selected another one between the command and its answer, which comes last.
        is_of_this = asked is not None and asked[0] == command_id
        if is_of_this and asked != (command_id, self.told.selected) and self._is_alone():
            self._send(self.told.selected)

    def _answered(self, command_id: int) -> None:
        if self._asked is not None and self._asked[0] == command_id:
            self._asked = None
            self.changed.emit()
