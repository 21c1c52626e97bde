"""Compiled models as bytes: no paths in them, and the same on every computer."""

import shutil
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest

from stroboscope.engine.mjb import mjb_of, mjb_version
from stroboscope.engine.model_digest import model_digest
from stroboscope.engine.model_fields import ModelFields
from stroboscope.engine.mujoco_adapter import load_mujoco

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
WITH_FILES = """
<mujoco>
  <asset>
    <mesh file="corner.obj"/>
    <hfield name="hills" file="hills.bin" size="1 1 1 0.1"/>
  </asset>
  <worldbody>
    <geom type="mesh" mesh="corner"/><geom type="hfield" hfield="hills"/>
    <body pos="0 0 3"><freejoint/><geom size="0.1"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def with_files(tmp_path: Path) -> Callable[[str], mujoco.MjModel]:
    """``with_files("folder")``: the same model, from files that stand in that folder."""

    def make(folder: str) -> mujoco.MjModel:
        place = tmp_path / folder
        place.mkdir(parents=True)
        (place / "corner.obj").write_text(TETRAHEDRON)
        heights = np.linspace(0, 1, 16, dtype=np.float32).tobytes()
        (place / "hills.bin").write_bytes(np.array([4, 4], np.int32).tobytes() + heights)
        (place / "model.xml").write_text(WITH_FILES)
        return mujoco.MjModel.from_xml_path(str(place / "model.xml"))

    return make


def test_a_model_from_another_folder_has_the_same_digest_and_bytes(
    with_files: Callable[[str], mujoco.MjModel],
) -> None:
    adapter = load_mujoco()
    one, two = with_files("here"), with_files("somewhere/else/with/a/long/name" + "x" * 80)
    if adapter.version_tuple >= (4,):  # before, a path was as the file says it
        assert bytes(one.paths) != bytes(two.paths)
    assert model_digest(one, adapter=adapter) == model_digest(two, adapter=adapter)
    assert mjb_of(one, adapter=adapter) == mjb_of(two, adapter=adapter)


def test_the_bytes_of_a_model_hold_no_path_and_load_into_the_same_model(
    with_files: Callable[[str], mujoco.MjModel], tmp_path: Path
) -> None:
    adapter = load_mujoco()
    model = with_files("here")
    addresses = np.array(model.mesh_pathadr)
    content = bytes(mjb_of(model, adapter=adapter))
    assert str(tmp_path).encode() not in content
    assert b"corner.obj" not in content
    # Nothing was written into the model itself.
    assert (np.array(model.mesh_pathadr) == addresses).all()
    again = mujoco.MjModel.from_binary_path("again.mjb", {"again.mjb": content})
    assert ModelFields(model).differences(ModelFields(again)) == ""
    assert model_digest(again, adapter=adapter) == model_digest(model, adapter=adapter)
    assert mjb_of(again, adapter=adapter) == content


def test_the_bytes_of_real_robots_load_and_step_to_the_same_bits(
    robot_model: Callable[[str], Path], tmp_path: Path
) -> None:
    adapter = load_mujoco()
    source = robot_model("shadow_hand")
    moved = shutil.copytree(source.parent, tmp_path / "moved") / source.name
    model = mujoco.MjModel.from_xml_path(str(source))
    digest = model_digest(model, adapter=adapter)
    assert model_digest(mujoco.MjModel.from_xml_path(str(moved)), adapter=adapter) == digest
    content = bytes(mjb_of(model, adapter=adapter))
    twin = mujoco.MjModel.from_binary_path("twin.mjb", {"twin.mjb": content})
    data, other = mujoco.MjData(model), mujoco.MjData(twin)
    data.ctrl[:] = other.ctrl[:] = 0.1
    for _ in range(50):
        mujoco.mj_step(model, data)
        mujoco.mj_step(twin, other)
    assert data.qpos.tobytes() == other.qpos.tobytes()


def test_the_version_of_an_mjb_is_read_from_its_bytes() -> None:
    adapter = load_mujoco()
    content = mjb_of(mujoco.MjModel.from_xml_string("<mujoco/>"), adapter=adapter)
    # Before 4.0 an MJB did not say it.
    mine = mujoco.mj_versionString() if adapter.version_tuple >= (4,) else ""
    assert mjb_version(content) == mine
    words = np.frombuffer(content, np.int32, 8)
    words[3] = 4_012_003
    assert mjb_version(content) == "4.12.3"
    assert mjb_version(b"<mujoco/>" * 9) == ""
    assert mjb_version(b"") == ""
