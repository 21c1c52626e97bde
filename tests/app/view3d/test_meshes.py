"""From asset arrays to drawable meshes."""

import numpy as np
import pytest

from stroboscope.app.view3d.meshes import expand_mesh, unique_edges

QUAD = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=np.float32)
FACES = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)


def test_corners_that_agree_are_shared() -> None:
    normals = np.array([[0, 0, 1]], dtype=np.float32)
    mesh = expand_mesh(
        {
            "vertices": QUAD,
            "faces": FACES,
            "normals": normals,
            "face_normals": np.zeros((2, 3), dtype=np.int32),
        }
    )
    assert len(mesh.vertices) == 4
    assert mesh.vertices[mesh.faces] == pytest.approx(QUAD[FACES])
    assert mesh.normals == pytest.approx(np.tile([0.0, 0.0, 1.0], (4, 1)))


def test_corners_with_other_normals_or_texture_coordinates_are_split() -> None:
    arrays = {
        "vertices": QUAD,
        "faces": FACES,
        "normals": np.array([[0, 0, 1], [0, 1, 0]], dtype=np.float32),
        "face_normals": np.array([[0, 0, 0], [1, 1, 1]], dtype=np.int32),
        "texcoords": np.array([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=np.float32),
        "face_texcoords": FACES,
    }
    mesh = expand_mesh(arrays)
    assert len(mesh.vertices) == 6
    assert mesh.uv[mesh.faces] == pytest.approx(QUAD[FACES][..., :2])
    assert mesh.normals[mesh.faces[1]] == pytest.approx(np.tile([0.0, 1.0, 0.0], (3, 1)))


def test_a_mesh_without_normals_is_smooth_except_across_sharp_edges() -> None:
    # Two quads that meet at a right angle along x, and one more that bends by ten degrees.
    bend = np.radians(10.0)
    vertices = np.array(
        [
            [0, 0, 0],
            [1, 0, 0],
            [1, 1, 0],
            [0, 1, 0],
            [0, 0, -1],
            [1, 0, -1],
            [0, 1 + np.cos(bend), np.sin(bend)],
            [1, 1 + np.cos(bend), np.sin(bend)],
        ],
        dtype=np.float32,
    )
    faces = np.array([[0, 1, 2], [0, 2, 3], [4, 5, 1], [4, 1, 0], [3, 2, 7], [3, 7, 6]])
    mesh = expand_mesh({"vertices": vertices, "faces": faces})
    corners = mesh.normals[mesh.faces]
    assert corners[2] == pytest.approx(np.tile([0.0, -1.0, 0.0], (3, 1)), abs=1e-6)
    shared = corners[0][2]  # vertex 2 lies on the gentle bend
    assert 0.0 < np.degrees(np.arccos(shared[2])) < 10.0


def test_faces_that_point_nowhere_are_left_out() -> None:
    mesh = expand_mesh({"vertices": QUAD, "faces": np.array([[0, 1, 2], [0, 2, 99], [-1, 0, 1]])})
    assert len(mesh.faces) == 1


def test_each_edge_is_listed_once() -> None:
    edges = unique_edges(FACES.astype(np.uint32))
    assert sorted(map(tuple, edges.tolist())) == [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)]
