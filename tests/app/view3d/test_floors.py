"""How planes are taken apart and coloured."""

from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from stroboscope.app.models.view_options import FloorStyle, ViewOptions
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.floor_pass import around, screen_area
from stroboscope.app.view3d.floors import (
    GROUND,
    Checker,
    Floor,
    FloorPattern,
    find_checker,
    floors_of,
)
from stroboscope.app.view3d.light_rig import rgb
from stroboscope.app.view3d.shadow_pass import ShadowPass, light_matrix
from stroboscope.debugger_protocol.scene_description import (
    GeomInfo,
    MaterialInfo,
    SceneDescription,
    TextureInfo,
    TextureKind,
)
from stroboscope.resources.themes import DARK


def checker_image(size: int = 60, *, marked: bool = True) -> NDArray[np.uint8]:
    image = np.empty((size, size, 3), dtype=np.uint8)
    half = size // 2
    image[:half, :half] = image[half:, half:] = (20, 40, 60)
    image[:half, half:] = image[half:, :half] = (80, 100, 120)
    if marked:
        image[[0, -1]] = image[:, [0, -1]] = (200, 210, 220)
    return image


def test_a_checker_is_recognised_with_its_line() -> None:
    found = find_checker(checker_image())
    assert found is not None
    assert found.color_a == pytest.approx((20 / 255, 40 / 255, 60 / 255))
    assert found.color_b == pytest.approx((80 / 255, 100 / 255, 120 / 255))
    assert found.line == pytest.approx((200 / 255, 210 / 255, 220 / 255))
    plain = find_checker(checker_image(marked=False))
    assert plain is not None
    assert plain.line is None


def test_other_images_are_no_checkers() -> None:
    rng = np.random.default_rng(3)
    assert find_checker(rng.integers(0, 255, (60, 60, 3)).astype(np.uint8)) is None
    image = checker_image()
    image[20:24, 8:12] = 255  # a checker with something painted on a square
    assert find_checker(image) is None
    assert find_checker(checker_image()[:4]) is None


def textured(scene: SceneDescription) -> SceneDescription:
    """The scene with a checker of one repeat per two metres on its plane."""
    floor: GeomInfo = msgspec.structs.replace(scene.geoms[0], material=0, size=(10.0, 10.0, 0.1))
    return msgspec.structs.replace(
        scene,
        geoms=(floor, *scene.geoms[1:]),
        textures=(
            TextureInfo(
                name="t", digest="t", kind=TextureKind.TWO_D, width=60, height=60, nchannel=3
            ),
        ),
        materials=(MaterialInfo(name="m", texture=0, texrepeat=(10.0, 20.0)),),
    )


def floors(
    description: SceneDescription,
    poses: tuple[Any, Any],
    style: FloorStyle,
    *,
    image: NDArray[np.uint8] | None = None,
    arrived: bool = True,
) -> list[Floor]:
    image = checker_image() if image is None else image
    drawn = DrawnScene()
    drawn.set_description(description, {"t": {"data": image}} if arrived else {})
    drawn.set_poses(*poses)
    checkers: dict[int, Checker | None] = {0: find_checker(image)} if arrived else {}
    return floors_of(
        drawn,
        options=ViewOptions(floor=style),
        palette=DARK,
        checkers=checkers,
        extent=1.0,
    )


def test_a_checker_floor_keeps_its_squares_and_wears_the_theme(
    scene: SceneDescription, poses: tuple[Any, Any]
) -> None:
    (floor,) = floors(textured(scene), poses, FloorStyle.AUTO)
    assert floor.pattern is FloorPattern.CHECKER
    # Ten images over twenty metres, two squares each: one square per metre; twice that along y.
    assert floor.repeat == pytest.approx((1.0, 2.0))
    assert floor.color_a[:3] == pytest.approx(rgb(DARK.floor_a))
    assert floor.half is None  # a floor: things touch it beyond its size too


def test_a_floor_whose_image_is_still_to_come_is_not_white_meanwhile(
    scene: SceneDescription, poses: tuple[Any, Any]
) -> None:
    (awaited,) = floors(textured(scene), poses, FloorStyle.AUTO, arrived=False)
    (there,) = floors(textured(scene), poses, FloorStyle.AUTO)
    # Most are checkers: nothing changes when it comes.
    for name in ("pattern", "color_a", "color_b", "line", "repeat", "offset", "surface"):
        assert getattr(awaited, name) == getattr(there, name), name
    # What is painted on it is shown when it is there.
    grey = np.full((60, 60, 3), 90, np.uint8)
    grey[5:9, 20:50] = 200
    (painted,) = floors(textured(scene), poses, FloorStyle.AUTO, image=grey)
    assert painted.pattern is FloorPattern.IMAGE


def test_a_floor_wears_the_models_colours_when_asked(
    scene: SceneDescription, poses: tuple[Any, Any]
) -> None:
    (floor,) = floors(textured(scene), poses, FloorStyle.MODEL)
    assert floor.repeat == pytest.approx((1.0, 2.0))
    # The first image starts at the corner (-10, -10), and lines run between images only.
    assert floor.offset == pytest.approx((10.0, 20.0))
    assert floor.line_period == 2.0
    assert floor.color_a[:3] == pytest.approx((20 / 255, 40 / 255, 60 / 255))
    assert floor.line[:3] == pytest.approx((200 / 255, 210 / 255, 220 / 255))


def test_a_coloured_plane_keeps_its_colour(scene: SceneDescription, poses: tuple[Any, Any]) -> None:
    green = msgspec.structs.replace(scene.geoms[0], rgba=(0.2, 0.6, 0.2, 1.0))
    description = msgspec.structs.replace(scene, geoms=(green, *scene.geoms[1:]))
    (floor,) = floors(description, poses, FloorStyle.AUTO)
    assert floor.pattern is FloorPattern.LINES
    assert floor.color_a == pytest.approx((0.2, 0.6, 0.2, 1.0))


def test_a_scene_without_a_plane_gets_lines_at_the_worlds_zero_and_no_floor(
    scene: SceneDescription, poses: tuple[Any, Any]
) -> None:
    description = msgspec.structs.replace(scene, geoms=scene.geoms[1:])
    xpos, xquat = poses
    for lower in (0.0, 2.0):
        (grid,) = floors(description, (xpos - [0.0, 0.0, lower], xquat), FloorStyle.AUTO)
        assert grid.item == GROUND
        assert grid.pattern is FloorPattern.GRID
        assert grid.half is None
        # Not below the lowest thing, where that would seem to stand on it.
        assert grid.pos == pytest.approx(0.0)
        # Nothing is between the lines, and nothing is mirrored in them.
        assert grid.color_a[3] == 0.0
        assert grid.surface[3] == 0.0


def test_a_hidden_floor_is_not_replaced_and_a_wall_is_no_floor(
    scene: SceneDescription, poses: tuple[Any, Any]
) -> None:
    hidden = msgspec.structs.replace(scene.geoms[0], group=3)
    description = msgspec.structs.replace(scene, geoms=(hidden, *scene.geoms[1:]))
    assert floors(description, poses, FloorStyle.AUTO) == []
    half = float(np.sqrt(0.5))
    wall = msgspec.structs.replace(scene.geoms[0], quat=(half, half, 0.0, 0.0))
    description = msgspec.structs.replace(scene, geoms=(wall, *scene.geoms[1:]))
    assert [f.item for f in floors(description, poses, FloorStyle.AUTO)] == [0, GROUND]


def test_a_plane_that_touches_nothing_or_is_small_ends_at_its_size(
    scene: SceneDescription, poses: tuple[Any, Any]
) -> None:
    for changes in ({"collides": False, "size": (9.0, 9.0, 0.1)}, {"size": (0.5, 0.5, 0.1)}):
        plane = msgspec.structs.replace(scene.geoms[0], **changes)
        description = msgspec.structs.replace(scene, geoms=(plane, *scene.geoms[1:]))
        (floor,) = floors(description, poses, FloorStyle.AUTO)
        assert floor.half == plane.size[:2]


def test_shadows_are_looked_up_in_one_part_of_the_picture_and_the_rest_is_drawn_without() -> None:
    pixels = (64, 48)
    corners = np.array([(-0.5, -0.25, 0.0), (0.25, -0.25, 0.0), (0.25, 0.5, 0.0)])
    area = screen_area(corners, np.eye(4), pixels)
    assert area == (16 - 4, 18 - 4, 24 + 8, 18 + 8)
    covered = np.zeros(pixels, dtype=int)
    for left, bottom, width, height in (area, *around(area, pixels)):
        covered[left : left + width, bottom : bottom + height] += 1
    assert (covered == 1).all()
    behind = np.diag((1.0, 1.0, 1.0, -1.0))
    assert screen_area(corners, behind, pixels) is None


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e308])
def test_what_has_diverged_may_be_anywhere_in_the_picture(number: float) -> None:
    corners = np.array([(number, 0.0, 0.0), (0.25, -0.25, 0.0), (number, number, -number)])
    assert screen_area(corners, 100.0 * np.ones((4, 4)), (64, 48)) is None


def test_what_lies_beside_the_picture_leaves_all_of_it_without_shadows() -> None:
    area = screen_area(np.array([(5.0, 5.0, 0.0), (6.0, 6.0, 0.0)]), np.eye(4), (10, 10))
    assert area is not None
    assert area[2] == area[3] == 0
    assert sum(width * height for _, _, width, height in around(area, (10, 10))) == 100


def test_every_other_moving_picture_has_the_shadow_of_the_one_before() -> None:
    lamp = ShadowPass()
    drawn = [lamp._is_due("look", pose, late=0.1, now=pose * 0.06) for pose in range(6)]
    assert drawn == [True, False, True, False, True, False]
    # A still picture, and one for which anything else has changed, has its own.
    assert lamp._is_due("look", 5, late=0.0, now=0.31)
    assert not lamp._is_due("look", 5, late=0.0, now=9.0)
    assert lamp._is_due("another lamp", 5, late=0.1, now=9.01)
    # And so has each of pictures that come seldom.
    assert all(lamp._is_due("another lamp", n, late=0.1, now=10.0 + n * 0.15) for n in range(9))


def test_the_shadow_map_covers_a_parallelogram_of_a_floor() -> None:
    lamp = ShadowPass.__new__(ShadowPass)  # without OpenGL: only where its map lies
    direction = np.array((0.6, 0.0, 0.8))
    lamp._matrix = light_matrix(direction, center=np.array((0.0, 0.0, 1.0)), radius=2.0)
    corners = lamp.footprint(np.zeros(3), np.array((0.0, 0.0, 1.0)))
    assert corners is not None
    assert corners[:, 2] == pytest.approx(0.0, abs=1e-12)
    ends = np.column_stack((corners, np.ones(4))) @ lamp._matrix.T
    assert np.abs(ends[:, :2]) == pytest.approx(np.ones((4, 2)))
    along = np.array((0.8, 0.0, -0.6))
    assert lamp.footprint(np.zeros(3), along) is None
