"""The backend contract: what an engine implements so that its scenes can be debugged.

One :class:`SceneBackend` per scene. The host calls ``describe`` and ``asset`` on its server
thread, which may only read what does not change; every other method on the scene's owner thread,
between physics steps, except that ``clock`` may also be read by the server thread while the owner
is outside a step. Only ``describe``, ``clock`` and ``frame_now`` are needed to be looked at
and paused; the others make a scene restorable, plottable and editable.
"""

import abc
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.edit_messages import EditField, Finding, Perturb
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.scene_description import OptionInfo, SceneDescription
from stroboscope.debugger_protocol.topics import Topic

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.time_machine import TimeMachine

__all__ = ["Clock", "SceneBackend", "SignalSource", "Stayed", "TopicFrames"]


class Clock(msgspec.Struct, frozen=True, gc=False):
    """Where a scene stands. The first three are part of its state and go back on a restore.

    A msgspec struct because one is made for every physics step while signals are plotted.
    """

    time: float
    """Simulation time [s]."""
    step_count: int
    """Application steps within the state."""
    physics_step_count: int
    """Physics steps within the state."""
    total_steps: int
    """Application steps ever taken; never falls."""
    axis: int
    """Physics steps ever taken; never falls."""


@dataclasses.dataclass(frozen=True, slots=True)
class TopicFrames:
    """Fresh copies of the arrays of each topic asked for, and what the numbers can't say."""

    arrays: Mapping[Topic, Arrays]
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Stayed:
    """What of a model a restore has left as it is, though it was something else then.

    ``text``: "timestep stays 0.001 s: it was 0.002 s then". ``option``: which one it is, where it
    is one, and ``then`` its values.
    """

    text: str
    option: str = ""
    then: tuple[float, ...] = ()


WriteRow = Callable[[int], None]
"""Writes part of the row with this number."""


class SignalSource(abc.ABC):
    """Writes the channels of one subscription, row by row, without allocating.

    ``width`` is the number of float64 per row; ``columns`` says where each channel stands.
    """

    width: int
    columns: Mapping[str, slice]

    @abc.abstractmethod
    def before(self, row: NDArray[np.float64]) -> None:
        """Write the inputs of the coming physics step into ``row``, shape (width,)."""

    @abc.abstractmethod
    def after(self, row: NDArray[np.float64]) -> None:
        """Write what the physics step has computed into the same ``row``."""

    def writers(self, rows: NDArray[np.float64]) -> tuple[WriteRow, WriteRow]:
        """Return what does the same for row number ``slot`` of ``rows``, (n, width).

        Asked for once, so that what is needed at every step can be prepared.
        """
        views = list(rows)
        return (lambda slot: self.before(views[slot])), (lambda slot: self.after(views[slot]))


class SceneBackend(abc.ABC):
    """One scene of some engine, as the host sees it."""

    steps_on_all_cores = False
    """Whether its physics steps run on native threads that wait while the owner does else."""

    @abc.abstractmethod
    def describe(self, scene_id: int, name: str) -> SceneDescription:
        """Return the description; called on the server thread, must not touch dynamic state."""

    @abc.abstractmethod
    def clock(self) -> Clock:
        """Return where the scene stands; reads a few numbers and must cost next to nothing.

        Also called on the server thread, but only while the owner can't start a physics step.
        """

    @abc.abstractmethod
    def frame_now(self, topics: frozenset[Topic]) -> TopicFrames:
        """Return the topics for the state as it stands, recomputed without changing the run."""

    def asset(self, digest: str) -> bytes | None:
        """Return an asset of the description by content, or None; on the server thread."""
        return None

    def begin_frame(self, topics: frozenset[Topic]) -> None:  # noqa: B027 - optional to implement
        """Remember the inputs of the coming physics step for :meth:`end_frame`."""

    def end_frame(self, topics: frozenset[Topic]) -> TopicFrames:
        """Return the executed frame of the physics step since :meth:`begin_frame`."""
        return self.frame_now(topics)

    def frame_last_executed(self, topics: frozenset[Topic]) -> tuple[Clock, TopicFrames] | None:
        """Return the executed frame of the last physics step, made anew, and where it began.

        For a scene that comes to a stop after a step that nobody had asked the frame of. None when
        it can't be made exactly.
        """
        return None

    def signal_source(self, channels: Sequence[str]) -> SignalSource:
        """Return a writer for engine channels; raises CommandError for unknown names.

        A name that begins with "=" is an expression, see :mod:`~.expressions`; an engine that does
        not evaluate them refuses it like an unknown name.
        """
        raise CommandError("this scene has no channels to plot")

    def capture_initial(self) -> bytes:
        """Return the complete state; empty when the scene can't be restored."""
        return b""

    def capture_checkpoint(self, name: str) -> bytes:
        """Return the complete state for somebody to keep: :meth:`restore_initial` takes it, too."""
        return self.capture_initial()

    def checkpoint_kept(self, name: str, note: str) -> None:  # noqa: B027 - few record that
        """Hear that a client keeps the state that the scene stands at, under a name."""

    def stayed(self, state: bytes) -> tuple[Stayed, ...] | None:
        """Return what of the model is not as it was when a state that was restored was captured.

        None: this engine does not compare models.
        """
        return None

    def restore_initial(self, state: bytes) -> None:
        """Put the scene back to ``state``, all of it or nothing (CommandError)."""
        raise CommandError("this scene can't be restored: its engine offers no capture")

    def exactness(self) -> str:
        """Return why a captured state may not continue bit for bit; empty when it does."""
        return ""

    def edit_state(self, field: EditField, index: int, values: Sequence[float]) -> None:
        """Write into a state array, all of it or nothing (CommandError)."""
        raise CommandError("this scene can't be edited: its engine offers no way to")

    # --- what clients do beside the script; owner thread, between physics steps, all or nothing

    def perturb(self, perturbation: Perturb | None) -> None:
        """Pull a body from the next physics step on, or let go of it (None)."""
        raise CommandError("this scene can't be perturbed: its engine offers no way to")

    def override_control(self, index: int, value: float | None) -> None:
        """Use ``value`` for one control whatever the script writes; None gives it back."""
        raise CommandError("controls of this scene can't be overridden")

    def set_control_noise(self, std: float, rate: float) -> None:
        """Add noise to the controls: ``std`` of their range, correlated over ``rate`` [s]."""
        raise CommandError("this scene has no control noise")

    def release_interventions(self) -> None:  # noqa: B027 - optional to implement
        """End perturbation, overrides and noise: the client that wanted them has gone."""

    def intervene(self) -> None:  # noqa: B027 - optional to implement
        """Put perturbation, overrides and noise in place for the step that follows at once.

        Called in the gate, before the step's inputs are copied for frames and signals, and only
        while there is something to put in place. The engine takes it back after the step.
        """

    def time_machine(self) -> "TimeMachine | None":
        """Return what remembers this scene's past; None when the engine can't."""
        return None

    def keep_alive(self, *, wanted: bool) -> None:  # noqa: B027 - optional to implement
        """Keep what the script may drop as long as the scene, or let it; any thread."""

    def label(self, kind: str, index: int) -> tuple[str, str]:
        """Return what people call an element (``body``, …) or a value of a state array; its unit.

        ``kind`` is the description's word or that of an :class:`EditField`.
        """
        return f"{kind}[{index}]", ""

    def option_info(self, name: str) -> OptionInfo:
        """Return one of the description's options."""
        raise CommandError(f"this scene has no option {name!r}")

    def option(self, name: str) -> tuple[float, ...]:
        """Return the values of one of the description's options."""
        raise CommandError(f"this scene has no option {name!r}")

    def edit_option(self, name: str, values: Sequence[float]) -> None:
        """Set one of the description's options."""
        raise CommandError(f"this scene has no option {name!r} that can be edited")

    def load_keyframe(self, index: int) -> None:
        """Reset the scene to a keyframe of its model."""
        raise CommandError("this scene has no keyframes")

    def state_values(self, field: EditField, index: int, count: int) -> tuple[float, ...]:
        """Return part of a state array: what an edit is about to replace."""
        raise CommandError("this scene can't be edited: its engine offers no way to")

    def findings(self) -> tuple[Finding, ...]:
        """Return what usually is a mistake in the model and the state as it stands."""
        return ()

    def on_mode(self, event: str) -> None:  # noqa: B027 - optional to implement
        """Run the script's ``on_play`` / ``on_pause`` / ``on_restore`` callbacks (event names)."""
