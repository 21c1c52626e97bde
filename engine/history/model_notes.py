"""What is known of the models that the rows of a scene were stepped with, and copies that stay."""

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from stroboscope.engine.history.model_watch import Fields, ModelChange, ModelWatch

if TYPE_CHECKING:
    from stroboscope.engine.history.segments import Stretch
    from stroboscope.engine.world import World

__all__ = ["ModelNotes"]


class ModelNotes:
    """Knows what a script writes into the model of a world; owner thread only.

    It costs nothing before somebody asks. ``axis`` returns how many steps were taken.
    """

    def __init__(self, world: "World", *, axis: Callable[[], int]) -> None:
        self._world, self._axis = world, axis
        self._watch: ModelWatch | None = None
        self._kept: tuple[tuple[int, float], Any] | None = None
        self._of_past: tuple[Mapping[str, int], Any] | None = None
        self.in_force: Stretch | None = None
        """Whose options and fields :meth:`of_past` has, if that is known: several may use it."""

    @property
    def watch(self) -> ModelWatch:
        """Finds what was written since it looked last."""
        if self._watch is None:
            self._watch = ModelWatch(self._world, axis=self._axis())
        return self._watch

    def is_as_seen(self) -> bool:
        """Return whether nothing was written since somebody looked last, as far as known."""
        return self._watch is None or self._watch.is_as_seen()

    def look(self, *, in_passing: bool = False) -> None:
        """Find what was written by now, for who tells it later."""
        self.watch.look(self._axis(), in_passing=in_passing)

    @property
    def fields(self) -> Fields:
        """What each field that was ever written into had when somebody looked last."""
        return {} if self._watch is None else self._watch.fields

    @property
    def first(self) -> Fields:
        """What each of them had at first."""
        return {} if self._watch is None else self._watch.first

    @property
    def lost(self) -> Mapping[str, int]:
        """What has values that no row can carry, with a check of them; the same while they are."""
        return {} if self._watch is None else self._watch.lost

    @property
    def pending(self) -> ModelChange | None:
        """What was found and is told by nobody yet."""
        return None if self._watch is None else self._watch.pending

    def is_told(self) -> None:
        """Note that somebody has told what was found."""
        if self._watch is not None:
            self._watch.pending = None

    def kept(self) -> Any:
        """Return a copy of the model as it is, which nobody writes into.

        The same one until somebody has written into the model: it may be large.
        """
        self.look()
        model = self._world.model
        key = self.watch.version, float(model.opt.timestep)  # at which a watch does not look
        if self._kept is None or self._kept[0] != key:
            self._kept = key, copy.copy(model)
        return self._kept[1]

    @property
    def has_copy(self) -> bool:
        """Whether :meth:`of_past` is a copy that stays, and not what somebody else changes."""
        return True

    def of_past(self) -> Any:
        """Return a copy in which fields and options may have the values of then.

        The script's own is not touched, which another of its threads may be stepping with. Another
        copy once something was written that nobody can take back.
        """
        lost = self.lost
        if self._of_past is None or self._of_past[0] != lost:
            self._of_past, self.in_force = (lost, copy.copy(self._world.model)), None
        return self._of_past[1]

    def is_as_it_is(self) -> Callable[[], bool]:
        """Return what tells, on any thread, whether the model is still as it is now."""
        self.look()
        watch, version = self.watch, self.watch.version
        return lambda: watch.version == version and watch.is_as_seen()
