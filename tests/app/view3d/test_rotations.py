"""Quaternions and frames."""

import numpy as np
import pytest

from stroboscope.app.view3d.rotations import compose, quat_to_matrix


def test_a_quarter_turn_about_z_carries_x_to_y() -> None:
    half = np.sqrt(0.5)
    matrix = quat_to_matrix(np.array([[half, 0.0, 0.0, half]]))[0]
    assert matrix @ [1.0, 0.0, 0.0] == pytest.approx([0.0, 1.0, 0.0])


def test_random_quaternions_give_rotations_that_follow_their_formula() -> None:
    rng = np.random.default_rng(1)
    quats = rng.normal(size=(50, 4))
    matrices = quat_to_matrix(quats)
    assert np.matmul(matrices, matrices.transpose(0, 2, 1)) == pytest.approx(
        np.broadcast_to(np.eye(3), (50, 3, 3)), abs=1e-12
    )
    assert np.linalg.det(matrices) == pytest.approx(np.ones(50))
    vector = np.array([0.3, -0.5, 0.8])
    unit = quats / np.linalg.norm(quats, axis=1, keepdims=True)
    w, u = unit[:, :1], unit[:, 1:]
    # v' = v + 2 u x (u x v + w v)
    expected = vector + 2.0 * np.cross(u, np.cross(u, vector) + w * vector)
    assert matrices @ vector == pytest.approx(expected)


def test_a_zero_quaternion_is_the_identity() -> None:
    assert quat_to_matrix(np.zeros((1, 4)))[0] == pytest.approx(np.eye(3))


def test_composing_applies_the_parent_to_the_child() -> None:
    half = np.sqrt(0.5)
    turn = quat_to_matrix(np.array([[half, 0.0, 0.0, half]]))
    pos, mat = compose(np.array([[1.0, 0.0, 0.0]]), turn, pos=np.array([[1.0, 0.0, 0.0]]), mat=turn)
    assert pos[0] == pytest.approx([1.0, 1.0, 0.0])
    assert mat[0] @ [1.0, 0.0, 0.0] == pytest.approx([-1.0, 0.0, 0.0], abs=1e-12)
