"""Pictures to keep: at any size, with or without what is drawn and written over the scene."""

import dataclasses

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage, QPainter, QRegion
from PySide6.QtWidgets import QWidget

from stroboscope.app.models.overlays import OVERLAYS, OverlayGroup
from stroboscope.app.models.view_options import FrameMode, LabelMode, ViewOptions
from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.environment_numbers import numbers_of
from stroboscope.app.view3d.labels import LabelOverlay, labels_of
from stroboscope.app.view3d.overlays.legend import LegendOverlay, legend_rows
from stroboscope.app.view3d.overlays.picture import OverlayPicture
from stroboscope.resources.themes import Palette

__all__ = ["Still", "write_over"]

# Overlays that are part of the model: a picture without overlays still has them.
_OF_THE_MODEL = frozenset({"tendons"})
_NONE_OF_THEM: dict[str, object] = {
    each.name: False
    for each in OVERLAYS
    if each.group is not OverlayGroup.PICTURE and each.name not in _OF_THE_MODEL
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Still:
    """How a picture is wanted: ``size`` (width, height) [px], None for that of the view.

    ``transparent`` leaves everything out but the model and what stands over it. Without ``fine``
    it is drawn as moving pictures are, in a fraction of the time.
    """

    size: tuple[int, int] | None = None
    transparent: bool = False
    overlays: bool = True
    labels: bool = True
    legend: bool = True
    fine: bool = True

    def options(self, options: ViewOptions) -> ViewOptions:
        """Return what is drawn in this picture where ``options`` is what the view draws."""
        changes: dict[str, object] = {}
        if not self.overlays:
            changes |= _NONE_OF_THEM | {"frames": FrameMode.NONE, "legend": False, "triad": False}
            changes["environment_marks"] = False
        if not self.labels:
            changes["labels"] = LabelMode.NONE
            changes["environment_marks"] = False
        if not self.legend:
            changes["legend"] = False
        if self.transparent:
            changes["triad"] = False
        return dataclasses.replace(options, **changes)  # type: ignore[arg-type]


def write_over(
    image: QImage, *, picture: OverlayPicture | None, view: View, palette: Palette, scale: float
) -> None:
    """Paint labels, legend and the triad's letters into ``image``, as they stand in the view.

    ``scale`` is how many of its pixels are one logical pixel; letters are as sharp as it is.
    """
    if picture is None:
        return
    paper = QWidget()
    paper.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
    paper.resize(round(image.width() / scale), round(image.height() / scale))
    options = picture.subject.options
    legend = LegendOverlay(palette, paper)
    legend.show_rows(legend_rows(picture, view) if options.legend else ())
    words = LabelOverlay(paper)
    words.setGeometry(paper.rect())
    words.set_bright(palette.name == "light")
    size = (float(paper.width()), float(paper.height()))
    labels, missing = labels_of(picture, view=view, size=size)
    words.show_labels(
        labels,
        missing=missing,
        numbers=numbers_of(picture, view=view, size=size),
        triad=view if options.triad else None,
        kept_free=None if legend.isHidden() else legend.geometry(),
    )
    painter = QPainter(image)
    painter.scale(image.width() / paper.width(), image.height() / paper.height())
    paper.render(painter, QPoint(), QRegion(), QWidget.RenderFlag.DrawChildren)
    painter.end()
    paper.deleteLater()
