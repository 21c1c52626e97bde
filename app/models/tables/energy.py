"""The table of energy and momenta, with how far they have gone since a moment that is kept."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import number_text
from stroboscope.app.models.tables.table import Cells, Column, ColumnKind, Table, texts_of
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["EnergyStart", "EnergyTable"]

_XYZ = tuple(enumerate("xyz"))
# Name, array, component and unit of each row; the total is the sum of the first two.
_ROWS: tuple[tuple[str, str, int, str], ...] = (
    ("potential energy", "potential", 0, "J"),
    ("kinetic energy", "kinetic", 0, "J"),
    ("total energy", "", 0, "J"),
    *((f"momentum {axis}", "momentum", n, "kg·m/s") for n, axis in _XYZ),
    *((f"angular momentum {axis}", "angular_momentum", n, "kg·m²/s") for n, axis in _XYZ),
    *((f"centre of mass {axis}", "com", n, "m") for n, axis in _XYZ),
)
_COLUMNS = (
    Column(key="name", title="quantity", kind=ColumnKind.TEXT, sample="angular momentum x"),
    Column(key="value", title="value", decimals=4, sample="−000000.0000 kg·m²/s"),
    Column(
        key="drift",
        title="since start",
        decimals=4,
        sample="−000000.0000 kg·m²/s",
        tip="Difference from the start that is named above.",
    ),
    Column(key="part", title="drift", unit="%", sample="−0000.000"),
)


@dataclasses.dataclass(frozen=True, slots=True)
class EnergyStart:
    """What drift is measured from."""

    step: int
    time: float
    values: NDArray[np.float64]

    @property
    def text(self) -> str:
        """The moment in words."""
        return f"drift since t {number_text(self.time)} s"


class EnergyTable:
    """Keeps the first instant it saw; ``reset`` starts again from the next one."""

    topics = (Topic.ENERGY,)
    optional: tuple[Topic, ...] = ()

    def __init__(self, description: SceneDescription) -> None:
        self._names = [name for name, *_ in _ROWS]
        self._units = [unit for *_, unit in _ROWS]
        self.start: EnergyStart | None = None

    def reset(self) -> None:
        """Measure drift from the next instant on."""
        self.start = None

    def table(self, frames: FrameSet | None) -> Table:
        """Return all rows at the instant of ``frames``."""
        values = self._values(frames)
        if frames is not None and np.isfinite(values).any():
            start = self.start
            # Further back than from NOW to the last executed step: the scene was put back.
            if start is None or frames.step < start.step - 1:
                self.start = EnergyStart(frames.step, frames.time, values)
        start = self.start
        drift = values - start.values if start is not None else np.full(len(values), np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = 100.0 * drift / np.abs(start.values) if start is not None else drift
        known, measured = np.isfinite(values), np.isfinite(drift)
        # A part of nothing says nothing; of a place neither.
        relative = measured & np.isfinite(part) & (np.arange(len(values)) < 3)
        cells = {
            "name": texts_of(self._names),
            "value": Cells(
                numbers=values,
                present=known,
                absent="not computed for this instant",
                units=self._units,
            ),
            "drift": Cells(numbers=drift, present=measured, units=self._units),
            "part": Cells(numbers=part, present=relative, absent="its start was 0"),
        }
        return Table(columns=_COLUMNS, cells=cells, keys=self._names)

    def _values(self, frames: FrameSet | None) -> NDArray[np.float64]:
        values = np.full(len(_ROWS), np.nan)
        for n, (_, name, component, _) in enumerate(_ROWS):
            array = frames.array(Topic.ENERGY, name) if frames is not None and name else None
            if array is not None and component < array.size:
                values[n] = array.reshape(-1)[component]
        values[2] = values[0] + values[1]
        return values
