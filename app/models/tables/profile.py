"""Where the time of a physics step goes, and how long steps take."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import number_text, with_unit
from stroboscope.app.models.tables.table import Cells, Column, ColumnKind, Table, texts_of
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = [
    "PublishingCost",
    "StagePart",
    "StageTable",
    "StepTimes",
    "duration_text",
    "step_times",
]

# MuJoCo's timers: each is a part of the one named.
_PARENTS = {
    "forward": "step",
    "inverse": "step",
    "advance": "step",
    "position": "forward",
    "velocity": "forward",
    "actuation": "forward",
    "constraint": "forward",
    "pos_kinematics": "position",
    "pos_inertia": "position",
    "pos_collision": "position",
    "pos_make": "position",
    "pos_project": "position",
    "col_broad": "pos_collision",
    "col_narrow": "pos_collision",
}
_WORDS = {
    "pos_kinematics": "kinematics",
    "pos_inertia": "inertia",
    "pos_collision": "collision",
    "pos_make": "make constraints",
    "pos_project": "project constraints",
    "col_broad": "broad phase",
    "col_narrow": "narrow phase",
    "constraint": "constraint solver",
    "advance": "integrate",
}
# What the stacked bar shows, in this order; the rest of the step is one part more.
_PARTS = (
    "pos_kinematics",
    "pos_inertia",
    "pos_collision",
    "pos_make",
    "pos_project",
    "velocity",
    "actuation",
    "constraint",
    "advance",
)
_INDENT = "\u2003"
_NO_TIMERS = "this engine counts its stages without timing them"
_COLUMNS = (
    Column(key="name", title="stage", kind=ColumnKind.TEXT, sample="project constraints"),
    Column(key="time", title="time", unit="µs", decimals=2, sample="00000.00"),
    Column(
        key="share",
        title="part",
        unit="%",
        kind=ColumnKind.BAR,
        decimals=1,
        sample="100.0 all",
        tip="Of the whole step.",
    ),
)


def duration_text(seconds: float) -> str:
    """Return a duration in the unit it is read best in."""
    if seconds < 1e-3:
        return with_unit(number_text(1e6 * seconds, 1), "µs")
    if seconds < 1.0:
        return with_unit(number_text(1e3 * seconds, 2), "ms")
    return with_unit(number_text(seconds, 2), "s")


@dataclasses.dataclass(frozen=True, slots=True)
class StagePart:
    """One piece of the stacked bar: ``seconds`` per physics step, ``part`` of it 0 … 1."""

    name: str
    seconds: float
    part: float


class PublishingCost:
    """What publishing takes per physics step [s], over all steps that were looked at."""

    def __init__(self) -> None:
        self._axis: int | None = None
        self._steps = 0
        self._publish = 0.0
        self._step = 0.0

    def take(self, axis: int, *, publish: float | None, step: float | None) -> None:
        """Add the means of the steps since the last call; ``axis``: physics steps ever taken."""
        if publish is None or step is None or not np.isfinite(publish):
            return
        steps = 1 if self._axis is None else axis - self._axis
        if steps > 0:
            self._axis = axis
            self._steps += steps
            self._publish += steps * publish
            self._step += steps * step

    @property
    def text(self) -> str:
        """One line; empty before the first step."""
        if not self._steps:
            return ""
        share = with_unit(number_text(100.0 * self._publish / self._step, 1), "%")
        mean = duration_text(self._publish / self._steps)
        return f"publishing {mean} per step, {share} of a step's own time"


class StageTable:
    """Stages of one description, as a tree; ``parts`` and ``publish`` [s] are of the instant."""

    topics = (Topic.TIMING,)
    optional: tuple[Topic, ...] = ()

    def __init__(self, description: SceneDescription) -> None:
        stages = description.timer_stages
        self._stages = stages
        self._order = _tree_order(stages)
        self._names = [_INDENT * _depth(stages[n], stages) + _word(stages[n]) for n in self._order]
        self.parts: tuple[StagePart, ...] = ()
        self.step: float | None = None
        self.publish: float | None = None

    def table(self, frames: FrameSet | None) -> Table:
        """Return all stages at the instant of ``frames``."""
        duration = frames.array(Topic.TIMING, "duration") if frames is not None else None
        publish = frames.array(Topic.TIMING, "publish") if frames is not None else None
        self.publish = None if publish is None or not publish.size else float(publish[0])
        count = len(self._order)
        values = np.full(count, np.nan)
        if duration is not None and duration.size >= len(self._stages):
            values = duration[self._order]
        whole = _of(self._stages, duration, "step")
        self.step = whole if np.isfinite(whole) and whole > 0.0 else None
        self.parts = self._split(duration)
        known = np.isfinite(values)
        share = 100.0 * values / self.step if self.step is not None else np.full(count, np.nan)
        cells = {
            "name": texts_of(self._names),
            "time": Cells(numbers=1e6 * values, present=known, absent=_NO_TIMERS),
            "share": Cells(numbers=share, present=np.isfinite(share), absent=_NO_TIMERS),
        }
        return Table(columns=_COLUMNS, cells=cells, keys=[self._stages[n] for n in self._order])

    def _split(self, duration: NDArray[np.float64] | None) -> tuple[StagePart, ...]:
        whole = self.step
        if whole is None:
            return ()
        parts = []
        for stage in _PARTS:
            seconds = _of(self._stages, duration, stage)
            if np.isfinite(seconds) and seconds > 0.0:
                parts.append(StagePart(_word(stage), seconds, seconds / whole))
        rest = whole - sum(part.seconds for part in parts)
        if rest > 0.0:
            parts.append(StagePart("other", rest, rest / whole))
        return tuple(parts)


def _word(stage: str) -> str:
    return _WORDS.get(stage, stage.replace("_", " "))


def _of(stages: tuple[str, ...], duration: NDArray[np.float64] | None, stage: str) -> float:
    if duration is None or stage not in stages or stages.index(stage) >= duration.size:
        return float("nan")
    return float(duration[stages.index(stage)])


def _depth(stage: str, stages: tuple[str, ...]) -> int:
    parent = _PARENTS.get(stage)
    return 0 if parent is None or parent not in stages else 1 + _depth(parent, stages)


def _tree_order(stages: tuple[str, ...]) -> list[int]:
    """Return the stages so that parts follow what they are part of."""
    order: list[int] = []

    def add(parent: str | None) -> None:
        for n, stage in enumerate(stages):
            known = _PARENTS.get(stage)
            if (known if known in stages else None) == parent:
                order.append(n)
                add(stage)

    add(None)
    return order


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """How long the last ``count`` physics steps took [s]; ``bins`` counts up to ``top``.

    The last bin also holds everything longer.
    """

    count: int
    p50: float
    p95: float
    longest: float
    top: float
    bins: NDArray[np.int64]

    @property
    def text(self) -> str:
        """One line."""
        p50, p95, longest = (duration_text(v) for v in (self.p50, self.p95, self.longest))
        return f"p50 {p50} · p95 {p95} · max {longest}"


def step_times(seconds: NDArray[np.float64], *, bins: int = 48) -> StepTimes | None:
    """Return the distribution of step durations (n,), None without any."""
    known = seconds[np.isfinite(seconds) & (seconds > 0.0)]
    if not known.size:
        return None
    p50, p95, p99 = np.percentile(known, (50, 95, 99))
    top = max(float(p99) * 1.25, float(p50) * 2.0)
    counts, _ = np.histogram(np.minimum(known, top), bins=bins, range=(0.0, top))
    return StepTimes(
        count=int(known.size),
        p50=float(p50),
        p95=float(p95),
        longest=float(known.max()),
        top=top,
        bins=counts.astype(np.int64),
    )
