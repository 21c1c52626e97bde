"""See-through others in the picture: checkpoints, rows, rollouts of a scene, and other scenes."""

import dataclasses
import itertools
from typing import TYPE_CHECKING

from stroboscope.app.models.body_match import match_bodies, why_no_match
from stroboscope.app.models.numbers import number_text, with_unit
from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.time_messages import (
    GhostRef,
    GhostSource,
    RolloutInfo,
    SceneGhosts,
    ShowGhosts,
)
from stroboscope.resources.themes import Palette

if TYPE_CHECKING:
    from stroboscope.app.models.scene import SceneModel

__all__ = [
    "MAX_GHOSTS",
    "GhostEntry",
    "GhostsModel",
    "SceneGhost",
    "ghost_colour",
    "ghost_label",
    "ghost_note",
    "rollout_title",
    "scene_title",
]

MAX_GHOSTS = 16
_TOO_MANY = f"{MAX_GHOSTS} ghosts are shown, the most there can be: remove one first."


def ghost_colour(palette: Palette, number: int) -> str:
    """Return the colour of a ghost, ``#rrggbb``: the first two are those of compared runs."""
    first = (palette.run_a, palette.run_b, palette.difference)
    others = tuple(each for each in palette.plot if each not in first)
    colours = (*first, *others)
    return colours[number % len(colours)]


def scene_title(scene: "SceneModel") -> str:
    """Return what a scene is called among those of other applications, or of other files."""
    return f"{scene.history.recording or scene.session.name} · {scene.name}"


def ghost_label(scene: "SceneModel", ref: GhostRef) -> str:
    """Return what a ghost is called that was not chosen in this window."""
    other = scene.session.scenes.get(ref.scene_id)
    match ref.source:
        case GhostSource.ROW if other is not None:
            return other.history.step_text(ref.number)
        case GhostSource.CHECKPOINT if other is not None:
            for kept in other.edits.checkpoints:
                if kept.checkpoint_id == ref.number:
                    return kept.name
        case GhostSource.ROLLOUT:
            rollout = _rollout(scene, ref)
            if rollout is not None:
                return rollout_title(rollout)
    return f"{ref.source.value} {ref.number}"


def rollout_title(rollout: RolloutInfo) -> str:
    """Return what a rollout is called beside others: candidates of each plan have one name."""
    name = rollout.name or f"rollout {rollout.rollout_id}"
    return f"{rollout.group} · {name}" if rollout.group else name


def ghost_note(scene: "SceneModel", ref: GhostRef) -> str:
    """Return why a ghost is not of the time that is looked at; empty: it is, or has no time."""
    rollout = _rollout(scene, ref) if ref.source is GhostSource.ROLLOUT else None
    time = scene.history.time_in_view
    if rollout is None or time is None:
        return ""
    begin = rollout.time - rollout.steps * rollout.timestep
    if time < begin - 0.5 * rollout.timestep:
        return f"from {with_unit(number_text(begin), 's')} on"
    if time > rollout.time + 0.5 * rollout.timestep:
        return f"at {with_unit(number_text(rollout.time), 's')}{_end(rollout.outcome)}"
    return ""


def _end(outcome: str) -> str:
    """Return how a rollout came to its end, in a word; nothing where it simply was over."""
    if outcome == "ended":
        return ""
    return ", ended: NaN" if "NaN" in outcome else ", stopped"


def _rollout(scene: "SceneModel", ref: GhostRef) -> RolloutInfo | None:
    other = scene.session.scenes.get(ref.scene_id)
    rollouts = scene.session.finished.rollouts if other is None else other.rollouts.rollouts
    return next((each for each in rollouts if each.rollout_id == ref.number), None)


@dataclasses.dataclass(frozen=True, slots=True)
class GhostEntry:
    """One ghost: what it is of, how it is called, the number of its colour, whether it is drawn."""

    ref: GhostRef
    label: str
    colour: int
    on: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class SceneGhost:
    """A ghost of another scene, of any application, as it is in view; the rest as in GhostEntry.

    ``note``: why that is not the time which is looked at; empty: it is.
    """

    ref: "SceneModel"
    label: str
    colour: int
    on: bool = True
    note: str = ""


class GhostsModel:
    """The ghosts of one scene; ``changed`` when they are others. GUI thread only.

    Those of another scene are drawn by the window, all others by the application.
    """

    def __init__(self, scene: "SceneModel") -> None:
        self.changed: Signal[[]] = Signal()
        self.entries: tuple[GhostEntry, ...] = ()
        self.scenes: tuple[SceneGhost, ...] = ()
        self.drawn: tuple[GhostEntry, ...] = ()
        """What the numbers in frames mean: those that the application has said it shows."""
        self._told: tuple[GhostRef, ...] | None = None
        """Those that it has told; None: it tells none, only answers whoever has asked."""
        self._scene = scene
        self._newest = -1

    @property
    def all(self) -> "tuple[GhostEntry | SceneGhost, ...]":
        """Those that the application draws, then those that the window does."""
        return (*self.entries, *self.scenes)

    @property
    def colours(self) -> dict[GhostRef, int]:
        """The number of the colour of each that the application draws."""
        return {entry.ref: entry.colour for entry in self.entries}

    def has(self, ref: "GhostRef | SceneModel") -> bool:
        """Return whether there is a ghost of that."""
        return any(entry.ref == ref for entry in self.all)

    def find(self, ref: GhostRef) -> GhostEntry | None:
        """Return the ghost of something, None when there is none."""
        return next((entry for entry in self.entries if entry.ref == ref), None)

    def add(self, ref: GhostRef, label: str) -> str:
        """Show a ghost; return why not, empty when it is asked for."""
        if self.has(ref):
            return ""
        if len(self.all) >= MAX_GHOSTS:
            return _TOO_MANY
        self._replace((*self.entries, GhostEntry(ref, label, self._free_colour())))
        return ""

    def add_scene(self, other: "SceneModel") -> str:
        """Show another scene; return why not, empty when it is shown."""
        if self.has(other):
            return ""
        mine, theirs = self._scene.description, other.description
        if mine is None or theirs is None:
            return "Its model has not come yet: try again when it has."
        match = match_bodies(mine, theirs)
        if match is None:
            return f"{other.name!r} can't be shown here: {why_no_match(mine, theirs)}."
        if len(self.all) >= MAX_GHOSTS:
            return _TOO_MANY
        label = " · ".join(part for part in (scene_title(other), match.note) if part)
        self._replace_scenes((*self.scenes, SceneGhost(other, label, self._free_colour())))
        return ""

    def toggle_scene(self, other: "SceneModel") -> str:
        """Show another scene, or no more; return why not."""
        if self.has(other):
            self.remove(other)
            return ""
        return self.add_scene(other)

    def note_scene(self, other: "SceneModel", note: str) -> None:
        """Say why another scene is not seen at the time that is looked at; empty: it is."""
        self._replace_scenes(
            tuple(
                dataclasses.replace(entry, note=note) if entry.ref is other else entry
                for entry in self.scenes
            )
        )

    def receive(self, told: SceneGhosts) -> None:
        """Take what the application shows: another client, or a terminal, may have chosen it."""
        self._told = told.ghosts
        self._follow(told.ghosts)

    def _follow(self, told: tuple[GhostRef, ...]) -> None:
        """Draw what was told; list it too, unless that is about to become something else."""
        known = {entry.ref: entry for entry in self.entries}
        taken = {entry.colour for entry in self.all}
        drawn: list[GhostEntry] = []
        for ref in told:
            entry = known.get(ref)
            if entry is None:
                entry = GhostEntry(ref, ghost_label(self._scene, ref), _free(taken))
                taken.add(entry.colour)
            drawn.append(dataclasses.replace(entry, on=True))
        before = self.drawn, self.entries
        self.drawn = tuple(drawn)
        if self._newest < 0:
            shown = {entry.ref: entry for entry in drawn}
            kept = [shown.pop(e.ref, e) for e in self.entries if e.ref in shown or not e.on]
            self.entries = (*kept, *shown.values())
        if before != (self.drawn, self.entries):
            self.changed.emit()

    def _free_colour(self) -> int:
        return _free({entry.colour for entry in self.all})

    def remove(self, ref: "GhostRef | SceneModel") -> None:
        """Show one no more."""
        self._replace(tuple(entry for entry in self.entries if entry.ref != ref))
        self._replace_scenes(tuple(entry for entry in self.scenes if entry.ref is not ref))

    def toggle(self, ref: GhostRef, label: str) -> str:
        """Show a ghost of something, or no more; return why not."""
        if self.has(ref):
            self.remove(ref)
            return ""
        return self.add(ref, label)

    def switch(self, ref: "GhostRef | SceneModel", *, on: bool) -> None:
        """Draw one or not, without forgetting it."""
        self._replace_scenes(
            tuple(
                dataclasses.replace(entry, on=on) if entry.ref is ref else entry
                for entry in self.scenes
            )
        )
        self._replace(
            tuple(
                dataclasses.replace(entry, on=on) if entry.ref == ref else entry
                for entry in self.entries
            )
        )

    def clear(self) -> None:
        """Show none."""
        self._replace(())
        self._replace_scenes(())

    def keep(self, source: GhostSource, numbers: set[int], scene_id: int) -> None:
        """Leave out those of something that is not there any more."""
        gone = [
            entry
            for entry in self.entries
            if entry.ref.source is source
            and entry.ref.scene_id == scene_id
            and entry.ref.number not in numbers
        ]
        # Who only watches leaves that to whoever controls the application.
        if gone and self._scene.session.has_control:
            self._replace(tuple(entry for entry in self.entries if entry not in gone))

    def _replace_scenes(self, scenes: tuple[SceneGhost, ...]) -> None:
        if scenes != self.scenes:
            self.scenes = scenes
            self.changed.emit()

    def _replace(self, entries: tuple[GhostEntry, ...]) -> None:
        if entries == self.entries:
            return
        scene = self._scene
        self.entries = entries
        shown = tuple(entry for entry in entries if entry.on)
        refs = tuple(entry.ref for entry in shown)

        def done(command_id: int, _value: int | None) -> None:
            if command_id == self._newest:
                self._newest = -1
                if self._told is not None:
                    self._follow(self._told)
                    return
                self.drawn = shown
                self.changed.emit()

        def refused(command_id: int, _reason: str) -> None:
            if command_id == self._newest:
                self._newest = -1
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


def _free(taken: set[int]) -> int:
    """Return the first number of a colour that is not taken."""
    return next(number for number in itertools.count() if number not in taken)
