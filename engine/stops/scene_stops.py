"""What stops one scene: the rules in force, and what becomes of a physics step in trouble."""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.time_messages import ConditionInfo, StopInfo, StopReason
from stroboscope.engine.callbacks import Event
from stroboscope.engine.errors import SimulationStopped
from stroboscope.engine.stops.conditions import Condition, SceneConditions
from stroboscope.engine.stops.diagnosis import diagnose
from stroboscope.engine.stops.event import StopEvent
from stroboscope.engine.stops.trouble import Diagnose, Trouble, plain_diagnosis

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["SceneStops"]

_log = logging.getLogger(__name__)


class SceneStops:
    """Rules and outcome of stops of one scene; owner thread only."""

    def __init__(self, scene: "Scene", conditions: SceneConditions | None = None) -> None:
        self._scene = scene
        self.raise_on_stop = False
        """Whether a stop raises SimulationStopped where nothing is attached that could hold it."""
        self.off: frozenset[StopReason] = frozenset()
        self.last: StopEvent | None = None
        self.resets = 0
        """How often MuJoCo has reset the state by itself: its own counter doesn't say."""
        self.conditions: SceneConditions | None = None
        """What the user wants it to stop for; None while there is nothing to look at."""
        self.diagnose: Diagnose = diagnose
        self.guards_detached = False
        """Whether steps are looked at although nothing is attached."""
        self._all = conditions if conditions is not None else SceneConditions(scene)
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
        if self._is_new_warning(trouble):
            warning = plain_diagnosis(self._scene, trouble)
            data: dict[str, object] = {"reason": str(trouble.reason)}
            self._scene.recorders.happened("warning", warning.message, data=data)
        self._let_through = (trouble.key, self._scene.counters.axis)
        if trouble.is_reset:
            self.resets += 1
            self._scene.link.past.stops.note_resets(self.resets)

    def _is_new_warning(self, trouble: Trouble) -> bool:
        """Return whether a trouble is worth telling whoever records: no stop has, nor the last."""
        axis = self._scene.counters.axis
        told, (key, at) = self._told[1] == axis, self._let_through
        goes_on = key == trouble.key and at >= axis - 1
        return self._scene.recorders.wants and not told and not goes_on

    def is_told(self, trouble: Trouble) -> bool:
        """Return whether the scene has stopped for this already, and nobody has let it go on."""
        return self._told == (trouble.key, self._scene.counters.axis)

    def holds(self, trouble: Trouble) -> bool:
        """Record the stop; return whether the step is to be taken back and the scene held."""
        scene = self._scene
        stop = self.diagnose(scene, trouble)
        self.note(stop, trouble)
        self._told = (trouble.key, scene.counters.axis)
        return scene.link.active and scene.link.stop(stop)

    def note(self, stop: StopInfo, trouble: Trouble | None = None) -> None:
        """Remember and record a stop: of the step in ``trouble``, or of one that is complete."""
        self.last = StopEvent.of(stop)
        self._scene.recorders.stopped(stop, trouble)

    def stop_after_step(self, stop: StopInfo) -> None:
        """Stop for something that a complete step has shown: nothing is taken back.

        The scene is held before its next step; raises SimulationStopped where the script wants that
        and nobody holds it, and what its callbacks raise.
        """
        scene = self._scene
        self.note(stop)
        if scene.link.active:
            scene.link.past.stops.stop(stop, is_complete=True)
        with scene.link.owner.signals.let_through():
            scene.callbacks.run(Event.STOP, scene)
        raised = self.raised()
        if raised is not None:
            raise raised

    def raised(self) -> SimulationStopped | None:
        """Return what is to be raised for a stop that nobody holds."""
        if not self.raise_on_stop or self._scene.link.active or self.last is None:
            return None
        last = self.last
        where = f"episode {last.episode}, physics step {last.physics_step} (t = {last.time:g} s)"
        if last.reason is StopReason.CONDITION:
            how = f"after {where}: {last.message}; the step is complete"
        else:
            how = f"before {where}: {last.message}; the step was taken back"
        return SimulationStopped(
            f"scene {self._scene.name!r} has stopped {how}: look at the scene, or set "
            "scene.raise_on_stop = False to go on",
            last,
        )

    # --- conditions

    @property
    def follows_logged(self) -> bool:
        """Whether what the script logs is looked at although nothing is attached."""
        conditions = self.conditions
        return self.guards_detached and conditions is not None and conditions.reads_logged

    def condition_infos(self) -> tuple[ConditionInfo, ...]:
        """Return all conditions, oldest first; the same object while nothing changed."""
        return self._all.infos

    def put_condition(self, condition: ConditionInfo) -> ConditionInfo:
        """Add a condition (id 0) or replace the one with its id; CommandError when it is wrong."""
        return self._all.put(condition)

    def condition_note(self, condition_id: int) -> str:
        """Return what whoever has set it should know: it waits, or is true already; or ""."""
        return self._all.note_of(condition_id)

    def tell_note(self, info: ConditionInfo) -> None:
        """Log what whoever has set a condition of the script should know, if there is anything."""
        note = self.condition_note(info.condition_id)
        if note:
            scene, text = self._scene, f"condition “{info.name or info.expression}” {note}"
            _log.warning("scene %r: %s", scene.name, text)
            scene.link.log_text(LogLevel.WARNING, text)

    def handle(self, condition_id: int, guard: Callable[[], None]) -> Condition:
        """Return a condition as scripts have it."""
        return Condition(self._all, condition_id, guard)

    def remove_condition(self, condition_id: int) -> None:
        """Forget a condition; CommandError when there is none."""
        self._all.remove(condition_id)
