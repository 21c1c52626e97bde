"""Who takes the rows of a history while they are written."""

from typing import TYPE_CHECKING, Protocol

from stroboscope.engine.history.block import Block

if TYPE_CHECKING:
    from stroboscope.engine.history.ring import RowRing

__all__ = ["RowTap"]


class RowTap(Protocol):
    """Somebody who takes the rows while they are written; called by the owner.

    Rows that are counted stay as they are, and may be read on any thread, as long as the tap is
    among the ``users`` of their block.
    """

    def opened(self, ring: "RowRing", block: Block, *, at: int) -> None:
        """Hear that rows go into ``block`` from its place ``at`` on."""

    def sealed(self, block: Block) -> None:
        """Hear that ``block.count`` rows are in it, and none will follow."""
