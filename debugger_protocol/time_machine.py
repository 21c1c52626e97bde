"""The backend contract of time travel: history, branches, rollouts, stops, environments.

One :class:`TimeMachine` per scene whose engine remembers. All methods run on the scene's owner
thread between physics steps, while the scene stands still unless it says otherwise; what is wrong
is a CommandError. Axes and rows: see :mod:`~.time_messages`.
"""

import abc
import dataclasses
from collections.abc import Iterator, Sequence

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.backend import Clock, TopicFrames
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.recording_messages import RecordingInfo
from stroboscope.debugger_protocol.time_messages import (
    ConditionInfo,
    GhostRef,
    Reduction,
    RolloutInfo,
    Segment,
    StatesCompared,
    StopReason,
    WhatIf,
)
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["FinishedRun", "HistoryState", "Keeper", "PastFrame", "TimeMachine"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HistoryState:
    """What is remembered at this moment; ``live`` is the axis of the step that would come next."""

    keeps: bool
    live: int
    first: int
    dense: int
    rows: int
    used_bytes: int
    max_bytes: int
    segments: tuple[Segment, ...]
    script_state: bool = False
    """Whether the script has registered state of its own."""
    recording: str = ""
    """The name of the file that rows before ``recording_end`` come from; empty: of none."""
    recording_end: int = 0

    @property
    def is_at_recorded_end(self) -> bool:
        """Whether the scene stands at the last frame of its file, and nothing was begun there."""
        begun = self.segments[-1].begin if self.segments else -1
        return bool(self.recording) and self.live == self.recording_end > begun


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PastFrame:
    """A row looked at: where it is, its topics, and how it was had (empty: a stored row)."""

    clock: Clock
    frames: TopicFrames
    note: str = ""


class FinishedRun(abc.ABC):
    """What is left of a scene that has ended; read-only, on any thread, one at a time."""

    info: RolloutInfo
    """``rollout_id`` is 0: the host numbers them."""
    nbytes: int

    @abc.abstractmethod
    def read_rows(
        self, channels: Sequence[str], *, first: int, last: int, max_rows: int
    ) -> Iterator[Arrays]:
        """Yield rows as :meth:`TimeMachine.read_rows` does."""

    def derive(self, expression: str, *, reduction: Reduction, name: str) -> Iterator[object]:
        """Return what computes a number, and adds it to ``info``; as :meth:`TimeMachine.derive`."""
        raise CommandError("this scene's engine computes no numbers of rollouts")


class Keeper(abc.ABC):
    """What the host keeps for all scenes; whatever is not there is a CommandError."""

    @abc.abstractmethod
    def checkpoint(self, ghost: GhostRef) -> bytes:
        """Return the state of a checkpoint of any scene, as ``capture_initial`` made it."""

    @abc.abstractmethod
    def row(self, ghost: GhostRef) -> bytes:
        """Return a row of another scene of this thread, as its ``state_at`` makes it."""

    @abc.abstractmethod
    def finished(self, rollout_id: int) -> FinishedRun:
        """Return what is left of a scene that has ended: references with ``scene_id`` 0."""


class TimeMachine(abc.ABC):
    """What an engine remembers of one scene, and what it can do with that."""

    keeper: Keeper | None = None
    """Set by the host before it asks for anything."""

    # --- history; reading it is allowed while the scene runs

    @abc.abstractmethod
    def history(self) -> HistoryState:
        """Return what there is; costs next to nothing, called ten times a second."""

    @abc.abstractmethod
    def set_history(self, *, keep: bool, max_bytes: int | None) -> None:
        """Keep rows from now on or forget them all."""

    @abc.abstractmethod
    def find(
        self,
        *,
        step: int | None = None,
        time: float | None = None,
        episode: int | None = None,
        near: int,
    ) -> int:
        """Return the axis that a Goto means; ``near`` is the one in view, or the live one."""

    def recorded_at(self, axis: int) -> int:
        """Return ``axis``, or the row before it where that one was not recorded."""
        return axis

    @abc.abstractmethod
    def steps_away(self, axis: int, count: int, *, physics: bool) -> int:
        """Return the axis ``count`` application (``physics``: physics) steps after ``axis``.

        Negative counts go back. Stays within what there is; the live axis is the last.
        """

    @abc.abstractmethod
    def steps_between(self, axis: int, live: int) -> int:
        """Return how many application steps lie between two axes."""

    @abc.abstractmethod
    def look_at(self, axis: int, topics: frozenset[Topic]) -> PastFrame:
        """Return the topics of a row, recomputed on scratch data; nothing of the scene changes."""

    def state_at(self, axis: int) -> bytes:
        """Return the complete state of a row, as ``capture_initial`` would have made it there."""
        raise CommandError("this scene's engine can't make a checkpoint of the past: go live first")

    # --- branches

    @abc.abstractmethod
    def continue_from(self, axis: int) -> Segment:
        """Put the scene into a row, script state included where it was registered; a branch."""

    @abc.abstractmethod
    def replay_from(self, axis: int) -> Iterator[float]:
        """Put the scene into a row and run the recorded inputs up to where it stood.

        Yields progress, 0 to 1; closed early, the scene is where it was.
        """

    @abc.abstractmethod
    def resimulate(
        self, axis: int, *, steps: int, edits: Sequence[WhatIf], name: str
    ) -> Iterator[float]:
        """Run recorded inputs again with edits, beside the scene; the newest rollout is the result.

        Yields progress, 0 to 1; closed early, there is no rollout.
        """

    # --- rollouts

    @abc.abstractmethod
    def rollouts(self) -> tuple[RolloutInfo, ...]:
        """Return all of them, oldest first; the same object while nothing changed."""

    @abc.abstractmethod
    def drop_rollout(self, rollout_id: int) -> None:
        """Forget a rollout."""

    @abc.abstractmethod
    def ghost_pose(self, ghost: GhostRef, *, time: float) -> Arrays:
        """Return ``xpos`` (nbody, 3), ``xquat`` (nbody, 4), ``time`` (1,) of a ghost.

        Rollouts stand at ``time`` [s], the time in view; the others have their own. Checkpoints,
        rows of other scenes and finished scenes (``scene_id`` 0) come from :attr:`keeper`; what is
        of another model is a CommandError that says how it differs.
        """

    @abc.abstractmethod
    def compare(self, first: GhostRef, second: GhostRef, *, tolerance: float) -> StatesCompared:
        """Compare two states or rollouts; ``id`` and ``scene_id`` are 0."""

    @abc.abstractmethod
    def read_rows(
        self, rollout_id: int, channels: Sequence[str], *, first: int, last: int, max_rows: int
    ) -> Iterator[Arrays]:
        """Yield ``axis`` (n,), ``time`` (n,), ``values`` (n, width) in pieces of about a MiB.

        ``widths`` (nchannels,) in each piece says how many columns are whose. ``last`` counts; of
        rollouts both are steps, which ``axis`` then is. Raises CommandError for other channels.
        """

    def derive(
        self, rollout_ids: Sequence[int], expression: str, *, reduction: Reduction, name: str
    ) -> Iterator[object]:
        """Return what computes a number of rollouts (none: of all), and adds it to theirs.

        Run on another thread, a little with each step; what it reads is prepared here.
        """
        raise CommandError("this scene's engine computes no numbers of rollouts")

    def finish(self) -> Sequence[FinishedRun]:
        """Return what stays when the scene is closed, oldest first; called once, at its end.

        On the owner thread, or on any when that has ended.
        """
        return ()

    # --- stops

    @abc.abstractmethod
    def set_stop_rules(self, off: Sequence[StopReason]) -> None:
        """Switch rules off, all others on; allowed while the scene runs."""

    @abc.abstractmethod
    def conditions(self) -> tuple[ConditionInfo, ...]:
        """Return all conditions, oldest first; the same object while nothing changed."""

    @abc.abstractmethod
    def put_condition(self, condition: ConditionInfo) -> ConditionInfo:
        """Add a condition (id 0) or replace the one with its id; allowed while the scene runs."""

    def condition_note(self, condition_id: int) -> str:
        """Return what whoever has set a condition should know: that it is true already; or ""."""
        return ""

    @abc.abstractmethod
    def remove_condition(self, condition_id: int) -> None:
        """Forget a condition; allowed while the scene runs."""

    # --- environments

    def environment_count(self) -> int:
        """Return how many environments there are; 0 for a scene without."""
        return 0

    def select_environments(  # noqa: B027 - optional to implement
        self, selected: int, shown: Sequence[int]
    ) -> None:
        """Make ``selected`` the one that topics are of, and ``shown`` those of ``environments``."""

    def selected_environments(self) -> tuple[int, tuple[int, ...]] | None:
        """Return the selected one and those shown; None: as they were selected last.

        An engine that selects by itself, for instance the one that a scene has stopped for.
        """
        return None

    def failed_environments(self) -> tuple[int, ...]:
        """Return those that stopped since their last reset."""
        return ()

    def fork(self, source: int, targets: Sequence[int]) -> None:  # noqa: B027 - optional
        """Copy the state of one environment to others."""

    # --- recording; none where the engine records nothing; also while the scene runs

    def start_recording(self, name: str, *, mode: str) -> str:
        """Record the scene from its next physics step on; return the file."""
        raise CommandError("this scene's engine records nothing")

    def stop_recording(self, name: str = "") -> str:
        """End the newest recording, or the one into ``name``; return the file: it is complete."""
        raise CommandError("this scene's engine records nothing")

    def save_history(self, name: str) -> str:
        """Write what is remembered into a file; return it."""
        raise CommandError("this scene's engine saves nothing")

    def recordings(self) -> tuple[RecordingInfo, ...]:
        """Return what records the scene, oldest first; asked ten times a second."""
        return ()
