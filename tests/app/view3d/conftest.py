"""Small scenes made by hand, and pixels of what a real window draws of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from front_view import looking
from numpy.typing import NDArray

from stroboscope.debugger_protocol.scene_description import (
    BodyInfo,
    GeomInfo,
    GeomType,
    SceneDescription,
)

RED = (0.9, 0.1, 0.1, 1.0)
GREEN = (0.1, 0.8, 0.1, 1.0)
BLUE = (0.1, 0.2, 0.9, 1.0)


@pytest.fixture
def scene() -> SceneDescription:
    """A red box at x = -1, a green ball at x = 0, a blue capsule at x = 1, on a plane."""
    return SceneDescription(
        scene_id=1,
        name="three shapes",
        bodies=(
            BodyInfo(name="world", parent=0),
            BodyInfo(name="box", parent=0, mass=1.0),
            BodyInfo(name="ball", parent=0, mass=1.0),
            BodyInfo(name="capsule", parent=2, mass=3.0),
        ),
        geoms=(
            GeomInfo(name="floor", body=0, type=GeomType.PLANE, size=(0.0, 0.0, 0.1)),
            GeomInfo(name="box", body=1, type=GeomType.BOX, size=(0.3, 0.3, 0.3), rgba=RED),
            GeomInfo(name="ball", body=2, type=GeomType.SPHERE, size=(0.3, 0.0, 0.0), rgba=GREEN),
            GeomInfo(
                name="capsule", body=3, type=GeomType.CAPSULE, size=(0.2, 0.3, 0.0), rgba=BLUE
            ),
        ),
    )


@pytest.fixture
def poses() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """xpos (4, 3) and xquat (4, 4) of that scene."""
    xpos = np.array([[0.0, 0.0, 0.0], [-1.0, 0.0, 0.3], [0.0, 0.0, 0.3], [1.0, 0.0, 0.5]])
    return xpos, np.tile([1.0, 0.0, 0.0, 0.0], (4, 1))


@pytest.fixture
def viewport(
    qapp: Any, show: Callable[..., Any], scene: SceneDescription, poses: tuple[Any, Any]
) -> Any:
    """A shown viewport (640x480, dark) with the three shapes, plain quality, no decoration."""
    from stroboscope.app.models.view_options import Quality, ViewOptions
    from stroboscope.app.view3d.viewport import Viewport
    from stroboscope.resources.themes import DARK

    view = Viewport(DARK)
    view.options = ViewOptions(quality=Quality.LOW, triad=False)
    view.set_description(scene, {})
    view.set_poses(*poses)
    show(view, 640, 480)
    return view


@pytest.fixture
def front(viewport: Any) -> Any:
    """That viewport, seen from the front and above."""
    viewport.set_camera(looking())
    return viewport


@pytest.fixture
def pixels() -> Callable[[Any], NDArray[np.float64]]:
    """``pixels(viewport)``: the picture as (height, width, 3) in 0…1."""

    def read(view: Any) -> NDArray[np.float64]:
        image = view.grab_image().convertToFormat(image_format())
        data = np.frombuffer(image.constBits(), dtype=np.uint8)
        data = data.reshape(image.height(), image.bytesPerLine())[:, : 3 * image.width()]
        return data.reshape(image.height(), image.width(), 3) / 255.0

    return read


def image_format() -> Any:
    from PySide6.QtGui import QImage

    return QImage.Format.Format_RGB888


@pytest.fixture
def at(pixels: Callable[[Any], NDArray[np.float64]]) -> Callable[[Any, Any], NDArray[np.float64]]:
    """``at(viewport, point)``: the mean colour (3,) of 3x3 pixels where a world point appears."""

    def read(view: Any, point: Any) -> NDArray[np.float64]:
        picture = pixels(view)
        height, width, _ = picture.shape
        x, y, _ = view.view().project(np.array(point), width=width, height=height)[0]
        return picture[int(y) - 1 : int(y) + 2, int(x) - 1 : int(x) + 2].mean(axis=(0, 1))

    return read
