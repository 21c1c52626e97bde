"""Levels of detail: a quarter of the faces, the same shape, kept on disk and never trusted."""

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from stroboscope.app.view3d import shapes
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.mesh_detail import (
    DetailCache,
    coarse_mesh,
    kept_faces,
    moving_mesh,
    worth_decimating,
)
from stroboscope.app.view3d.scene_geometry import Detail
from stroboscope.debugger_protocol.scene_description import (
    BodyInfo,
    GeomInfo,
    GeomType,
    MeshInfo,
    SceneDescription,
)


def ball(segments: int) -> dict[str, NDArray[np.generic]]:
    mesh = shapes.ellipsoid((0.05, 0.04, 0.03), segments=segments)
    return {"vertices": mesh.vertices, "faces": mesh.faces.astype(np.int32)}


@pytest.fixture
def cache(tmp_path: Path) -> DetailCache:
    return DetailCache(tmp_path / "meshes")


def test_a_quarter_of_the_faces_is_left_and_the_shape_stays(cache: DetailCache) -> None:
    arrays = ball(80)
    mesh = coarse_mesh("abc", arrays, cache)
    assert mesh is not None
    share = len(mesh.faces) / len(arrays["faces"])
    assert 0.2 < share < 0.3
    reach = np.linalg.norm(mesh.vertices / np.array([0.05, 0.04, 0.03]), axis=1)
    assert reach == pytest.approx(np.ones(len(reach)), abs=0.03)
    outwards = np.einsum("ij,ij->i", mesh.normals, mesh.vertices)
    assert outwards.min() > 0.0


def area(vertices: NDArray[np.generic], faces: NDArray[np.generic]) -> float:
    corners = np.asarray(vertices, dtype=np.float64)[np.asarray(faces)]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return float(0.5 * np.linalg.norm(normals, axis=1).sum())


@pytest.mark.parametrize("name", ["hip", "calf", "thigh"])
def test_a_limb_of_a_robot_keeps_its_surface_and_its_ends(
    name: str, cache: DetailCache, robot_model: Callable[[str], Path]
) -> None:
    """Calves became blades, and thighs were gone, while the robot moved."""
    model = mujoco.MjModel.from_xml_path(str(robot_model("go1")))
    mesh = model.mesh(name)
    first, count = int(mesh.vertadr[0]), int(mesh.vertnum[0])
    begin, faces = int(mesh.faceadr[0]), int(mesh.facenum[0])
    arrays = {
        "vertices": model.mesh_vert[first : first + count],
        "faces": model.mesh_face[begin : begin + faces],
    }
    coarse = coarse_mesh(name, arrays, cache)
    assert coarse is not None
    moving = moving_mesh(name, coarse, cache)
    assert moving is not None
    size = np.ptp(arrays["vertices"], axis=0).max()
    whole = area(arrays["vertices"], arrays["faces"])
    for level in (coarse, moving):
        assert len(level.faces) < 0.5 * faces
        assert area(level.vertices, level.faces) > 0.7 * whole
        for end in (np.min, np.max):
            ends = end(level.vertices, axis=0) - end(arrays["vertices"], axis=0)
            assert np.abs(ends).max() < 0.05 * size


def test_a_small_mesh_stays_as_it_is() -> None:
    assert not worth_decimating(ball(16))
    assert worth_decimating(ball(80))


def test_what_was_decimated_is_read_from_disk_the_next_time(
    cache: DetailCache, tmp_path: Path
) -> None:
    first = coarse_mesh("abc", ball(80), cache)
    (path,) = (tmp_path / "meshes").iterdir()
    written = path.stat().st_ino
    second = coarse_mesh("abc", {"vertices": np.zeros((0, 3)), "faces": np.zeros((0, 3))}, cache)
    assert first is not None
    assert second is not None
    assert np.array_equal(first.vertices, second.vertices)
    assert path.stat().st_ino == written


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 not a zip", b"\x00" * 5000])
def test_a_damaged_file_is_computed_again(
    cache: DetailCache, tmp_path: Path, damage: bytes
) -> None:
    coarse_mesh("abc", ball(80), cache)
    (path,) = (tmp_path / "meshes").iterdir()
    path.write_bytes(damage)
    mesh = coarse_mesh("abc", ball(80), cache)
    assert mesh is not None
    assert cache.get("abc") is not None


def test_indices_out_of_range_in_a_file_are_not_believed(cache: DetailCache) -> None:
    cache.put("abc", np.zeros((3, 3), dtype=np.float32), np.array([[0, 1, 9]]))
    assert cache.get("abc") is None


def test_the_cache_stays_within_its_limit(tmp_path: Path) -> None:
    small = DetailCache(tmp_path / "meshes", limit=40_000)
    for k in range(6):
        coarse_mesh(f"mesh{k}", ball(80), small)
    assert sum(path.stat().st_size for path in (tmp_path / "meshes").iterdir()) <= 40_000
    assert small.get("mesh5") is not None


def test_a_folder_that_cant_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert coarse_mesh("abc", ball(80), DetailCache(blocked)) is not None


def test_large_meshes_are_prepared_beside_the_gui_thread_and_swapped_in() -> None:
    description = SceneDescription(
        scene_id=1,
        name="balls",
        bodies=(BodyInfo(name="world", parent=0),),
        meshes=(MeshInfo(name="ball", digest="d", nvert=1, nface=30_000),),
        geoms=(
            GeomInfo(name="m", body=0, type=GeomType.MESH, size=(0.1, 0.1, 0.1), mesh=0),
            GeomInfo(name="b", body=0, type=GeomType.BOX, size=(0.1, 0.1, 0.1)),
        ),
    )
    drawn = DrawnScene()
    told: list[int] = []
    drawn.built_listeners.append(lambda: told.append(1))
    drawn.set_description(description, {"d": ball(180)})
    assert len(drawn.buffers().faces_of(np.array([0]))) == 0
    assert len(drawn.buffers().faces_of(np.array([1]))) == 12
    before = drawn.geometry_revision
    drawn.finish_building()
    assert told
    assert drawn.geometry_revision > before
    full = len(drawn.buffers().faces_of(np.array([0])))
    coarse = len(drawn.buffers().faces_of(np.array([0]), Detail.COARSE))
    assert full > 20_000
    assert coarse == pytest.approx(kept_faces(full), rel=0.1)
    assert coarse < 0.2 * full  # of so fine a mesh less than a quarter
