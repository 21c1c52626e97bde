"""Signals made of another one, row by row: derivative, moving average, low-pass filter.

A derived signal is a channel like any other. Its name says how it is made, so that layouts can
remember it: ``~lowpass 0.05 qpos``. Expressions, which the engine evaluates, begin with ``=``.
"""

import dataclasses
import enum
import itertools
import math

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.numbers import with_unit
from stroboscope.debugger_protocol.expressions.units import divide
from stroboscope.debugger_protocol.scene_description import ChannelInfo

__all__ = ["Derivation", "DerivedKind", "DerivedRows", "derivation_of", "sources_of"]

_MARK = "~"
_MAX_DEPTH = 4


class DerivedKind(enum.StrEnum):
    """How a signal is made of another."""

    DERIVATIVE = "derivative"
    """Difference to the row before, over the time between [unit/s]."""
    AVERAGE = "average"
    """Mean of the rows of the last ``parameter`` seconds."""
    LOWPASS = "lowpass"
    """First-order filter with the time constant ``parameter`` [s]."""


@dataclasses.dataclass(frozen=True, slots=True)
class Derivation:
    """How a channel is made of ``source``; ``parameter`` [s] is 0 where there is none."""

    kind: DerivedKind
    source: str
    parameter: float = 0.0

    @property
    def name(self) -> str:
        """The channel's name."""
        return f"{_MARK}{self.kind.value} {self.parameter:g} {self.source}"

    def info(self, source: ChannelInfo) -> ChannelInfo:
        """Return the channel, made of the source's."""
        if self.kind is not DerivedKind.DERIVATIVE:
            return ChannelInfo(
                name=self.name,
                width=source.width,
                names=source.names,
                unit=source.unit,
                units=source.units,
                kind=source.kind,
            )
        return ChannelInfo(
            name=self.name,
            width=source.width,
            names=source.names,
            unit=divide(source.unit, "s") or "",
            units=tuple(divide(unit, "s") or "" for unit in source.units),
            kind=source.kind,
        )

    def label(self, source: str) -> str:
        """Return what is shown for a signal made of the one labelled ``source``."""
        if self.kind is DerivedKind.DERIVATIVE:
            return f"d/dt {source}"
        word = {DerivedKind.AVERAGE: "mean", DerivedKind.LOWPASS: "low-pass"}[self.kind]
        return f"{word} {with_unit(f'{1e3 * self.parameter:g}', 'ms')} {source}"


def derivation_of(channel: str) -> Derivation | None:
    """Return how a channel is derived, None when it is not."""
    if not channel.startswith(_MARK):
        return None
    kind, _, rest = channel.removeprefix(_MARK).partition(" ")
    parameter, _, source = rest.partition(" ")
    try:
        value = float(parameter)
        found = Derivation(DerivedKind(kind), source, value)
    except ValueError:
        return None
    return found if source and math.isfinite(value) and value >= 0.0 else None


def sources_of(channel: str) -> tuple[str, ...]:
    """Return the channels that one is made of, the scene's own first, itself last."""
    chain = [channel]
    while (derivation := derivation_of(chain[0])) is not None and len(chain) <= _MAX_DEPTH:
        chain.insert(0, derivation.source)
    return tuple(chain)


class DerivedRows:
    """Makes the rows of a derived channel as those of its source come; starts anew at breaks."""

    def __init__(self, derivation: Derivation) -> None:
        self._kind = derivation.kind
        self._parameter = derivation.parameter
        self._segment: int | None = None
        # The end of what came so far, in the present segment: what the next rows depend on.
        self._time = np.empty(0)
        self._values = np.empty((0, 0))

    def compute(
        self,
        time: NDArray[np.float64],
        values: NDArray[np.float64],
        segment: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return (n, width) for the source's rows ``values``; ``segment`` (n,) as elsewhere."""
        result = np.empty_like(values)
        bounds = [0, *(np.flatnonzero(np.diff(segment)) + 1).tolist(), len(time)]
        for start, end in itertools.pairwise(bounds):
            if end <= start:
                continue
            if self._segment != int(segment[start]):
                self._segment = int(segment[start])
                self._time, self._values = np.empty(0), np.empty((0, values.shape[1]))
            result[start:end] = self._run(time[start:end], values[start:end])
        return result

    def _run(self, time: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        match self._kind:
            case DerivedKind.DERIVATIVE:
                return self._derivative(time, values)
            case DerivedKind.AVERAGE:
                return self._average(time, values)
            case DerivedKind.LOWPASS:
                return self._lowpass(time, values)

    def _derivative(
        self, time: NDArray[np.float64], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        known = len(self._time)
        all_time = np.concatenate((self._time, time))
        all_values = np.concatenate((self._values, values))
        self._time, self._values = all_time[-1:], all_values[-1:]
        with np.errstate(all="ignore"):
            rate = np.diff(all_values, axis=0) / np.diff(all_time)[:, None]
        rate[~np.isfinite(rate)] = math.nan
        # The first row of a segment has nothing before it.
        return rate if known else np.concatenate((np.full((1, values.shape[1]), math.nan), rate))

    def _average(
        self, time: NDArray[np.float64], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        known = len(self._time)
        all_time = np.concatenate((self._time, time))
        all_values = np.concatenate((self._values, values))
        finite = np.isfinite(all_values)
        zero = np.zeros((1, values.shape[1]))
        sums = np.concatenate((zero, np.cumsum(np.where(finite, all_values, 0.0), axis=0)))
        counts = np.concatenate((zero, np.cumsum(finite, axis=0)))
        # A row exactly one window back is out; rounding of times must not decide it.
        begin = np.searchsorted(all_time, time - self._parameter * (1.0 - 1e-9), "right")
        ends = known + 1 + np.arange(len(time))
        begin = np.minimum(begin, ends - 1)
        with np.errstate(all="ignore"):
            mean: NDArray[np.float64] = (sums[ends] - sums[begin]) / (counts[ends] - counts[begin])
        first = int(begin[-1])
        self._time, self._values = all_time[first:].copy(), all_values[first:].copy()
        return mean

    def _lowpass(
        self, time: NDArray[np.float64], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return y += (x − y)·(1 − exp(−dt/τ)): exact for an input that is held between rows."""
        known = len(self._time) > 0
        steps = np.diff(time, prepend=self._time[-1] if known else time[0])
        gain = 1.0 - np.exp(-np.maximum(steps, 0.0) / max(self._parameter, 1e-12))
        result = np.empty_like(values)
        # The state stands in ``_values``; a NaN is passed on and forgotten.
        state = self._values[-1].copy() if known else values[0].copy()
        for row in range(len(values)):
            state = np.where(np.isfinite(state), state, values[row])
            state = state + gain[row] * (values[row] - state)
            result[row] = state
        self._time, self._values = time[-1:].copy(), state[None, :]
        return result
