"""How long arrows are."""

import numpy as np
import pytest

from stroboscope.app.models.overlays import Amount
from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d.overlays.glyphs import frame_along
from stroboscope.app.view3d.overlays.sizes import LONGEST, TRUE_TO_SCALE, Sizes
from stroboscope.debugger_protocol.scene_description import SceneDescription, VisualScale


def _sizes(*, extent=1.0, mass=2.0, **options):
    scene = SceneDescription(scene_id=1, name="scene", scale=VisualScale(meansize=0.1))
    return Sizes.of(scene, ViewOptions(**options), extent=extent, mass=mass)


@pytest.mark.parametrize("mass", [0.002, 2.0, 2000.0])
def test_the_weight_of_a_mean_body_is_twice_the_mean_size_long(mass):
    weight = np.array([[0.0, 0.0, mass * 9.81]])
    arrow = _sizes(mass=mass).vectors(weight, Amount.FORCE)
    assert not arrow.cut[0]
    assert arrow.vector[0] == pytest.approx([0.0, 0.0, 0.2])


def test_people_make_arrows_longer_and_the_longest_are_cut():
    force = np.array([[0.0, 2.0 * 9.81, 0.0], [2e9, 0.0, 0.0], [0.0, 0.0, 0.0]])
    arrows = _sizes(force_scale=1.4).vectors(force, Amount.FORCE)
    assert arrows.vector[0] == pytest.approx([0.0, 0.28, 0.0])
    assert np.linalg.norm(arrows.vector[1]) == pytest.approx(LONGEST)
    assert arrows.vector[2].tolist() == [0.0, 0.0, 0.0]
    assert arrows.cut.tolist() == [False, True, False]


@pytest.mark.parametrize("extent", [0.05, 1.0, 40.0])
def test_of_two_huge_forces_the_larger_one_has_the_longer_arrow_and_neither_hides_the_model(extent):
    sizes = _sizes(extent=extent)
    most = sizes.largest_to_scale(Amount.FORCE)
    force = np.zeros((5, 3))
    force[:, 2] = most * np.array([0.999, 1.001, 10.0, 100.0, 1e12])
    arrows = sizes.vectors(force, Amount.FORCE)
    length = np.linalg.norm(arrows.vector, axis=1)
    assert arrows.cut.tolist() == [False, True, True, True, True]
    assert np.all(np.diff(length) > 0.0)
    assert length[:2] == pytest.approx(TRUE_TO_SCALE * extent, rel=2e-3)
    assert length[-1] <= LONGEST * extent * (1.0 + 1e-12)


def test_a_model_with_its_own_scales_gets_mujocos_arrows():
    scale = VisualScale(meansize=0.1, meanmass=0.5, force=0.1, torque=0.3)
    scene = SceneDescription(scene_id=1, name="scene", scale=scale)
    sizes = Sizes.of(scene, ViewOptions(), extent=1.0, mass=2.0)
    assert sizes.metres_per(Amount.FORCE) == pytest.approx(0.1 / 0.5)
    assert sizes.metres_per(Amount.TORQUE) == pytest.approx(0.3 / 0.5)


def test_a_scene_without_moving_bodies_takes_the_models_mean_mass():
    assert _sizes(mass=0.0).mass == VisualScale().meanmass


def test_a_mean_size_that_a_huge_floor_has_spoiled_is_bounded():
    scene = SceneDescription(scene_id=1, name="scene", scale=VisualScale(meansize=100.0))
    assert Sizes.of(scene, ViewOptions(), extent=1.0).mean < 0.2


def test_frames_are_rotations_that_turn_z_into_the_direction():
    rng = np.random.default_rng(0)
    direction = np.concatenate([rng.normal(size=(50, 3)), np.eye(3), -np.eye(3), np.zeros((1, 3))])
    mats = frame_along(direction)
    np.testing.assert_allclose(
        np.matmul(mats, mats.transpose(0, 2, 1)), np.broadcast_to(np.eye(3), mats.shape), atol=1e-12
    )
    np.testing.assert_allclose(np.linalg.det(mats), 1.0)
    length = np.linalg.norm(direction[:-1], axis=1, keepdims=True)
    np.testing.assert_allclose(mats[:-1, :, 2], direction[:-1] / length, atol=1e-12)
