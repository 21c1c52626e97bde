"""What a view shows, as numbers that can be compared."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["image_pixels", "view_pixels"]


def view_pixels(view: Any) -> NDArray[np.int16]:
    """Return the picture of a view, (height, width, 3) 0…255, red first, drawn for this call.

    Always as moving pictures are drawn: where the processor draws, what has stood still for half a
    second is on show in a finer one, and has other edges. Two of the same scene would differ by
    nothing but how long a slow machine took between them. Without names and axes: the same letter
    is painted by Qt with other edges when it is painted again.
    """
    from stroboscope.app.view3d.still import Still

    with view._dressed_for(Still(fine=False)):
        return image_pixels(view.grab_image())


def image_pixels(image: Any) -> NDArray[np.int16]:
    """Return a QImage as (height, width, 3) 0…255, red first."""
    from PySide6.QtGui import QImage

    assert not image.isNull()
    image = image.convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    pixels = rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3)
    return pixels.astype(np.int16)
