"""Planning: many candidates from one checkpoint, on native threads."""

import dataclasses
import os
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from stroboscope.engine.arguments import (
    MOST_THREADS,
    check_memory,
    number_array,
    plain_text,
    shown,
    whole_number,
)
from stroboscope.engine.batch.batch_checkpoint import refuse_environments_of
from stroboscope.engine.checkpoint import Checkpoint, CheckpointRecord, Counters, Exactness
from stroboscope.engine.errors import StateError
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.rollouts.candidates import Start, run_candidates
from stroboscope.engine.rollouts.events import EventWords
from stroboscope.engine.rollouts.numbers import derived_numbers
from stroboscope.engine.rollouts.rollout_model import RolloutModel, rollout_model
from stroboscope.engine.rollouts.row_probe import RowProbe
from stroboscope.engine.rollouts.store import RolloutStore
from stroboscope.engine.rollouts.stored import StoredRollout
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.runtime import current_runtime
from stroboscope.engine.state_methods import StateMethods

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["Rollouts", "checkpoint_of", "rollout"]

_MOST_PHYSICS_STEPS = 1_000_000
"""Physics steps of one step of a rollout at most."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Rollouts:
    """N candidates of T steps from one checkpoint; read-only arrays, any thread.

    A candidate ends with its first event (a warning of MuJoCo, a step that fails, a number that is
    not finite): its last state is the one before that step, and what follows is NaN.
    """

    name: str
    names: tuple[str, ...]
    """(N,) what each candidate is called."""
    states: NDArray[np.float64]
    """(N, T + 1, row) the complete state before each step and, last, after the last one, with the
    inputs of that step: MuJoCo's ``mjSTATE_INTEGRATION``."""
    ctrl: NDArray[np.float64]
    """(N, T, nu) the controls given."""
    steps: NDArray[np.int64]
    """(N,) how many steps each candidate completed."""
    event_steps: NDArray[np.int64]
    """(N,) the step in which a candidate's first event happened, -1 without one."""
    outcomes: tuple[str, ...]
    """(N,) "ended", or what the event was."""
    timestep: float
    """How long a physics step takes [s]."""
    nstep: int
    """Physics steps per step."""
    inexact_reason: str
    """Why stepping a single scene might differ in bits; empty when it doesn't."""
    begin: Checkpoint
    """The checkpoint that all of them began with."""
    layout: RowLayout
    """Where what stands in a row of :attr:`states`."""
    model_record: CheckpointRecord
    """What checkpoints of candidates say of the model."""
    tell: "Telling | None" = None
    """Hands noted numbers to the debugger's table; None when nobody was attached."""

    def __repr__(self) -> str:
        """Say how many there are and how they ended."""
        events = int((self.event_steps >= 0).sum())
        return (
            f"Rollouts({self.name!r}, {len(self)} candidates of {self.ctrl.shape[1]} steps, "
            f"{events} with an event)"
        )

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self.names)

    @property
    def time(self) -> NDArray[np.float64]:
        """(N, T + 1) simulation time [s]."""
        return self.states[:, :, 0]

    @property
    def qpos(self) -> NDArray[np.float64]:
        """(N, T + 1, nq) positions."""
        return self._part("qpos")

    @property
    def qvel(self) -> NDArray[np.float64]:
        """(N, T + 1, nv) velocities."""
        return self._part("qvel")

    @property
    def act(self) -> NDArray[np.float64]:
        """(N, T + 1, na) activations of actuators."""
        return self._part("act")

    def _part(self, name: str) -> NDArray[np.float64]:
        return self.states[:, :, self.layout.parts.get(name, slice(0, 0))]

    @property
    def completed(self) -> NDArray[np.bool_]:
        """(N,) whether a candidate ran to its end without an event."""
        return self.event_steps < 0

    def checkpoint(self, candidate: int, step: int | None = None) -> Checkpoint:
        """Return the state of a candidate before ``step`` (None: its last) as a checkpoint.

        A scene that takes it goes on bit for bit as the candidate would have; what the script has
        registered is not in it. Raises IndexError for a step that the candidate has not reached,
        StateError for models with sleep or ipc, whose rows are not all of their state.
        """
        count = len(self)
        candidate = whole_number(candidate, "candidate", least=-count, most=sys.maxsize)
        if candidate >= count:
            raise IndexError(f"there is no candidate {candidate}: there are {count}, from 0 on")
        last = int(self.steps[candidate])
        at = last if step is None else whole_number(step, "step", least=-1, most=sys.maxsize)
        if not 0 <= at <= last:
            raise IndexError(
                f"candidate {candidate} has completed {last} steps: there is no state before {at}"
            )
        if self.begin.hidden:
            raise StateError(
                "bodies of this model may sleep, which a rollout's rows do not hold: restore the "
                "checkpoint that the rollout began with, and step with its controls"
            )
        counters = self.begin.counters
        return Checkpoint(
            self.begin.head,
            self.states[candidate, at],
            counters=Counters(
                counters.step_count + at, counters.physics_step_count + at * self.nstep
            ),
            timestep=self.begin.timestep,
            edits=self.begin.edits,
            hidden=b"",
            script=b"",
            record=msgspec.structs.replace(
                self.model_record, name=self.names[candidate], scene_name=self.begin.scene_name
            ),
            exactness=Exactness(self.inexact_reason),
        )

    def note(self, name: str, values: ArrayLike) -> None:
        """Show a number per candidate, such as its cost, in the debugger's table of rollouts.

        ``values`` (N,). Any thread. Raises TypeError for a name that is no text, ValueError for
        another shape.
        """
        name = plain_text(name, "what is noted of rollouts")
        numbers = number_array(values, f"note({name!r})")
        if numbers.shape != (len(self),):
            raise ValueError(
                f"note({name!r}) needs a number per candidate, shape ({len(self)},), not "
                f"{numbers.shape}"
            )
        if self.tell is not None:
            self.tell(name, numbers.tolist())


class Telling:
    """Hands numbers of candidates to the table that shows them; any thread."""

    def __init__(self, store: RolloutStore, rollout_ids: Sequence[int]) -> None:
        self._store = store
        self._ids = rollout_ids

    def __call__(self, name: str, numbers: Sequence[float]) -> None:
        """Add ``name`` to what is known of each candidate."""
        for rollout_id, number in zip(self._ids, numbers, strict=True):
            self._store.note(rollout_id, name, number)


def rollout(
    checkpoint: Any,
    ctrl: ArrayLike,
    *,
    nstep: int = 1,
    threads: int | None = None,
    name: str | None = None,
    names: Sequence[str] | None = None,
    scene: "Scene | None" = None,
) -> Rollouts:
    """Run N candidates from one checkpoint beside the scene, which is not touched.

    ``ctrl`` (N, T, nu): the controls of each step, which are held over its ``nstep`` physics
    steps. ``threads``: native threads, the caller's among them; by default those of
    ``initialize``, else one per core. The result does not depend on them: its states are, bit for
    bit, those that a single scene has which is stepped from that checkpoint. ``name`` is what the
    candidates are called together, ``names`` each of them. ``scene``: whose model it is; by
    default the one that the checkpoint was taken of, or one of this thread that it fits.

    On the scene's owner thread. While a debugger is attached the candidates appear in the window
    and stay there. Raises ValueError for controls of another shape, StateCorruptError and
    StateMismatchError for a checkpoint that does not fit.
    """
    begin = checkpoint_of(checkpoint)
    if scene is None:
        scene, used = _scene_of(begin)
    else:
        scene = _one_world(scene)
        used = rollout_model(scene, begin)
    model, adapter = used.model, load_mujoco()
    controls = _checked_controls(ctrl, nu=int(model.nu))
    nstep = whole_number(nstep, "nstep", least=1, most=_MOST_PHYSICS_STEPS)
    threads = _thread_count(threads)
    if name is not None:
        name = plain_text(name, "the name of rollouts")
    title = name or f"rollout {scene.rollouts.next_group()}"
    titles = _checked_names(names, title, len(controls))
    layout = RowLayout(model, adapter=adapter)
    count, steps, _ = controls.shape
    check_memory(
        8 * layout.size * count * max(steps + 1, nstep),
        f"the states of {count:,} candidates of {steps:,} steps of {nstep:,} physics steps",
    )
    run = run_candidates(
        model,
        Start(begin.row, begin.hidden),
        controls,
        nstep=nstep,
        threads=threads,
        layout=layout,
        words=EventWords(model, adapter=adapter),
        adapter=adapter,
    )
    run.states.flags.writeable = False
    made = Rollouts(
        name=title,
        names=titles,
        states=run.states,
        ctrl=controls,
        steps=np.array([end.steps for end in run.ends]),
        event_steps=np.array([end.event_step for end in run.ends]),
        outcomes=tuple(end.text for end in run.ends),
        timestep=float(model.opt.timestep),
        nstep=nstep,
        inexact_reason=_inexact_reason(begin, used),
        begin=begin,
        layout=layout,
        model_record=used.record,
    )
    if not scene.link.active:
        return made
    return dataclasses.replace(made, tell=Telling(scene.rollouts, _kept(scene, made, used)))


def _one_world(scene: object) -> "Scene":
    """Return the scene that somebody means; TypeError for what is none of one world."""
    if not isinstance(scene, StateMethods):
        raise TypeError(f"scene must be a scene of one world, not {shown(scene)}")
    return cast("Scene", scene)


def _kept(scene: "Scene", made: Rollouts, used: RolloutModel) -> list[int]:
    """Keep candidates for the debugger's table, and return their ids."""
    world = scene.world
    adapter, digest = world.adapter, world.codec.digest
    probe = RowProbe(used.model, adapter=adapter, scratch=lambda: world.frames.scratch)
    model, ids = used.model if used.is_own else scene.history.models.kept(), []
    for index, name in enumerate(made.names):
        stored = StoredRollout(
            name=name,
            rows=made.states[index, : made.steps[index] + 1],
            timestep=made.timestep * made.nstep,
            timesteps=np.full(1, made.timestep),
            make_model=lambda: model,
            digest=digest,
            from_axis=-1,
            outcome=made.outcomes[index],
            event_step=int(made.event_steps[index]),
            group=made.name,
        )
        stored.numbers.update(derived_numbers(stored, adapter, probe))
        ids.append(scene.rollouts.add(stored))
    return ids


def checkpoint_of(value: Any) -> Checkpoint:
    """Return a checkpoint, read from its bytes when it isn't one; TypeError for anything else."""
    if isinstance(value, Checkpoint):
        return value
    refuse_environments_of(value)
    if isinstance(value, bytes | bytearray | memoryview | np.ndarray):
        return Checkpoint.from_bytes(value)
    raise TypeError(
        "a rollout begins with a checkpoint: what scene.checkpoint() returns, or the bytes of "
        f"capture_state_to_bytes, not {shown(value)}"
    )


def _scene_of(checkpoint: Checkpoint) -> "tuple[Scene, RolloutModel]":
    """Return the scene that a checkpoint was taken of, else one of this thread that it fits.

    Rather one with the model that it was taken with.
    """
    here = threading.current_thread()
    scenes = [each for each in current_runtime().scenes if each.owner is here]
    scenes.sort(key=lambda each: each.scene_id != checkpoint.scene_id)
    refusal: StateError | None = None
    fitting: tuple[Scene, RolloutModel] | None = None
    for scene in scenes:
        try:
            used = rollout_model(scene, checkpoint)
        except StateError as error:
            refusal = refusal or error
            continue
        if scene.scene_id == checkpoint.scene_id or not used.difference:
            return scene, used
        fitting = fitting or (scene, used)
    if fitting is not None:
        return fitting
    if refusal is not None:
        raise refusal
    raise StateError(
        "no scene of this thread has the checkpoint's model: create one, or call rollout() on the "
        "thread that owns the scene"
    )


def _checked_controls(ctrl: ArrayLike, *, nu: int) -> NDArray[np.float64]:
    """Return the controls as a read-only copy; ValueError unless they are (N, T, nu)."""
    controls = number_array(ctrl, f"ctrl (candidates, steps, {nu})")
    if controls.ndim != 3 or controls.shape[2] != nu or 0 in controls.shape[:2]:
        raise ValueError(
            f"ctrl must have the shape (candidates, steps, {nu}), with at least one candidate and "
            f"step, not {controls.shape}"
        )
    controls.flags.writeable = False
    return controls


def _checked_names(names: Sequence[str] | None, title: str, count: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"{title} #{index}" for index in range(count))
    if isinstance(names, str) or not isinstance(names, Sequence | np.ndarray):
        raise TypeError(f"names must be {count} texts, one per candidate, not {shown(names)}")
    if len(names) != count:
        raise ValueError(
            f"names must be {count} texts, one per candidate, not {len(names)}: {shown(names)}"
        )
    return tuple(plain_text(each, "the name of a candidate") for each in names)


def _thread_count(threads: int | None) -> int:
    if threads is None:
        return current_runtime().num_worker_threads or _cores()
    return whole_number(threads, "threads (the calling one is 1)", least=1, most=MOST_THREADS)


def _cores() -> int:
    """Return on how many cores this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _inexact_reason(begin: Checkpoint, used: RolloutModel) -> str:
    adapter = load_mujoco()
    called = adapter.callbacks_of_steps(used.model)
    if called:
        return (
            f"the script's callbacks ({', '.join(called)}) ran for every candidate in turn: what "
            "they remember themselves is not part of the checkpoint"
        )
    return "; ".join(filter(None, (begin.exactness.reason, used.difference)))
