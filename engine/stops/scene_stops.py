"""What stops one scene: the rules in force, and what becomes of a physics step in trouble."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from stroboscope.debugger_protocol.time_messages import StopReason
from stroboscope.engine.errors import SimulationStopped
from stroboscope.engine.stops.diagnosis import diagnose
from stroboscope.engine.stops.event import StopEvent
from stroboscope.engine.stops.trouble import Diagnose, Trouble

if TYPE_CHECKING:
    import numpy as np

    from stroboscope.engine.scene import Scene

__all__ = ["SceneStops", "StepConditions"]


class StepConditions(Protocol):
    """What the user wants a scene to stop for, looked at around every physics step."""

    def before(self, data: Any) -> None:
        """Read what the coming step reads."""

    def after(self, data: Any, row: "NDArray[np.float64]") -> Trouble | None:
        """Look at what it has computed; a ``CONDITION`` trouble stops the scene."""


class SceneStops:
    """Rules and outcome of stops of one scene; owner thread only."""

    def __init__(self, scene: "Scene") -> None:
        self._scene = scene
        self.raise_on_stop = False
        """Whether a stop raises SimulationStopped where nothing is attached that could hold it."""
        self.off: frozenset[StopReason] = frozenset()
        self.last: StopEvent | None = None
        self.resets = 0
        """How often MuJoCo has reset the state by itself: its own counter doesn't say."""
        self.conditions: StepConditions | None = None
        self.diagnose: Diagnose = diagnose
        self.guards_detached = False
        """Whether steps are looked at although nothing is attached."""
        self._let_through: tuple[object, int] = (None, -1)
        self._told: tuple[object, int] = (None, -1)

    def switch_off(self, off: Sequence[StopReason]) -> None:
        """Switch these rules off, all others on."""
        self.off = frozenset(off)

    def concerns(self, trouble: Trouble) -> bool:
        """Return whether a trouble is one to stop for, and not one that goes on and on."""
        axis = self._scene.counters.axis
        key, at = self._let_through
        # A control that is no number is seen before the step, and once more by MuJoCo's warning.
        since = axis if trouble.reason is StopReason.AUTORESET else axis - 1
        goes_on = key == trouble.key and at >= since
        return trouble.reason not in self.off and not goes_on

    def let_through(self, trouble: Trouble) -> None:
        """Note that the step in trouble counts all the same: the next one may have it too."""
        self._let_through = (trouble.key, self._scene.counters.axis)
        if trouble.reason is StopReason.AUTORESET:
            self.resets += 1
            self._scene.link.past.stops.note_resets(self.resets)

    def is_told(self, trouble: Trouble) -> bool:
        """Return whether the scene has stopped for this already, and nobody has let it go on."""
        return self._told == (trouble.key, self._scene.counters.axis)

    def holds(self, trouble: Trouble) -> bool:
        """Record the stop; return whether the step is to be taken back and the scene held."""
        scene = self._scene
        stop = self.diagnose(scene, trouble)
        self.last = StopEvent.of(stop)
        self._told = (trouble.key, scene.counters.axis)
        return scene.link.active and scene.link.stop(stop)

    def raised(self) -> SimulationStopped | None:
        """Return what is to be raised for a stop that nobody holds."""
        if not self.raise_on_stop or self._scene.link.active or self.last is None:
            return None
        where = f"episode {self.last.episode}, physics step {self.last.physics_step}"
        return SimulationStopped(
            f"scene {self._scene.name!r} has stopped before {where} (t = {self.last.time:g} s): "
            f"{self.last.message}; the step was taken back: look at the scene, or set "
            "scene.raise_on_stop = False to go on",
            self.last,
        )
