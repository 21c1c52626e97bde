"""One frame of a recorded run: its arrays by name, and when it was."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.frames import SceneRecord, Segment
from stroboscope.engine.row_layout import WIDTHS

__all__ = ["Frame"]

Array = NDArray[np.float64]


class Frame(Mapping[str, Array]):
    """The state just before a physics step, and the inputs of that step, as arrays by name.

    ``frame["qpos"]`` or ``frame.qpos``: float64 copies in MuJoCo's shapes (``xfrc_applied`` (nbody,
    6), ``mocap_pos`` (nmocap, 3), …); what the model does not have is not there. ``index``: its
    number in the file. ``time`` [s], ``timestep`` [s] of the step that begins there. ``axis``:
    physics steps ever taken; ``physics_step``, ``step_count``: within the episode. ``note``: how it
    was had, empty where it was stored, "verified" where it was simulated again to the last bit.
    """

    __slots__ = (
        "_columns",
        "_row",
        "axis",
        "episode",
        "index",
        "is_last",
        "note",
        "physics_step",
        "step_count",
        "time",
        "timestep",
        "wall",
    )

    def __init__(
        self,
        row: Array,
        record: SceneRecord,
        *,
        index: int,
        axis: int,
        timestep: float,
        wall: int,
        episode: int,
        physics_step: int,
        step_count: int,
        is_last: bool,
        note: str,
    ) -> None:
        self._row = row
        self._columns = {each.name: each for each in record.columns}
        self.index, self.axis, self.note = index, axis, note
        self.time, self.timestep, self.wall = float(row[0]), timestep, wall
        self.episode, self.physics_step, self.step_count = episode, physics_step, step_count
        self.is_last = is_last
        """Whether the file ends here: no step is known to have begun."""

    @property
    def columns(self) -> tuple[Segment, ...]:
        """Where its arrays stand in :attr:`row`, in that order."""
        return tuple(self._columns.values())

    @property
    def row(self) -> Array:
        """All of it: ``mjSTATE_INTEGRATION``, (width,)."""
        return self._row

    def __getitem__(self, name: str) -> Array:
        """Return a copy of an array."""
        column = self._columns[name]
        values: Array = self._row[column.begin : column.begin + column.count].copy()
        width = WIDTHS.get(name)
        return values if width is None else values.reshape(-1, width)

    def __getattr__(self, name: str) -> Array:
        """Return a copy of an array; AttributeError says which there are."""
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"a frame of this file has no {name!r}: it has {', '.join(self)}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        """Go through the names of its arrays."""
        return iter(self._columns)

    def __len__(self) -> int:
        """Return how many arrays it has."""
        return len(self._columns)

    def __repr__(self) -> str:
        """Say when it is of."""
        return (
            f"Frame({self.index}: {self.time:g} s, physics step {self.physics_step} of episode "
            f"{self.episode})"
        )
