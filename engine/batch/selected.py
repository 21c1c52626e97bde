"""One environment of a batched scene as everything sees it that knows scenes of one world.

Its state is copied into a :class:`~stroboscope.engine.world.World` of our own whenever somebody
looks: frames, channels, diagnoses, checkpoints and rollouts are made there, as for any scene.
"""

import copy
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind
from stroboscope.engine.batch.batch_conditions import BatchConditions
from stroboscope.engine.batch.batch_history import BatchHistory
from stroboscope.engine.batch.environments import OneEnvCounters
from stroboscope.engine.callbacks import Event
from stroboscope.engine.debug_draw import DebugDraw
from stroboscope.engine.history.own_timesteps import OwnTimesteps
from stroboscope.engine.history.segments import SegmentList
from stroboscope.engine.history.spans import axes_of, last_before
from stroboscope.engine.live_data import HeldData
from stroboscope.engine.model_source import ModelSource
from stroboscope.engine.physics_options import write_option
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.script_state import ScriptStates
from stroboscope.engine.stops.scene_stops import SceneStops
from stroboscope.engine.world import World

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene

__all__ = ["SelectedEnvironment"]

Row = NDArray[np.float64]


class SelectedEnvironment:
    """The environment ``env`` of a batched scene; owner thread only.

    ``world`` holds a copy of its state, as of the last :meth:`refresh`; :meth:`changes` is how
    somebody changes it.
    """

    def __init__(self, scene: "BatchScene", source: ModelSource) -> None:
        envs = scene.environments
        adapter = envs.adapter
        self._scene = scene
        self._envs = envs
        model = copy.copy(envs.model)
        data = adapter.module.MjData(model)
        mine = ModelSource(model, source.spec, source.origin, source.spec_missing)
        self.world = World(mine, HeldData(data), adapter=adapter)
        self.counters = OneEnvCounters(envs.counters)
        self.history = EnvHistory(
            scene.batch_history, self.counters, lambda: scene.keeps_history, model=model
        )
        self.stepper = _EnvStepper(self)
        self.states = _EnvStates(lambda: scene.name)
        self.callbacks = _EnvCallbacks(scene)
        self.conditions = BatchConditions(scene, self)
        self.stops = SceneStops(self, self.conditions)  # type: ignore[arg-type]
        self.rollouts = scene.rollouts
        self.nominal_timestep: float | None = None
        self.revision = 0
        self.shown: tuple[int, ...] = (0,)
        """The environments that are drawn side by side."""
        self._data = data

    # --- which it is

    @property
    def env(self) -> int:
        """Which environment it is."""
        return self.counters.env

    def select(self, env: int) -> None:
        """Be another environment from now on."""
        self.counters.env = env
        self._scene.batch_history.look_at(env)
        self.world.interventions.release()
        self.refresh()

    @contextmanager
    def standing_for(self, env: int) -> Iterator[None]:
        """Be another environment for as long as it takes to look at it."""
        own, self.counters.env = self.env, env
        self.refresh()
        try:
            yield
        finally:
            self.counters.env = own
            self.refresh()

    # --- its state

    def refresh(self) -> None:
        """Copy its state, and its values of model fields, into :attr:`world`."""
        self._envs.fill_model(self.env, self.world.model)
        self._envs.fill_data(self.env, self._data, model=self.world.model)

    def put(self, row: Row) -> None:
        """Put a row that isn't the environment's own into :attr:`world`."""
        adapter = self._envs.adapter
        adapter.mj_setState(self.world.model, self._data, row, adapter.integration)

    @contextmanager
    def having_fields_of(self, axis: int) -> Iterator[None]:
        """Have what model fields had in a step of the past in the model of :attr:`world`."""
        self.refresh()
        self._write_fields(self.world.model, axis)
        try:
            yield
        finally:
            self.refresh()

    def model_then(self, axis: int) -> Any:
        """Return a model of its own with what the environment's had in a step of the past."""
        model = self._envs.model_of(self.env)
        self._write_fields(model, axis)
        return model

    def _write_fields(self, model: Any, axis: int) -> None:
        for name, values in self._scene.batch_history.fields_before(self.env, axis).items():
            write_option(model, name, values, known=values, adapter=self._envs.adapter)

    @contextmanager
    def changes(self) -> Iterator[None]:
        """Let somebody change the state in :attr:`world`: it becomes the environment's."""
        self.refresh()
        yield
        adapter, row = self._envs.adapter, self._envs.state[self.env]
        changed = np.empty_like(row)
        adapter.mj_getState(self.world.model, self._data, changed, adapter.integration)
        row[:] = changed

    @property
    def timestep_of_state(self) -> float:
        """The timestep [s] that it steps with."""
        return self._envs.timestep(self.env)

    @property
    def timestep_in_force(self) -> float:
        """The same: whoever edits it in the debugger edits that of the environment."""
        return self.timestep_of_state

    # --- what its scene says

    @property
    def link(self) -> Any:
        """The host's side of the scene."""
        return self._scene.link

    @property
    def name(self) -> str:
        """The scene's name."""
        return self._scene.link.name

    @property
    def recorders(self) -> Any:
        """Who records the scene."""
        return self._scene.recorders

    @property
    def scene_id(self) -> int:
        """The scene's number."""
        return self._scene.link.scene_id

    @property
    def is_adopted(self) -> bool:
        """Whether the model is the script's own: a batch has a copy."""
        return False

    @property
    def drawing(self) -> DebugDraw | None:
        """What the script draws."""
        return self._scene.drawing

    def forget_drawing(self) -> None:
        """Drop what was drawn for a state that is replaced."""
        self._scene.forget_drawing()


class _EnvStepper:
    """What a scene of one world asks its stepper about the last step."""

    is_inside = False
    is_where_it_was_left = False
    """Nobody looks for that."""
    pre_step_done = False
    synced_at = -1

    def __init__(self, selected: SelectedEnvironment) -> None:
        self._selected = selected

    def last_row(self) -> Row | None:
        """Return the row that the environment's last physics step began with, if it still is."""
        selected = self._selected
        row = selected.history.ring.row(selected.counters.axis - 1)
        if row is None:
            return None
        world = selected.world
        after = row[0] + selected.timestep_of_state
        return row if after == float(world.live().time) else None

    def mend(self) -> None:
        """Nothing: a step that failed has left nothing in use here."""

    def forget_time(self) -> None:
        """Nothing: the time of each environment is looked at in its own rows."""


class _EnvStates:
    """What of a scene's states its time machine asks for."""

    def __init__(self, scene_name: Callable[[], str]) -> None:
        self.script = ScriptStates(scene_name)


class _EnvCallbacks:
    """The script's callbacks, which are handed the scene and not one environment."""

    def __init__(self, scene: "BatchScene") -> None:
        self._scene = scene

    def has(self, event: Event) -> bool:
        """Return whether anything is called on ``event``."""
        return self._scene.callbacks.has(event)

    def run(self, event: Event, _: object) -> None:
        """Call everything registered for ``event``."""
        self._scene.callbacks.run(event, self._scene)  # type: ignore[arg-type]


class EnvHistory:
    """The history of the selected environment, as that of a scene of one world."""

    recording = ""
    """No file is the past of an environment."""
    recording_end = 0
    recorded_signals: frozenset[str] = frozenset()
    recorded_options: Mapping[str, tuple[float, ...]] = types.MappingProxyType({})
    first_fields: Mapping[str, tuple[float, ...]] = types.MappingProxyType({})
    """Nothing: every stretch has the values of all fields that environments have of their own."""
    left = b""
    """Nobody knows it: rows are not known to follow from one another either."""

    def __init__(
        self, history: BatchHistory, counters: OneEnvCounters, keeps: Any, *, model: Any
    ) -> None:
        self._history = history
        self.models = _EnvModels(model)
        self._counters = counters
        self._keeps = keeps
        self.ring = EnvRing(history, counters)
        self.own_timesteps = OwnTimesteps()
        self.keyframes = _NoKeyframes()
        self.packing = _PlainRows(history.layout)
        self._segments = SegmentList()
        self._segments_of = (-1, -1)

    @property
    def keeps(self) -> bool:
        """Whether the next step's row will stay."""
        return bool(self._keeps())

    @property
    def episode(self) -> int:
        """Which episode the state belongs to."""
        return int(self._history.episodes[self._counters.env])

    @property
    def nbytes(self) -> int:
        """Bytes of the histories of all environments."""
        return self._history.nbytes

    @property
    def max_bytes(self) -> int:
        """How many bytes they may take."""
        return self._history.max_bytes

    @property
    def segments(self) -> SegmentList:
        """The stretches of the axis; made anew when something was replaced."""
        key = (self._counters.env, self._history.version)
        first = self._history.first_of(self._counters.env)
        if key != self._segments_of or (first >= 0 and self._segments.of(first) is None):
            self._segments_of = key
            self._segments = self._history.segments_of(self._counters.env)
        return self._segments

    def look_at_model(self) -> None:
        """Notice what the script has written into fields of the model since the last step."""
        self._history.look()

    def has_model_of_last_step(self) -> bool:
        """Return True: who asks has the fields of that step in the model meanwhile."""
        return True

    def lost_fields(self, axis: int) -> str:
        """Say of which fields of the model it is not known what they were then; or ""."""
        return self._history.lost_fields(self._counters.env, axis)

    def last_row(self) -> Row | None:
        """Return the row that the last physics step began with."""
        return self.ring.row(self._counters.axis - 1)

    def edited(self, text: str) -> Segment | None:
        """Note that somebody has edited an option of the environment in the debugger."""
        return self.begin(SegmentKind.EDIT, text)

    def begin(self, kind: SegmentKind, text: str = "", **_: int) -> Segment | None:
        """Note that somebody has changed the environment's state or options."""
        counts = self._history.counts()
        self._history.replaced(kind, np.array([self._counters.env]), before=counts, text=text)
        last = self.segments.last
        return None if last is None else last.segment


class _PlainRows:
    """Rows that are not packed: what stands where in them, as :class:`RowPacking` says it."""

    def __init__(self, layout: RowLayout) -> None:
        self._parts = layout.parts
        self.words = layout.size

    def place_of(self, name: str) -> slice | None:
        """Return where an array stands in a row; None where there is none of it."""
        return self._parts.get(name)


class _EnvModels:
    """The model of the environment, a copy that has its own values; see :class:`ModelNotes`."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def kept(self) -> Any:
        """Return a copy of it as it is: it becomes another environment's."""
        return copy.copy(self._model)

    has_copy = False
    in_force = None

    def of_past(self) -> Any:
        """Return it as it is: no script sees it."""
        return self._model

    def is_as_it_is(self) -> Callable[[], bool]:
        """Return what says yes: no script writes into it."""
        return lambda: True


class _NoKeyframes:
    """Where a row alone does not say what slept, there is nothing more than the row."""

    nbytes = 0

    def before(self, axis: int) -> int:
        """Return the row to begin with."""
        return axis

    def at(self, _axis: int) -> bytes:
        """Return what no row holds: nothing was kept of it."""
        return b""


class EnvRing:
    """The rows of the selected environment, as those of a scene of one world: all are stored."""

    def __init__(self, history: BatchHistory, counters: OneEnvCounters) -> None:
        self._history = history
        self._counters = counters
        self._inputs = history.layout.inputs

    @property
    def _env(self) -> int:
        return self._counters.env

    @property
    def advance(self) -> int:
        """1 while rows are kept, else 0."""
        return 0 if self._history.is_empty else 1

    @property
    def width(self) -> int:
        """Bytes of a row."""
        return 8 * self._history.layout.size

    @property
    def first(self) -> int:
        """The oldest axis; -1 without any."""
        return self._history.first_of(self._env)

    @property
    def dense(self) -> int:
        """The axis from which on every row is stored: all are."""
        return self.first

    @property
    def reachable(self) -> int:
        """How many axes can be reached."""
        return sum(end - begin for begin, end in self.spans())

    def spans(self) -> Iterator[tuple[int, int]]:
        """Go through the stretches of axes that are remembered."""
        return self._history.spans_of(self._env)

    def holds(self, axis: int) -> bool:
        """Return whether the step that began at ``axis`` is remembered."""
        return 0 <= self.first <= axis < self._history.end_axis()

    def is_stored(self, axis: int) -> bool:
        """Return whether its row is."""
        return self.holds(axis)

    def stored_before(self, axis: int) -> int:
        """Return the last stored axis that is not after ``axis``: itself."""
        return axis

    def next_remembered(self, axis: int, default: int) -> int:
        """Return ``axis`` or the next one that is remembered; ``default`` when none is."""
        if self.holds(axis):
            return axis
        return self.first if 0 <= axis < self.first else default

    def last_remembered(self, axis: int) -> int:
        """Return the last one before ``axis`` that is remembered; -1 when none is."""
        return last_before(self.spans(), axis)

    def axes(self, first: int, last: int) -> NDArray[np.int64]:
        """Return all that are remembered from ``first`` to ``last``, which counts."""
        return axes_of(self.spans(), first, last)

    def row(self, axis: int) -> Row | None:
        """Return a copy of the row of ``axis``; None when it is not there."""
        row = self._history.row(self._env, axis)
        return None if row is None else row.copy()

    def inputs(self, axis: int) -> Row:
        """Return the inputs of a remembered step."""
        row = self._history.row(self._env, axis)
        if row is None:
            raise KeyError(axis)
        return row[self._inputs]

    def time(self, axis: int) -> float:
        """Return the time [s] before a remembered step."""
        row = self._history.row(self._env, axis)
        if row is None:
            raise KeyError(axis)
        return float(row[0])

    def step(self, axis: int) -> int:
        """Return how many application steps had ever been taken before a remembered step."""
        return self._history.step_at(axis)

    def follows(self, axis: int) -> bool:
        """Return whether a row is known to follow from the one before: nobody looks for that."""
        return False

    def timestep(self, axis: int) -> float:
        """Return how long a remembered step took [s]."""
        return self._history.timestep_at(self._env, axis)

    def is_hash_of(self, row: Row, axis: int) -> bool:
        """Return whether a row is, to the bit, the one of ``axis``."""
        stored = self.row(axis)
        return stored is not None and stored.tobytes() == row.tobytes()
