"""The state of a scene as plain arrays with names: what scripts read, compare, change and put back.

Where a checkpoint is a sealed whole, a :class:`SimState` is for looking inside.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.arguments import shown
from stroboscope.engine.edit_labels import label
from stroboscope.engine.errors import StateCorruptError, StateMismatchError
from stroboscope.engine.row_layout import WIDTHS, RowLayout

if TYPE_CHECKING:
    from stroboscope.engine.world import World

__all__ = [
    "SimState",
    "StateLayout",
    "begin_at_zero",
    "checked_field",
    "read_sim_state",
    "write_sim_state",
]

# What a state consists of, in the order in which it is shown.
_FIELDS = (
    "qpos", "qvel", "qacc", "act", "ctrl", "warmstart", "qfrc_applied", "xfrc_applied",
    "mocap_pos", "mocap_quat", "eq_active", "plugin", "userdata", "plastic", "history",
    "xpos", "xquat",
)  # fmt: skip
# Computed from the rest: written back where MuJoCo keeps it, or not at all.
_COMPUTED = frozenset({"qacc", "xpos", "xquat"})
_WIDTHS = {**WIDTHS, "xpos": 3, "xquat": 4}
# Whose names and units a field has when it has none of its own.
_CHANNELS = {"warmstart": "qacc"}
_LABELLED = frozenset({"eq_active", "mocap_pos", "mocap_quat", "xfrc_applied"})
_AXES = {"xpos": (("x", "y", "z"), "m"), "xquat": (("qw", "qx", "qy", "qz"), "")}
_PRECISION = 64
_MOST_STEPS = 2**62


class StateLayout:
    """Names and units of a model's states; made once per model, shared by its states."""

    def __init__(self, world: "World") -> None:
        model = world.model
        self.names: dict[str, tuple[str, ...]] = {}
        self.units: dict[str, tuple[str, ...]] = {"time": ("s",)}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.parts = parts = RowLayout(model, adapter=world.adapter).parts
        """Where the fields stand in a row; those that the model does not have are missing."""
        for field in _FIELDS:
            if field in _AXES:
                size = int(model.nbody) * _WIDTHS[field]
            else:
                place = parts.get("qvel" if field == "qacc" else field, slice(0, 0))
                size = place.stop - place.start
            width = _WIDTHS.get(field)
            self.shapes[field] = (size,) if width is None else (size // width, width)
            self.names[field], self.units[field] = _words(world, field, size)

    def shape_text(self, field: str) -> str:
        """Return a field's shape for people."""
        return "×".join(map(str, self.shapes[field]))


def _words(world: "World", field: str, size: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what people call each value of a field, and its unit."""
    if field in _AXES:
        axes, unit = _AXES[field]
        bodies = [
            label(world.model, "body", i, adapter=world.adapter)[0]
            for i in range(size // len(axes))
        ]
        return tuple(f"{body} {axis}" for body in bodies for axis in axes), (unit,) * size
    channel = world.channels.get(_CHANNELS.get(field, field))
    if channel is not None and channel.width == size:
        return channel.names or (field,) * size, channel.units or (channel.unit,) * size
    if field in _LABELLED:
        found = [label(world.model, field, i, adapter=world.adapter) for i in range(size)]
        return tuple(name for name, _ in found), tuple(unit for _, unit in found)
    return tuple(f"{field}[{i}]" for i in range(size)), ("",) * size


class SimState:
    """The state of a scene at one instant, as NumPy arrays that belong to nobody else.

    ``qpos`` (nq,), ``qvel`` (nv,) in the joints' units, ``qacc`` (nv,) as last computed, ``act``
    (na,), ``ctrl`` (nu,), ``warmstart`` (nv,), ``qfrc_applied`` (nv,) [N, N·m], ``xfrc_applied``
    (nbody, 6) force and torque in the world frame [N, N·m], ``mocap_pos`` (nmocap, 3) [m],
    ``mocap_quat`` (nmocap, 4) wxyz, ``eq_active`` (neq,) bool, ``plugin``, ``userdata``,
    ``plastic``, ``history`` (MuJoCo's own shape, flat), and ``xpos`` (nbody, 3) [m], ``xquat``
    (nbody, 4) wxyz in the world frame, recomputed for this very instant. ``time`` [s],
    ``step_count`` and ``physics_step_count``. What a model does not have is empty. Of a scene with
    ``n_envs``, everything has one more leading dimension, and so have time and counts; ``qacc`` is
    then that of the last step.

    Change what you like and hand it to :meth:`Scene.reset`; ``qacc``, ``xpos``, ``xquat`` follow
    from the rest. It can be pickled as it is, and compared with ``==`` to the last bit.
    """

    qpos: NDArray[np.float64]
    qvel: NDArray[np.float64]
    qacc: NDArray[np.float64]
    act: NDArray[np.float64]
    ctrl: NDArray[np.float64]
    warmstart: NDArray[np.float64]
    qfrc_applied: NDArray[np.float64]
    xfrc_applied: NDArray[np.float64]
    mocap_pos: NDArray[np.float64]
    mocap_quat: NDArray[np.float64]
    eq_active: NDArray[np.bool_]
    plugin: NDArray[np.float64]
    userdata: NDArray[np.float64]
    plastic: NDArray[np.float64]
    history: NDArray[np.float64]
    xpos: NDArray[np.float64]
    xquat: NDArray[np.float64]
    time: float
    step_count: int
    physics_step_count: int

    def __init__(
        self,
        layout: StateLayout,
        *,
        head: bytes,
        row: bytes,
        hidden: bytes,
        n_envs: int | None = None,
    ) -> None:
        self._layout = layout
        self._head = head
        self._n_envs = n_envs
        # As captured: what sleeps comes back exactly only when nothing was changed.
        self._row = row
        self._hidden = hidden

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of its arrays."""
        return _FIELDS

    @property
    def units(self) -> Mapping[str, tuple[str, ...]]:
        """The unit of each value of each field; empty where it has none."""
        return self._layout.units

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of each field."""
        if self._n_envs is None:
            return self._layout.shapes
        return {name: (self._n_envs, *shape) for name, shape in self._layout.shapes.items()}

    @property
    def precision(self) -> int:
        """Bits per number."""
        return _PRECISION

    @property
    def n_envs(self) -> int | None:
        """How many environments it holds; None for a scene without."""
        return self._n_envs

    @property
    def head(self) -> bytes:
        """What checkpoints of its model begin with; for the engine."""
        return self._head

    def rows(self) -> NDArray[np.float64]:
        """Return MuJoCo's integration states as captured, (environments, row); for the engine."""
        return np.frombuffer(self._row).reshape(self._n_envs or 1, -1)

    def names(self, field: str) -> tuple[str, ...]:
        """Return what each value of a field is called, in flat order; KeyError for no field."""
        if not isinstance(field, str) or field not in self._layout.names:
            raise KeyError(
                f"a state has no field {shown(field)}; it has {', '.join(self._layout.names)}"
            )
        return self._layout.names[field]

    def copy(self) -> "SimState":
        """Return a state with arrays of its own."""
        made = SimState(
            self._layout, head=self._head, row=self._row, hidden=self._hidden, n_envs=self._n_envs
        )
        made.__dict__.update(
            {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in self.__dict__.items()}
        )
        return made

    def __eq__(self, other: object) -> bool:
        """Return whether both are of the same model and equal to the last bit.

        What follows from the rest (``qacc``, ``xpos``, ``xquat``) is not looked at.
        """
        if not isinstance(other, SimState):
            return NotImplemented
        return self._head == other._head and not set(self.differences(other)) - _COMPUTED

    # Its arrays may change.
    __hash__ = None  # type: ignore[assignment]

    def differences(self, other: "SimState") -> Mapping[str, float]:
        """Return the fields that are not equal to the last bit: the largest absolute difference.

        Infinite where shapes differ, or one is a number and the other is none.
        """
        if not isinstance(other, SimState):
            raise TypeError(f"a SimState is compared with another, not {shown(other)}")
        found = {}
        for field in ("time", "step_count", "physics_step_count", *_FIELDS):
            mine, its = np.asarray(getattr(self, field)), np.asarray(getattr(other, field))
            if mine.tobytes() != its.tobytes() or mine.shape != its.shape:
                found[field] = _largest_difference(mine, its)
        return found

    def __repr__(self) -> str:
        """Say when it is of, and how large."""
        shapes = ", ".join(f"{f} {self._layout.shape_text(f)}" for f in ("qpos", "qvel", "ctrl"))
        if self._n_envs is not None:
            return f"SimState({self._n_envs} environments, each {shapes})"
        return f"SimState(time={self.time:g}, step_count={self.step_count}, {shapes})"


def _largest_difference(one: NDArray[Any], two: NDArray[Any]) -> float:
    if one.shape != two.shape:
        return float("inf")
    with np.errstate(invalid="ignore", over="ignore"):
        largest = float(np.max(np.abs(one.astype(np.float64) - two.astype(np.float64))))
    return largest if np.isfinite(largest) else float("inf")


def read_sim_state(world: "World", *, step_count: int, physics_step_count: int) -> SimState:
    """Return the state as it stands; owner thread only. The live data is not written."""
    model, data, adapter = world.model, world.live(), world.adapter
    row, hidden = world.codec.read_row()
    layout = world.state_layout
    state = SimState(layout, head=world.codec.head, row=row.tobytes(), hidden=hidden)
    for field in _FIELDS:
        if field not in _COMPUTED:
            values = row[layout.parts.get(field, slice(0, 0))].reshape(layout.shapes[field])
            state.__dict__[field] = values != 0.0 if field == "eq_active" else values.copy()
    state.qacc = np.array(data.qacc)
    scratch = world.frames.scratch
    adapter.copy_data(model, data, scratch)
    adapter.module.mj_kinematics(model, scratch)
    state.xpos, state.xquat = np.array(scratch.xpos), np.array(scratch.xquat)
    state.time = float(row[0])
    state.step_count, state.physics_step_count = step_count, physics_step_count
    return state


def write_sim_state(world: "World", state: SimState, *, zero_time: bool) -> None:
    """Put a state back, all of it or nothing; owner thread only.

    Raises StateMismatchError when it is of another model, count or precision, StateCorruptError
    when a position, velocity, activation or the time is not finite.
    """
    if state.n_envs is not None:
        raise StateMismatchError(
            f"the state is of {state.n_envs} environments, this scene is one world: choose one of "
            "them with a checkpoint (checkpoint.env(number))"
        )
    if state._head != world.codec.head:
        raise StateMismatchError(
            f"the state does not fit this scene: {world.codec.difference(state._head)}; reset to a "
            "state of a scene of the same model, made with the same MuJoCo"
        )
    layout = world.state_layout
    parts = layout.parts
    row = np.frombuffer(state._row).copy()
    for field in _FIELDS:
        values = checked_field(state, field, layout.shapes[field])
        if field not in _COMPUTED and field in parts:
            row[parts[field]] = values.reshape(-1)
    row[0] = checked_time(state)
    checked_counts(state)
    # What sleeps comes back exactly only when nothing was changed; else it wakes up.
    unchanged = row[1:].tobytes() == state._row[8:]
    if zero_time:
        begin_at_zero(world.model, row, parts)
    _refuse_not_finite(state)
    world.codec.check_row(row)
    world.codec.put_row(row, state._hidden if unchanged else b"")
    world.live().qacc[:] = state.qacc


def _refuse_not_finite(state: SimState) -> None:
    """Raise StateCorruptError, which names it, for what of a state must be a number and is none."""
    for field in ("time", "qpos", "qvel", "act"):
        values = np.asarray(getattr(state, field), dtype=np.float64)
        wrong = np.argwhere(~np.isfinite(values))
        if len(wrong):
            place = "".join(f"[{index}]" for index in wrong[0])
            more = f" (+{len(wrong) - 1} more)" if len(wrong) > 1 else ""
            raise StateCorruptError(
                f"the state's {field}{place} is {values[tuple(wrong[0])]}{more}, and not finite: "
                "write a number there, or use an earlier state where the simulation had diverged"
            )


def begin_at_zero(model: Any, row: NDArray[np.float64], parts: Mapping[str, slice]) -> None:
    """Set the time to 0, and what delays remember of earlier times accordingly."""
    time, row[0] = row[0], 0.0
    history = row[parts.get("history", slice(0, 0))]
    for kind in ("actuator", "sensor") if history.size else ():
        starts, samples = getattr(model, f"{kind}_historyadr"), getattr(model, f"{kind}_history")
        for index, (start, (count, _)) in enumerate(zip(starts, samples, strict=True)):
            if start < 0:
                continue
            # A time of its own, a cursor, the times of the samples, then the samples.
            history[start + 2 : start + 2 + count] -= time
            if kind == "sensor" and model.sensor_interval[index][0] > 0.0:
                history[start] -= time


def checked_time(state: SimState) -> NDArray[np.float64]:
    """Return the time, a number or (n_envs,); StateMismatchError when it is neither."""
    shape = () if state.n_envs is None else (state.n_envs,)
    try:
        time = np.asarray(state.time, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        time = None
    if time is None or time.shape != shape:
        raise StateMismatchError(
            f"the state's time must be {f'{shape} numbers' if shape else 'a number'} [s], not "
            f"{shown(state.time)}"
        )
    return time


def checked_counts(state: SimState) -> tuple[Any, Any]:
    """Return both step counts; StateMismatchError unless they are whole and not negative.

    Of a state with environments each is (n_envs,), as they were captured.
    """
    shape = () if state.n_envs is None else (state.n_envs,)
    counts = []
    for name in ("step_count", "physics_step_count"):
        value = getattr(state, name)
        numbers = np.asarray(value)
        is_whole = numbers.dtype.kind in "iu" and numbers.shape == shape
        if not is_whole or (numbers < 0).any() or (numbers > _MOST_STEPS).any():
            raise StateMismatchError(
                f"the state's {name} must be {f'{shape} whole numbers' if shape else 'a whole'}"
                f"{'' if shape else ' number'} of 0 or more, not {shown(value)}"
            )
        counts.append(numbers.astype(np.int64) if shape else int(numbers))
    return counts[0], counts[1]


def checked_field(state: SimState, field: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array of a state; StateMismatchError when its shape or type is not as it was."""
    try:
        values = np.asarray(getattr(state, field))
    except (TypeError, ValueError, OverflowError):
        values = np.empty(0, dtype=np.object_)
    wanted = np.dtype(np.bool_ if field == "eq_active" else np.float64)
    if values.shape != shape:
        raise StateMismatchError(
            f"the state's {field} has shape {values.shape}, this scene's {shape}: "
            f"{shown(getattr(state, field))}"
        )
    if values.dtype != wanted:
        raise StateMismatchError(
            f"the state's {field} is {values.dtype}, this scene's {wanted}: convert it with "
            f"state.{field} = state.{field}.astype({wanted.name!r})"
        )
    return values
