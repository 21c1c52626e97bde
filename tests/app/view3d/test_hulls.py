"""Convex hulls: outside normals and only the edges that are edges."""

import mujoco
import numpy as np
import pytest
from reference_scenes import SCENES, shown_by_engine

from stroboscope.app.view3d.hulls import hull_shape

CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float32)


def test_a_cube_of_triangles_has_twelve_edges() -> None:
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1)]
    faces += [(2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]
    hull = hull_shape({"vertices": CUBE, "hull_faces": np.array(faces, dtype=np.int32)})
    assert hull is not None
    assert len(hull.edges) == 12
    ends = hull.mesh.vertices[hull.edges]
    assert np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1) == pytest.approx(np.full(12, 2.0))


def test_a_mesh_without_a_hull_has_none() -> None:
    assert hull_shape({"vertices": CUBE}) is None


def test_the_hull_the_engine_sends_is_convex_and_faces_outwards() -> None:
    shown = shown_by_engine(SCENES["hulls"])
    hull = hull_shape(shown.assets[shown.description.meshes[0].digest])
    assert hull is not None
    assert int(mujoco.mjtGeom.mjGEOM_MESH) in [int(t) for t in shown.model.geom_type]
    corner = hull.mesh.vertices[hull.mesh.faces[:, 0]]
    normal = hull.mesh.normals[hull.mesh.faces[:, 0]]
    height = np.einsum("vj,fj->vf", hull.mesh.vertices, normal) - (corner * normal).sum(axis=1)
    assert height.max() < 1e-4
