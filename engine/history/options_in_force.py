"""The physics options and the fields of a model that were in force in a stretch of the past."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from stroboscope.engine.history.segments import Options, Stretch
from stroboscope.engine.physics_options import read_option, write_option

if TYPE_CHECKING:
    from stroboscope.engine.history.scene_history import SceneHistory
    from stroboscope.engine.world import World

__all__ = ["OptionsInForce"]


class OptionsInForce:
    """Knows them, and writes them into a model that is the history's own; owner thread only."""

    def __init__(self, history: "SceneHistory", world: "World") -> None:
        self._history, self._world, self._adapter = history, world, world.adapter

    def of(self, stretch: Stretch) -> Options:
        """Return the physics options that were in force, of those that were ever edited.

        And the fields of the model that were ever written into.
        """
        return self.completed(stretch.options)

    def completed(self, options: Options) -> Options:
        """Return options of some time with those that were edited or written into later only."""
        history = self._history
        own = {
            **self._world.unedited_options, **history.recorded_options, **history.first_fields
        }  # fmt: skip
        # An option may be told by its own name, and as a field of the model: what comes later in
        # the order counts.
        return {
            **{name: own[name] for name in own if name not in options},
            **options,
        }

    @contextmanager
    def having(self, model: Any, stretch: Stretch) -> Iterator[None]:
        """Have the physics options, and fields, that were in force in a stretch, in ``model``."""
        adapter = self._adapter
        if self._history.models.has_copy:
            before = self._history.models.in_force
            self._put(model, stretch)
            try:
                yield
            finally:
                if before is not None:
                    self._put(model, before)
            return
        now: dict[str, tuple[float, ...]] = {}
        try:
            for name, values in self.of(stretch).items():
                own = read_option(model, name, adapter=adapter)
                if values != own:
                    now[name] = own
                    write_option(model, name, values, known=values, adapter=adapter)
            yield
        finally:
            # Backwards: a flag is told by its own name, and as a bit of a field.
            self._write_back(model, now)

    def _put(self, model: Any, stretch: Stretch) -> None:
        """Write the options and fields of a stretch into the copy; they stay until others come."""
        models = self._history.models
        if models.in_force is stretch:
            return
        models.in_force = None
        for name, values in self.of(stretch).items():
            write_option(model, name, values, known=values, adapter=self._adapter)
        models.in_force = stretch

    def _write_back(self, model: Any, options: dict[str, tuple[float, ...]]) -> None:
        """Give the model its own values again, whatever a handler of a signal raises meanwhile."""
        left, raised = list(options.items()), None
        while left:
            try:
                while left:
                    name, values = left[-1]
                    write_option(model, name, values, known=values, adapter=self._adapter)
                    left.pop()
            except BaseException as error:  # noqa: BLE001 - raised when all is done
                raised = error
        if raised is not None:
            raise raised
