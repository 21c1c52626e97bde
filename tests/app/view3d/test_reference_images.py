"""Whole pictures of small scenes, pixel by pixel against those that a person has looked at.

``packaging/reference_pictures.py --references`` draws them anew; look at them before you commit.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reference_scenes import SCENES
from reference_window import open_viewport

REFERENCES = Path(__file__).parent / "reference"
SIZE = (320, 240)
# Other versions of Mesa round elsewhere and place edges half a pixel off.
MEAN_ERROR = 0.006
LARGE, LARGE_SHARE = 0.12, 0.01


def pixels(image: Any) -> NDArray[np.float64]:
    from PySide6.QtGui import QImage

    image = image.convertToFormat(QImage.Format.Format_RGB888)
    data = np.frombuffer(image.constBits(), dtype=np.uint8)
    rows = data.reshape(image.height(), image.bytesPerLine())[:, : 3 * image.width()]
    return rows.reshape(image.height(), image.width(), 3) / 255.0


def reference(name: str) -> NDArray[np.float64]:
    from PySide6.QtGui import QImage

    return pixels(QImage(str(REFERENCES / (name.replace(" ", "_") + ".png"))))


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_looks_as_in_its_reference_picture(
    name: str, qapp: Any, show: Any, tmp_path: Path
) -> None:
    view = open_viewport(name)
    if not view.on_software:
        pytest.skip("the references are drawn in software")
    show(view, *SIZE)
    image = view._surface.picture(size=SIZE)
    found, expected = pixels(image), reference(name)
    error = np.abs(found - expected).max(axis=2)
    image.save(str(tmp_path / "found.png"))
    assert error.mean() < MEAN_ERROR, f"see {tmp_path / 'found.png'}"
    assert (error > LARGE).mean() < LARGE_SHARE, f"see {tmp_path / 'found.png'}"


def test_the_references_show_different_things() -> None:
    pictures = {name: reference(name) for name in SCENES}
    names = list(pictures)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            assert np.abs(pictures[one] - pictures[other]).mean() > 2 * MEAN_ERROR


def test_a_ghost_moves_the_picture_only_where_it_stands(qapp: Any, show: Any) -> None:
    view = open_viewport("ghost")
    show(view, *SIZE)
    with_ghost = pixels(view._surface.picture(size=SIZE))
    view._scene.set_ghost(None, None)
    without = pixels(view._surface.picture(size=SIZE))
    changed = np.abs(with_ghost - without).max(axis=2) > 0.05
    assert 0.01 < changed.mean() < 0.2
    blue = with_ghost[changed][:, 2] - with_ghost[changed][:, 0]
    assert (blue > 0.0).mean() > 0.9


def test_a_ghost_on_top_of_the_scene_is_not_drawn(qapp: Any, show: Any) -> None:
    view = open_viewport("ghost")
    show(view, *SIZE)
    view._scene.set_ghost(None, None)
    without = pixels(view._surface.picture(size=SIZE))
    scene = view._scene
    view._scene.set_ghost(scene.body_pos, np.tile([1.0, 0.0, 0.0, 0.0], (len(scene.body_pos), 1)))
    assert np.abs(pixels(view._surface.picture(size=SIZE)) - without).max() < 0.02


def test_a_transparent_picture_has_the_model_and_nothing_else(qapp: Any, show: Any) -> None:
    from PySide6.QtGui import QImage

    view = open_viewport("shapes")
    show(view, *SIZE)
    image = view._surface.picture(size=(640, 480), transparent=True)
    assert (image.width(), image.height()) == (640, 480)
    image = image.convertToFormat(QImage.Format.Format_RGBA8888)
    data = np.frombuffer(image.constBits(), dtype=np.uint8).reshape(480, 640, 4)
    assert data[5, 5, 3] == 0
    assert data[-5, 5, 3] == 0
    assert 0.03 < (data[..., 3] == 255).mean() < 0.4


def test_a_picture_of_impossible_size_is_refused_with_the_limit(qapp: Any, show: Any) -> None:
    view = open_viewport("shapes")
    show(view, *SIZE)
    with pytest.raises(ValueError, match="8192"):
        view._surface.picture(size=(100_000, 10))
