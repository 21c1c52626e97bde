"""What a scene is framed for: all of it in sight, also where messages stand over the picture."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stroboscope.app.view3d.camera import CameraState, fitted, free_view

WIDTH, HEIGHT = 640, 300


def seen(state: CameraState, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the pixels (n, 2) of ``points``."""
    view = free_view(state, lookat=np.array(state.lookat), aspect=WIDTH / HEIGHT, extent=1.0)
    return view.project(points, width=WIDTH, height=HEIGHT)[:, :2]


def cloud(seed: int) -> NDArray[np.float64]:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(40, 3)) * generator.uniform(0.1, 3.0, size=3)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("covered", [0.0, 0.1, 0.25])
@pytest.mark.parametrize("orthographic", [False, True])
def test_everything_is_below_what_covers_the_view(
    seed: int, covered: float, orthographic: bool
) -> None:
    points = cloud(seed)
    start = CameraState(azimuth=37.0 * seed, elevation=-22.0, orthographic=orthographic)
    state = fitted(start, points, aspect=WIDTH / HEIGHT, covered=covered)
    x, y = seen(state, points).T
    assert y.min() >= max(covered, 0.1) * HEIGHT - 1.0
    assert y.max() <= 0.9 * HEIGHT + 1.0
    assert x.min() >= 0.1 * WIDTH - 1.0
    assert x.max() <= 0.9 * WIDTH + 1.0
    # Near enough to fill the view one way or the other.
    tall = (y.max() - y.min()) / (0.9 * HEIGHT - max(covered, 0.1) * HEIGHT)
    wide = (x.max() - x.min()) / (0.8 * WIDTH)
    assert max(tall, wide) > 0.9


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("below", [0.05, 0.2, 0.28])
def test_everything_is_above_what_covers_the_lower_part(seed: int, below: float) -> None:
    points = cloud(seed)
    start = CameraState(azimuth=37.0 * seed, elevation=-22.0)
    state = fitted(start, points, aspect=WIDTH / HEIGHT, covered=0.2, covered_below=below)
    x, y = seen(state, points).T
    assert y.min() >= 0.2 * HEIGHT - 1.0
    assert y.max() <= (1.0 - max(below, 0.1)) * HEIGHT + 1.0
    tall = (y.max() - y.min()) / ((0.8 - max(below, 0.1)) * HEIGHT)
    wide = (x.max() - x.min()) / (0.8 * WIDTH)
    assert max(tall, wide) > 0.9


def test_a_view_frames_its_scene_below_the_height_that_is_kept_free(viewport: Any) -> None:
    from stroboscope.app.models.view_options import ViewOptions

    viewport.keep_free(110)
    viewport.frame_scene()
    points = viewport._scene.framing_points(ViewOptions())
    size = {"width": viewport.width(), "height": viewport.height()}
    assert viewport.view().project(points, **size)[:, 1].min() >= 109.0
    viewport.keep_free(10_000)
    viewport.frame_scene()
    y = viewport.view().project(points, **size)[:, 1]
    assert y.min() >= 0.28 * viewport.height() - 1.0
    assert y.max() - y.min() > 0.2 * viewport.height()


ARM = """<mujoco><worldbody><geom type="plane" size="2 2 .1"/>
<body name="base" pos="0 0 .5"><geom type="cylinder" size=".08" fromto="0 0 -.5 0 0 0"/>
<body name="arm">{joint}<geom type="capsule" size=".05" fromto="0 0 0 .8 0 0"/></body></body>
</worldbody></mujoco>"""
HINGE = '<joint type="hinge" axis="0 1 0"/>'


@pytest.fixture
def framed(qapp: Any, show: Any) -> Any:
    import stroboscope.engine as physics
    from stroboscope.app.view3d.viewport import Viewport
    from stroboscope.debugger_protocol.topics import Topic
    from stroboscope.resources.themes import DARK

    def frame(model: str) -> Any:
        backend = physics.create_scene("arm", model=model).link.backend
        view = Viewport(DARK)
        view.keep_free(76)
        show(view, WIDTH, HEIGHT)
        view.set_description(backend.describe(1, "arm"), {})
        pose = backend.frame_now(frozenset({Topic.POSE})).arrays[Topic.POSE]
        view.set_poses(pose["xpos"], pose["xquat"])
        return view

    yield frame
    physics.shutdown()


def test_an_arm_that_lies_down_may_rise_without_leaving_the_picture(framed: Any) -> None:
    view = framed(ARM.format(joint=HINGE))
    size = {"width": view.width(), "height": view.height()}
    tip = view.view().project(np.array([0.0, 0.0, 1.35]), **size)[0]
    assert 0.0 < tip[1] < view.height()


def test_what_can_t_turn_is_framed_as_it_stands(framed: Any) -> None:
    arm, stiff = framed(ARM.format(joint=HINGE)), framed(ARM.format(joint=""))
    assert stiff.camera.distance < arm.camera.distance


def test_an_arm_that_turns_on_the_spot_is_framed_as_it_stands(framed: Any) -> None:
    upright, stiff = framed(ARM.format(joint='<joint axis="0 0 1"/>')), framed(ARM.format(joint=""))
    assert upright.camera.distance == pytest.approx(stiff.camera.distance)


def test_what_travels_is_framed_as_it_stands(framed: Any) -> None:
    stiff, sliding = (
        framed(ARM.format(joint="")),
        framed(ARM.format(joint=f"<joint type='slide'/>{HINGE}")),
    )
    assert sliding.camera.distance == pytest.approx(stiff.camera.distance)
