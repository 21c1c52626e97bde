"""The translucent others of one scene: checkpoints, rows, rollouts, environments."""

from typing import TYPE_CHECKING, Final

import numpy as np

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import GhostRef, GhostSource, SceneGhosts

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.time_desk import TimeDesk

__all__ = ["MAX_GHOSTS", "Ghosts"]

MAX_GHOSTS: Final = 16

# These stand still whatever time it is.
_FIXED = frozenset({GhostSource.CHECKPOINT, GhostSource.ROW})


class Ghosts:
    """What ShowGhosts asked for in one scene, and its poses at any time; owner thread only.

    ``told`` is what clients are told, replaced by reference: any thread may read it.
    """

    def __init__(self, desk: "TimeDesk", scene_id: int) -> None:
        self.told = SceneGhosts(scene_id=scene_id)
        self._desk = desk
        self._fixed: dict[GhostRef, Arrays] = {}

    def show(self, ghosts: tuple[GhostRef, ...], *, time: float) -> None:
        """Show these from now on, all of them or, with a CommandError, those of before."""
        if len(ghosts) > MAX_GHOSTS:
            raise CommandError(f"at most {MAX_GHOSTS} ghosts can be shown, got {len(ghosts)}")
        poses = {ghost: self._desk.ghost_pose(ghost, time=time) for ghost in ghosts}
        if len({pose["xpos"].shape for pose in poses.values()}) > 1:
            raise CommandError("these ghosts have other numbers of bodies: of one model, please")
        self._fixed = {ghost: pose for ghost, pose in poses.items() if ghost.source in _FIXED}
        self._tell(ghosts)

    def clear(self) -> None:
        """Show none: the model is another one."""
        self._fixed = {}
        self._tell(())

    def _tell(self, ghosts: tuple[GhostRef, ...]) -> None:
        if ghosts != self.told.ghosts:
            self.told = SceneGhosts(scene_id=self.told.scene_id, ghosts=ghosts)

    def arrays(self, time: float) -> tuple[Arrays, tuple[str, ...]]:
        """Return the topic at ``time`` [s], and why some can't be shown."""
        poses: list[Arrays] = []
        numbers: list[int] = []
        notes: list[str] = []
        for number, ghost in enumerate(self.told.ghosts):
            try:
                poses.append(self._pose(ghost, time))
                numbers.append(number)
            except CommandError as error:
                notes.append(f"ghost {number}: {error}")
        if not poses:
            return _NONE, tuple(notes)
        arrays: Arrays = {
            "xpos": np.stack([pose["xpos"] for pose in poses]),
            "xquat": np.stack([pose["xquat"] for pose in poses]),
            "time": np.concatenate([pose["time"] for pose in poses]),
            "number": np.array(numbers, dtype=np.int32),
        }
        return arrays, tuple(notes)

    def _pose(self, ghost: GhostRef, time: float) -> Arrays:
        fixed = self._fixed.get(ghost)
        return self._desk.ghost_pose(ghost, time=time) if fixed is None else fixed


_NONE: Arrays = {
    "xpos": np.zeros((0, 0, 3)),
    "xquat": np.zeros((0, 0, 4)),
    "time": np.zeros(0),
    "number": np.zeros(0, dtype=np.int32),
}
