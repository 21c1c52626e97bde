"""A recorded scene whose model can't be built here: what was recorded for other tools is shown.

A backend without an engine: it stands at the last pose, and its history are the poses before.
"""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NoReturn

import numpy as np

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.backend import Clock, SceneBackend, TopicFrames
from stroboscope.debugger_protocol.exceptions import CommandError, SceneClosedError
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.time_machine import HistoryState, PastFrame, TimeMachine
from stroboscope.debugger_protocol.time_messages import (
    ConditionInfo,
    GhostRef,
    Goto,
    Reduction,
    RolloutInfo,
    Segment,
    SegmentKind,
    StatesCompared,
    StopReason,
    WhatIf,
)
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine import debugger
from stroboscope.engine.errors import EngineError
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.files.frames import SceneRecord
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.scene_names import scene_names
from stroboscope.engine.runtime import current_runtime
from stroboscope.engine.showing.no_display import require_display
from stroboscope.engine.trajectory.recorded_transforms import RecordedTransforms

__all__ = ["ShownTransforms", "TransformsBackend", "show_transforms"]

_ONLY: Final = "only recorded transforms are shown: the scene has no model here"
_ENDS: Final = "the recorded transforms end here, and can't be simulated on: look back instead"
# How often a scene that nobody controls looks whether somebody wants something [s].
_LOOK_S: Final = 0.05


class TransformsBackend(SceneBackend):
    """Shows poses that were recorded; each counts as one step, as the steps between are not there.

    ``why``: what keeps the model from being built.
    """

    def __init__(self, transforms: RecordedTransforms, *, source: str, why: str) -> None:
        self._transforms = transforms
        self._source = source
        self.note = (
            f"{_ONLY} ({why}). They were taken now and then: a step here is one of them, and "
            "nothing can be simulated, plotted or computed"
        )
        self._machine = _TransformsMachine(self, transforms, source)

    def describe(self, scene_id: int, name: str) -> SceneDescription:
        """Return bodies and shapes as they were recorded for other tools."""
        return self._transforms.describe(scene_id, name, source=self._source, note=self.note)

    def asset(self, digest: str) -> bytes | None:
        """Return a mesh."""
        return self._transforms.asset(digest)

    def clock_of(self, number: int) -> Clock:
        """Return where a pose is."""
        return Clock(float(self._transforms.times[number]), number, number, number, number)

    def clock(self) -> Clock:
        """Return where the last pose is."""
        return self.clock_of(len(self._transforms) - 1)

    def frames_of(self, number: int, topics: frozenset[Topic]) -> TopicFrames:
        """Return the topics of a pose, which is all that there is."""
        if Topic.POSE not in topics:
            return TopicFrames({})
        return TopicFrames({Topic.POSE: self._transforms.pose(number)})

    def frame_now(self, topics: frozenset[Topic]) -> TopicFrames:
        """Return the last pose."""
        return self.frames_of(len(self._transforms) - 1, topics)

    def time_machine(self) -> TimeMachine:
        """Return the poses before."""
        return self._machine


class _TransformsMachine(TimeMachine):
    """Poses by number; whatever needs a model is a CommandError."""

    def __init__(self, backend: TransformsBackend, poses: RecordedTransforms, source: str) -> None:
        self._backend = backend
        self._poses = poses
        self._source = source
        self._segments = (
            Segment(
                segment_id=0,
                kind=SegmentKind.BEGIN,
                begin=0,
                episode=0,
                time=float(poses.times[0]),
                text=_ONLY,
            ),
        )

    def history(self) -> HistoryState:
        """Return which poses there are."""
        live = len(self._poses) - 1
        return HistoryState(
            keeps=True,
            live=live,
            first=0,
            dense=0,
            rows=live,
            used_bytes=0,
            max_bytes=0,
            segments=self._segments,
            recording=self._source,
            recording_end=live,
        )

    def set_history(self, *, keep: bool, max_bytes: int | None) -> None:
        """Nothing: the history is the file."""

    def find(
        self,
        *,
        step: int | None = None,
        time: float | None = None,
        episode: int | None = None,
        near: int,
    ) -> int:
        """Return the pose that a Goto means: the nearest one."""
        if step is not None:
            return self._within(step)
        if time is not None:
            return int(np.argmin(np.abs(self._poses.times - time)))
        return 0 if episode is not None else self._within(near)

    def steps_away(self, axis: int, count: int, *, physics: bool) -> int:
        """Return the pose ``count`` after ``axis``."""
        return self._within(axis + count)

    def steps_between(self, axis: int, live: int) -> int:
        """Return how many poses lie between two."""
        return live - axis

    def look_at(self, axis: int, topics: frozenset[Topic]) -> PastFrame:
        """Return a pose."""
        number = self._within(axis)
        return PastFrame(
            clock=self._backend.clock_of(number),
            frames=self._backend.frames_of(number, topics),
            note="a recorded transform",
        )

    def _within(self, axis: int) -> int:
        return min(max(axis, 0), len(self._poses) - 1)

    # --- what needs a model

    def _refuse(self) -> NoReturn:
        raise CommandError(_ONLY)

    def continue_from(self, axis: int) -> Segment:
        """Refuse."""
        self._refuse()

    def replay_from(self, axis: int) -> Iterator[float]:
        """Refuse."""
        self._refuse()

    def resimulate(
        self, axis: int, *, steps: int, edits: Sequence[WhatIf], name: str
    ) -> Iterator[float]:
        """Refuse."""
        self._refuse()

    def rollouts(self) -> tuple[RolloutInfo, ...]:
        """Return none."""
        return ()

    def drop_rollout(self, rollout_id: int) -> None:
        """Refuse."""
        self._refuse()

    def ghost_pose(self, ghost: GhostRef, *, time: float) -> Arrays:
        """Refuse."""
        self._refuse()

    def compare(self, first: GhostRef, second: GhostRef, *, tolerance: float) -> StatesCompared:
        """Refuse."""
        self._refuse()

    def read_rows(
        self, rollout_id: int, channels: Sequence[str], *, first: int, last: int, max_rows: int
    ) -> Iterator[Arrays]:
        """Refuse."""
        self._refuse()

    def derive(
        self, rollout_ids: Sequence[int], expression: str, *, reduction: Reduction, name: str
    ) -> Iterator[object]:
        """Refuse."""
        self._refuse()

    def set_stop_rules(self, off: Sequence[StopReason]) -> None:
        """Nothing: nothing stops."""

    def conditions(self) -> tuple[ConditionInfo, ...]:
        """Return none."""
        return ()

    def put_condition(self, condition: ConditionInfo) -> ConditionInfo:
        """Refuse."""
        self._refuse()

    def remove_condition(self, condition_id: int) -> None:
        """Refuse."""
        self._refuse()


class ShownTransforms:
    """One such scene in the debugger; on the thread that made it."""

    def __init__(self, reader: TrajectoryReader, record: SceneRecord, why: EngineError) -> None:
        wrong = why.wrong if isinstance(why, FileError) else str(why)
        transforms, name = RecordedTransforms(reader, record), scene_names(reader)[record.index]
        self._backend = TransformsBackend(transforms, source=reader.path.name, why=wrong)
        self._link = current_runtime().host.open_scene(name, self._backend)
        self._over = threading.Event()

    def begin(self) -> None:
        """Say what is shown, and show the first pose."""
        link = self._link
        link.log_text(LogLevel.WARNING, self._backend.note)
        with contextlib.suppress(CommandError):
            current_runtime().host.travel(Goto(id=0, scene_id=link.scene_id, axis=0))

    def serve(self) -> None:
        """Let the debugger look, until it has gone."""
        with contextlib.suppress(SceneClosedError):
            while debugger.is_attached():
                self._link.park_at_end(_ENDS)
                self._link.serve()
                self._over.wait(_LOOK_S)

    def end(self) -> None:
        """Close the scene."""
        self._over.set()
        self._link.close()


def show_transforms(
    path: Path, why: EngineError, *, first: int, launch: bool, timeout_seconds: float
) -> bool:
    """Show the transforms of all scenes of a file until the window has gone; False: no window.

    ``first``: the scene to begin with. Raises ``why``, which keeps its model from being built,
    where the file has none.
    """
    shown: list[ShownTransforms] = []
    try:
        with TrajectoryReader(path) as reader:
            for index in sorted(reader.scenes, key=lambda each: each != first):
                with contextlib.suppress(FileError):  # none of that scene
                    shown.append(ShownTransforms(reader, reader.scene(index), why))
        if not shown:
            raise why
        if not debugger.attach(timeout_seconds, launch=launch):
            if launch:
                require_display(path, asks=True)
            return False
        for each in shown:
            each.begin()
        shown[0].serve()
    finally:
        for each in shown:
            each.end()
    return True
