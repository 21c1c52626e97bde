"""Pictures to keep: at any size, see-through, without what stands over the scene."""

import dataclasses
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from samples import few

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import FrameMode, LabelMode, ViewOptions
from stroboscope.app.view3d.camera import CameraState
from stroboscope.app.view3d.drawing import PictureLost
from stroboscope.app.view3d.still import Still
from stroboscope.app.view3d.viewport import Viewport
from stroboscope.resources.themes import DARK

FRONT = CameraState(lookat=(0.0, 0.0, 0.3), distance=5.0, azimuth=90.0, elevation=-18.0)
BALL = (0.0, 0.0, 0.3)


def rgba(image: Any) -> NDArray[np.float64]:
    """Return an image as (height, width, 4), red first, 0…1."""
    from PySide6.QtGui import QImage

    image = image.convertToFormat(QImage.Format.Format_RGBA8888)
    data = np.frombuffer(image.constBits(), np.uint8)
    return data.reshape(image.height(), image.width(), 4) / 255.0


def color_at(view: Any, picture: NDArray[np.float64], point: Any) -> NDArray[np.float64]:
    height, width, _ = picture.shape
    seen = dataclasses.replace(view.view(), aspect=width / height)
    x, y, _ = seen.project(np.array(point), width=width, height=height)[0]
    return picture[int(y), int(x)]


@pytest.fixture
def dressed(viewport: Any) -> Any:
    """The three shapes with labels, axes and a selection over them."""
    viewport.set_camera(FRONT)
    viewport.options = dataclasses.replace(
        viewport.options, labels=LabelMode.BODY, frames=FrameMode.BODY
    )
    viewport.set_selection(Element(ElementKind.BODY, 2))
    return viewport


@pytest.mark.parametrize("size", [(960, 540), (200, 600)])
def test_a_picture_has_the_size_asked_for_and_shows_the_same(viewport: Any, size: Any) -> None:
    viewport.set_camera(FRONT)
    picture = rgba(viewport.still(Still(size=size)))
    assert picture.shape == (size[1], size[0], 4)
    red, green, blue, _ = color_at(viewport, picture, BALL)
    assert green > 2 * red
    assert green > 2 * blue
    assert (viewport.width(), viewport.height()) == (640, 480)


def test_transparent_is_the_model_on_nothing(viewport: Any) -> None:
    viewport.set_camera(FRONT)
    picture = rgba(viewport.still(Still(size=(640, 480), transparent=True)))
    assert color_at(viewport, picture, BALL)[3] == 1.0
    assert picture[2, 2, 3] == 0.0
    assert picture[-2, -2, 3] == 0.0


def test_labels_stand_in_a_picture_as_in_the_view_and_can_be_left_out(dressed: Any) -> None:
    still = Still(size=(1280, 960), fine=False)
    with_labels = rgba(dressed.still(still))
    without = rgba(dressed.still(dataclasses.replace(still, labels=False)))
    rows = np.nonzero(np.abs(with_labels - without).max(axis=2) > 0.05)[0]
    assert len(rows) > 1000, "no labels"
    bare = rgba(dressed.still(dataclasses.replace(still, overlays=False, labels=False)))
    x, y, _ = dressed.view().project(np.array(BALL), width=1280, height=960)[0]
    region = (slice(int(y) - 60, int(y) + 60), slice(int(x) - 60, int(x) + 60))
    assert np.abs(without[region] - bare[region]).max() > 0.2, "no axes to leave out"


def test_a_picture_leaves_the_view_as_it_was(dressed: Any, pixels: Any) -> None:
    before, options = pixels(dressed), dressed.options
    dressed.still(Still(size=(800, 200), transparent=True, overlays=False, labels=False))
    assert dressed.options is options
    assert np.abs(pixels(dressed) - before).max() < 0.02


def test_a_quick_picture_shows_the_same_in_less_detail(viewport: Any) -> None:
    viewport.set_camera(FRONT)
    quick = rgba(viewport.still(Still(size=(640, 480), fine=False)))
    fine = rgba(viewport.still(Still(size=(640, 480))))
    assert 0.0 < np.abs(quick - fine).mean() < 0.08


def test_what_is_too_large_is_refused_with_a_sentence(viewport: Any) -> None:
    with pytest.raises(ValueError, match="at most 8192 a side"):
        viewport.still(Still(size=(20_000, 100)))
    assert viewport.still(Still(size=(64, 64))).width() == 64


def test_two_views_of_one_scene_have_cameras_of_their_own(
    viewport: Any, poses: Any, show: Any, pixels: Any
) -> None:
    viewport.set_camera(FRONT)
    other = Viewport(DARK, leader=viewport)
    other.options = viewport.options
    other.set_camera(dataclasses.replace(FRONT, azimuth=0.0, elevation=-80.0))
    show(other, 320, 240)
    first, second = rgba(viewport.still(Still())), rgba(other.still(Still()))
    assert second.shape == (240, 320, 4)
    assert color_at(viewport, first, BALL)[1] > 0.3
    assert color_at(other, second, BALL)[1] > 0.3
    xpos = poses[0].copy()
    xpos[2] = (0.0, 0.0, 1.6)
    for view in (viewport, other):  # as the window tells them: the leader first
        view.set_poses(xpos, poses[1])
    moved = rgba(other.still(Still()))
    assert np.abs(moved - second).max() > 0.2
    hit = other.pick_at(*other.view().project(np.array(xpos[2]), width=320, height=240)[0][:2])
    assert hit.element == Element(ElementKind.GEOM, 2)
    other.close()
    assert np.abs(rgba(viewport.still(Still())) - first).max() > 0.2


def test_a_view_that_follows_learns_of_another_scene(viewport: Any, scene: Any, poses: Any) -> None:
    other = Viewport(DARK, leader=viewport)
    other.options = ViewOptions(triad=False)
    other.track_body(2)
    changed = msgspec.structs.replace(scene, scene_id=2, name="others")
    for view in (viewport, other):
        view.set_description(changed, {})
        view.set_poses(*poses)
    assert other.camera.tracked_body == -1
    assert other.description is changed
    other.close()
    other.deleteLater()


def in_bands(view: Any, still: Still) -> tuple[Any, list[float]]:
    """Return the picture drawn bit by bit, and what was told of its progress."""
    told = []
    work = view.still_in_bands(still)
    while True:
        try:
            told.append(next(work))
        except StopIteration as end:
            return end.value, told


@pytest.mark.parametrize("transparent", [False, True])
@pytest.mark.parametrize("size", few([(200, 1800), (640, 480), (2400, 480)], 1))
def test_a_picture_drawn_in_bands_is_the_same_to_the_last_bit(
    dressed: Any, size: Any, transparent: bool
) -> None:
    still = Still(size=size, transparent=transparent)
    at_once = rgba(dressed.still(still))
    image, told = in_bands(dressed, still)
    np.testing.assert_array_equal(rgba(image), at_once)
    assert told == sorted(told)
    assert told[-1] == 1.0
    if dressed.on_software:
        assert len(set(told)) > 2


def test_poses_that_come_while_a_picture_is_drawn_are_not_in_it(
    viewport: Any, poses: Any, qapp: Any, wait_until: Any
) -> None:
    viewport.set_camera(FRONT)
    still = Still(size=(640, 960))
    before = rgba(viewport.still(still))
    work = viewport.still_in_bands(still)
    next(work)
    xpos, xquat = poses
    viewport.set_poses(np.add(xpos, (0.0, 0.0, 0.4)), xquat)
    drawn = None
    while drawn is None:
        qapp.processEvents()
        try:
            next(work)
        except StopIteration as end:
            drawn = end.value
    if viewport.on_software:
        np.testing.assert_array_equal(rgba(drawn), before)
    frames = viewport.stats.frames
    wait_until(lambda: viewport.stats.frames > frames)  # what came meanwhile is shown now
    assert not np.array_equal(rgba(viewport.still(still)), before)


def test_a_picture_whose_scene_is_replaced_while_it_is_drawn_says_so(
    viewport: Any, scene: Any, poses: Any
) -> None:
    work = viewport.still_in_bands(Still(size=(640, 960)))
    next(work)
    viewport.set_description(msgspec.structs.replace(scene, scene_id=2, name="next"), {})
    viewport.set_poses(*poses)
    with pytest.raises(PictureLost, match="another scene"):
        list(work)
    assert not viewport.still(Still(size=(64, 64))).isNull()


def test_a_picture_whose_view_is_closed_while_it_is_drawn_says_so(viewport: Any, qapp: Any) -> None:
    from PySide6.QtCore import QEvent

    other = Viewport(DARK, leader=viewport)
    work = other.still_in_bands(Still(size=(640, 960)))
    next(work)
    other.close()
    other.deleteLater()
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    with pytest.raises(PictureLost, match="closed"):
        list(work)


def test_a_picture_that_is_given_up_leaves_the_view_as_it_was(viewport: Any) -> None:
    viewport.set_camera(FRONT)
    before = rgba(viewport.grab_image())
    work = viewport.still_in_bands(Still(size=(640, 960)))
    next(work)
    work.close()
    np.testing.assert_array_equal(rgba(viewport.grab_image()), before)
