"""Physics steps to pixels and back, and round numbers for the ruler."""

import dataclasses
import math

__all__ = ["AxisScale"]


@dataclasses.dataclass(frozen=True, slots=True)
class AxisScale:
    """The axis from ``start`` to ``end`` over ``width`` pixels, from ``left`` on."""

    start: float
    end: float
    width: float
    left: float = 0.0

    @property
    def per_step(self) -> float:
        """Pixels per physics step."""
        return self.width / max(self.end - self.start, 1e-9)

    def x(self, axis: float) -> float:
        """Return where an axis is [px]."""
        return self.left + (axis - self.start) * self.per_step

    def axis(self, x: float) -> float:
        """Return which axis is at a place [px]."""
        return self.start + (x - self.left) / self.per_step

    def ticks(self, spacing_px: float) -> list[int]:
        """Return the multiples in sight of a round number, at least ``spacing_px`` apart."""
        least = max(spacing_px / self.per_step, 1.0)
        power = 10.0 ** math.floor(math.log10(least))
        step = int(next(power * n for n in (1.0, 2.0, 5.0, 10.0) if power * n >= least * 0.999))
        step = max(step, 1)
        first = max(math.ceil(self.start / step), 0)
        return [n * step for n in range(first, math.floor(self.end / step) + 1)]
