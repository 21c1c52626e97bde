"""The part of the 3D view that makes pictures to keep, and measures what is in them."""

import contextlib
import dataclasses
from collections.abc import Generator, Iterator

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.drawing import still_frame
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.overlays.picture import OverlayPicture
from stroboscope.app.view3d.pointing import PointingWidget
from stroboscope.app.view3d.renderer import Frame
from stroboscope.app.view3d.still import Still, write_over
from stroboscope.resources.themes import Palette

__all__ = ["PictureWidget"]

# Four floats each, on the card and here.
MOST_MEASURED = 4096 * 4096


class PictureWidget(PointingWidget):
    """A widget whose surface, once there is one, draws pictures of any size for others.

    Whoever draws it says with ``_make_frame`` and ``_overlay_picture`` what is on show.
    """

    def __init__(
        self,
        parent: QWidget | None = None,
        *,
        palette: Palette,
        scene: DrawnScene | None = None,
    ) -> None:
        super().__init__(parent, scene=scene)
        self._palette = palette
        self._refined = False

    def _make_frame(self) -> Frame:
        """Return what the next picture is to show."""
        raise NotImplementedError

    def _overlay_picture(self) -> OverlayPicture | None:
        """Return what is drawn over the scene, None for nothing."""
        raise NotImplementedError

    def grab_image(self) -> QImage:
        """Return the picture without labels, drawn for this call; null without OpenGL."""
        return self._surface.picture() if self._surface is not None else QImage()

    def still(self, still: Still) -> QImage:
        """Return a picture to keep, drawn for this call; null without OpenGL.

        Raises ValueError, with a sentence, for a size that can't be drawn.
        """
        if self._surface is None:
            return QImage()
        with self._dressed_for(still):
            image = self._surface.picture(
                size=still.size or self.pixels, transparent=still.transparent, fine=still.fine
            )
            picture, view = self._overlay_picture(), self.view()
        self._write_over(image, picture, view)
        return image

    def still_in_bands(self, still: Still) -> Generator[float, None, QImage]:
        """Draw the same picture bit by bit; yield how much of it is there, 0…1, return it.

        It shows what the view does when it is begun. Raises what :meth:`still` does, and
        PictureLost, with a sentence, when that is gone before the picture is finished.
        """
        surface = self._surface
        if surface is None:
            return QImage()
        surface.drawing.scene.finish_building()
        with self._dressed_for(still):
            frame = still_frame(
                self._make_frame(),
                size=still.size or self.pixels,
                transparent=still.transparent,
                fine=still.fine,
            )
        image = yield from surface.picture_in_bands(frame)
        self._write_over(image, frame.overlays, frame.view)
        return image

    def measure(self, size: tuple[int, int] | None = None) -> dict[str, NDArray[np.generic]]:
        """Return what the pixels of a picture of ``size`` (width, height) show; {} without OpenGL.

        ``depth`` (h, w) float32 [m] along the view's axis, inf for nothing; ``geom``, ``site``,
        ``flex``, ``skin``, ``tendon`` (h, w) int32 indices, -1 for another kind or nothing. Raises
        ValueError, with a sentence, for a size that can't be drawn.
        """
        width, height = size or self.pixels
        if width * height > MOST_MEASURED:
            raise ValueError(
                f"{width} × {height} pixels are to be measured; at most {MOST_MEASURED:,} are"
            )
        if self._surface is None:
            return {}
        found = self._surface.measure(size=(width, height))
        return {} if found is None else found.arrays(self._scene.items)

    @contextlib.contextmanager
    def _dressed_for(self, still: Still) -> Iterator[None]:
        """Show for a moment what a picture shall show."""
        before = self._options, self._selection, self._refined
        self._options = still.options(self._options)
        self._refined = self._refined and still.fine
        if not still.overlays:
            self._selection = None
        try:
            yield
        finally:
            self._options, self._selection, self._refined = before

    def _write_over(self, image: QImage, picture: OverlayPicture | None, view: View) -> None:
        if not image.isNull():
            write_over(
                image,
                picture=picture,
                view=dataclasses.replace(view, aspect=image.width() / image.height()),
                palette=self._palette,
                scale=image.height() / max(self.height(), 1),
            )

    @property
    def pixels(self) -> tuple[int, int]:
        """How many pixels of the screen the picture has, (width, height)."""
        ratio = self.devicePixelRatioF()
        return max(round(self.width() * ratio), 1), max(round(self.height() * ratio), 1)
