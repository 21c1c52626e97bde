"""Meshes of primitives: closed, outward, of the right size."""

import math

import numpy as np
import pytest

from stroboscope.app.view3d import shapes

CLOSED = {
    "sphere": (shapes.ellipsoid((0.5, 0.5, 0.5)), 4.0 / 3.0 * math.pi * 0.125),
    "ellipsoid": (shapes.ellipsoid((0.2, 0.4, 0.6)), 4.0 / 3.0 * math.pi * 0.048),
    "capsule": (
        shapes.capsule(0.2, 0.5),
        math.pi * 0.04 * 1.0 + 4.0 / 3.0 * math.pi * 0.008,
    ),
    "cylinder": (shapes.cylinder(0.3, 0.4), math.pi * 0.09 * 0.8),
    "box": (shapes.box((0.1, 0.2, 0.3)), 8.0 * 0.006),
}


@pytest.mark.parametrize("name", list(CLOSED))
def test_a_primitive_encloses_its_volume(name: str) -> None:
    mesh, volume = CLOSED[name]
    corners = mesh.vertices.astype(np.float64)[mesh.faces]
    signed = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    # Positive only when faces are wound outward; flat facets lose a few per cent.
    assert signed.sum() == pytest.approx(volume, rel=0.04)


@pytest.mark.parametrize("name", [*CLOSED, "height field", "arrow"])
def test_normals_point_to_the_side_from_which_faces_are_counter_clockwise(name: str) -> None:
    if name == "height field":
        rng = np.random.default_rng(2)
        data = rng.uniform(0.2, 0.4, (7, 9)).astype(np.float32)
        mesh = shapes.height_field(data, size=(1.0, 0.8, 0.5, 0.1))
    elif name == "arrow":
        mesh = shapes.arrow()
    else:
        mesh = CLOSED[name][0]
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(flat, axis=1)
    solid = area > 1e-12
    facing = np.einsum("ij,ij->i", flat, mesh.normals[mesh.faces].sum(axis=1))
    assert (facing[solid] > 0.0).all()
    assert np.linalg.norm(mesh.normals, axis=1) == pytest.approx(np.ones(len(mesh.normals)))


def test_a_capsule_reaches_its_radius_and_its_ends() -> None:
    mesh = shapes.capsule(0.2, 0.5)
    assert mesh.vertices.max(axis=0) == pytest.approx([0.2, 0.2, 0.7], abs=1e-6)
    assert mesh.vertices.min(axis=0) == pytest.approx([-0.2, -0.2, -0.7], abs=1e-6)


def test_a_height_field_puts_row_zero_at_negative_y_and_column_zero_at_negative_x() -> None:
    data = np.zeros((4, 5), dtype=np.float32)
    data[0, 4] = 1.0
    mesh = shapes.height_field(data, size=(2.0, 1.0, 3.0, 0.5))
    top = mesh.vertices[mesh.vertices[:, 2].argmax()]
    assert top == pytest.approx([2.0, -1.0, 3.0])
    assert mesh.vertices[:, 2].min() == pytest.approx(-0.5)


def test_an_arrow_without_a_shaft_is_made_of_finite_numbers() -> None:
    mesh = shapes.arrow(shaft=0.0, head=0.17, tip=0.42)
    for part in (mesh.vertices, mesh.normals, mesh.uv):
        assert np.isfinite(part).all()
