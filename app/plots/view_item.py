"""An item of a plot that is drawn over all of what is in view."""

import pyqtgraph as pg
from PySide6.QtCore import QRectF

__all__ = ["ViewItem"]


class ViewItem(pg.GraphicsObject):  # type: ignore[misc]  # pyqtgraph has no types
    """Its rectangle is the visible one; subclasses paint."""

    def __init__(self) -> None:
        super().__init__()
        self._bounds = QRectF()

    def viewRangeChanged(self) -> None:
        """Cover the whole view again."""
        view = self.view_in_data()
        if view is not None and view != self._bounds:
            self.prepareGeometryChange()
            self._bounds = view
        self.update()

    def view_in_data(self) -> QRectF | None:
        """Return what is visible, in the units of the axes; None outside a plot."""
        # Not the item's own viewRect(): it goes by matrices that lag behind the range.
        box = self.getViewBox()
        return QRectF(box.viewRect()) if box is not None else None

    def boundingRect(self) -> QRectF:
        """The visible rectangle: nothing outside it is drawn."""
        return QRectF(self._bounds)
