"""See-through others in the picture: checkpoints, rows, rollouts, environments of a scene."""

import dataclasses
from typing import TYPE_CHECKING

from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.time_messages import GhostRef, GhostSource, ShowGhosts
from stroboscope.resources.themes import Palette

if TYPE_CHECKING:
    from stroboscope.app.models.scene import SceneModel

__all__ = ["MAX_GHOSTS", "GhostEntry", "GhostsModel", "ghost_colour"]

MAX_GHOSTS = 16


def ghost_colour(palette: Palette, number: int) -> str:
    """Return the colour of a ghost, ``#rrggbb``: the first two are those of compared runs."""
    first = (palette.run_a, palette.run_b, palette.difference)
    others = tuple(each for each in palette.plot if each not in first)
    colours = (*first, *others)
    return colours[number % len(colours)]


@dataclasses.dataclass(frozen=True, slots=True)
class GhostEntry:
    """One ghost: what it is of, how it is called, the number of its colour, whether it is drawn."""

    ref: GhostRef
    label: str
    colour: int
    on: bool = True


class GhostsModel:
    """The ghosts of one scene; ``changed`` when they are others. GUI thread only."""

    def __init__(self, scene: "SceneModel") -> None:
        self.changed: Signal[[]] = Signal()
        self.entries: tuple[GhostEntry, ...] = ()
        self.drawn: tuple[GhostEntry, ...] = ()
        """What the numbers in frames mean: those that the application has said it shows."""
        self._scene = scene
        self._newest = -1

    def has(self, ref: GhostRef) -> bool:
        """Return whether there is a ghost of that."""
        return any(entry.ref == ref for entry in self.entries)

    def find(self, ref: GhostRef) -> GhostEntry | None:
        """Return the ghost of something, None when there is none."""
        return next((entry for entry in self.entries if entry.ref == ref), None)

    def add(self, ref: GhostRef, label: str) -> str:
        """Show a ghost; return why not, empty when it is asked for."""
        if self.has(ref):
            return ""
        if len(self.entries) >= MAX_GHOSTS:
            return f"{MAX_GHOSTS} ghosts are shown, the most there can be: remove one first."
        taken = {entry.colour for entry in self.entries}
        colour = next(number for number in range(MAX_GHOSTS + 1) if number not in taken)
        self._replace((*self.entries, GhostEntry(ref, label, colour)))
        return ""

    def remove(self, ref: GhostRef) -> None:
        """Show one no more."""
        self._replace(tuple(entry for entry in self.entries if entry.ref != ref))

    def toggle(self, ref: GhostRef, label: str) -> str:
        """Show a ghost of something, or no more; return why not."""
        if self.has(ref):
            self.remove(ref)
            return ""
        return self.add(ref, label)

    def switch(self, ref: GhostRef, *, on: bool) -> None:
        """Draw one or not, without forgetting it."""
        self._replace(
            tuple(
                dataclasses.replace(entry, on=on) if entry.ref == ref else entry
                for entry in self.entries
            )
        )

    def clear(self) -> None:
        """Show none."""
        self._replace(())

    def keep(self, source: GhostSource, numbers: set[int], scene_id: int) -> None:
        """Leave out those of something that is not there any more."""
        gone = [
            entry
            for entry in self.entries
            if entry.ref.source is source
            and entry.ref.scene_id == scene_id
            and entry.ref.number not in numbers
        ]
        if gone:
            self._replace(tuple(entry for entry in self.entries if entry not in gone))

    def _replace(self, entries: tuple[GhostEntry, ...]) -> None:
        if entries == self.entries:
            return
        scene = self._scene
        self.entries = entries
        shown = tuple(entry for entry in entries if entry.on)
        refs = tuple(entry.ref for entry in shown)

        def done(command_id: int, _value: int | None) -> None:
            if command_id == self._newest:
                self.drawn = shown
                self.changed.emit()

        def refused(command_id: int, _reason: str) -> None:
            if command_id == self._newest:
                # The application goes on showing those of before.
                self.entries = (*self.drawn, *(entry for entry in self.entries if not entry.on))
                self.changed.emit()

        if not scene.is_stale:
            sent = scene.session.send(
                lambda i: ShowGhosts(id=i, scene_id=scene.scene_id, ghosts=refs),
                then=done,
                otherwise=refused,
            )
            self._newest = -1 if sent is None else sent
        self.changed.emit()
