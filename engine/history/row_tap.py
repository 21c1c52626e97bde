"""Who takes the rows of a history while they are written, and hears what else is recorded."""

from typing import TYPE_CHECKING, Protocol

from stroboscope.engine.history.block import Block

if TYPE_CHECKING:
    from stroboscope.engine.history.ring import RowRing
    from stroboscope.engine.history.segments import Stretch
    from stroboscope.engine.world import World

__all__ = ["HistoryTap", "RowTap", "SyncTap"]


class RowTap(Protocol):
    """Somebody who takes the rows while they are written; called by the owner.

    Rows that are counted stay as they are, and may be read on any thread, as long as the tap is
    among the ``users`` of their block.
    """

    def opened(self, ring: "RowRing", block: Block, *, at: int) -> None:
        """Hear that rows go into ``block`` from its place ``at`` on."""

    def sealed(self, block: Block) -> None:
        """Hear that ``block.count`` rows are in it, and none will follow."""


class HistoryTap(RowTap, Protocol):
    """Somebody who records what a scene does; called by its owner."""

    def began(self, stretch: "Stretch") -> None:
        """Hear that the state was replaced, and another segment begins with the next row."""

    def slept(self, axis: int, hidden: bytes) -> None:
        """Hear what the row of ``axis``, which comes next, does not hold."""

    def leaving(self, world: "World") -> None:
        """Hear that the scene gets another model, and stands in ``world`` for the last time."""

    def entered(self) -> None:
        """Hear that it has the other model: rows are of another kind from now on."""


class SyncTap(Protocol):
    """Somebody who also records what ``sync()`` sees; called by the scene's owner."""

    def synced(self) -> None:
        """Hear that the script has stepped by itself to where the scene stands now."""
