"""One frame of a recorded run: its arrays by name, and when it was."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.frames import SceneRecord, Segment
from stroboscope.engine.row_layout import WIDTHS
from stroboscope.engine.trajectory.lookup import known_names, no_such_name

__all__ = ["Frame"]

Array = NDArray[np.float64]

# What parts of a state are called in MuJoCo's data, where that is something else.
_NAMES_IN_DATA = {"qacc_warmstart": "warmstart", "plugin_state": "plugin"}


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
        """Return a copy of an array; NoSuchNameError says which there are."""
        columns = self._columns
        column = columns.get(_NAMES_IN_DATA.get(name, name)) if isinstance(name, str) else None
        if column is None:
            raise no_such_name(name, "a frame of this file has no array", columns)
        values: Array = self._row[column.begin : column.begin + column.count].copy()
        width = WIDTHS.get(name)
        return values if width is None or column.count % width else values.reshape(-1, width)

    def __getattr__(self, name: str) -> Array:
        """Return a copy of an array; AttributeError says which there are."""
        # Names with a line in front are Python's own: it asks for them before there is anything.
        if name.startswith("_") or _NAMES_IN_DATA.get(name, name) not in self._columns:
            has = "" if name.startswith("_") else f": it has {known_names(self)}"
            raise AttributeError(f"a frame of this file has no {name!r}{has}")
        return self[name]

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
