"""The constraint solver in words: how many iterations, how well it converged, what to do."""

import dataclasses

import numpy as np

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.tables.options import option_value
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["SolverSummary", "solver_summary"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SolverSummary:
    """The islands of one instant. ``limit`` None: the engine did not say."""

    islands: int
    iterations: int
    limit: int | None
    improvement: float | None
    gradient: float | None
    hit_limit: int = 0

    @property
    def text(self) -> str:
        """One line."""
        if not self.islands:
            return "No constraints at this instant: nothing to solve."
        of = f" of {self.limit}" if self.limit is not None else ""
        parts = [f"{self.iterations} iteration{'s' * (self.iterations != 1)}{of}"]
        if self.islands > 1:
            parts[0] = f"{self.islands} islands, the slowest {parts[0]}"
        if self.improvement is not None:
            parts.append(f"last improvement {_small(self.improvement)}")
        if self.gradient is not None:
            parts.append(f"gradient {_small(self.gradient)}")
        return " · ".join(parts)

    @property
    def texts(self) -> tuple[str, ...]:
        """The same for a line that says whose it is, then shorter ones for less room."""
        if not self.islands:
            return (self.text,)
        of = f" of {self.limit}" if self.limit is not None else ""
        count = f"Solver: {self.iterations}{of} iterations"
        gradient = f" · gradient {_small(self.gradient)}" if self.gradient is not None else ""
        return (f"Solver: {self.text}", f"{count}{gradient}", count)

    @property
    def warning(self) -> str:
        """What is wrong and what to try, empty: nothing."""
        if not self.hit_limit:
            return ""
        where = "" if self.islands == 1 else f" in {self.hit_limit} of {self.islands} islands"
        return (
            f"The solver hit its limit of {self.limit} iterations in this step{where}: forces are "
            "not converged. Try more iterations, the Newton solver, or softer constraints (solref)."
        )


def _small(value: float) -> str:
    return f"{value:.1e}".replace("-", "−")


def solver_summary(d: SceneDescription, frames: FrameSet | None) -> SolverSummary | None:
    """Return what the solver did at an instant, None: not known."""
    iterations = frames.array(Topic.SOLVER, "niter") if frames is not None else None
    if frames is None or iterations is None:
        return None
    allowed = option_value(d, frames, "iterations")
    limit = None if allowed is None else int(allowed)
    hit = 0 if limit is None else int((iterations >= limit).sum())
    slowest = int(iterations.argmax()) if iterations.size else 0
    return SolverSummary(
        islands=int(iterations.size),
        iterations=int(iterations.max(initial=0)),
        limit=limit,
        improvement=_last(frames, "improvement", slowest, int(iterations.max(initial=0))),
        gradient=_last(frames, "gradient", slowest, int(iterations.max(initial=0))),
        hit_limit=hit,
    )


def _last(frames: FrameSet, name: str, island: int, iterations: int) -> float | None:
    table = frames.array(Topic.SOLVER, name)
    if table is None or table.ndim != 2 or island >= len(table) or not iterations:
        return None
    kept = table[island, :iterations]
    return float(kept[-1]) if kept.size and np.isfinite(kept[-1]) else None
