"""Which scenes are the same, in what others differ, and what other programs read of their files."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.writer import TrajectoryWriter

Start = Callable[..., Any]
MODEL = """
<mujoco model="arm">
  <asset><mesh name="bone" file="bone.obj"/></asset>
  <worldbody>
    <body pos="0 0 2">
      <joint name="shoulder" axis="0 1 0" damping="{damping}"/><geom type="mesh" mesh="bone"/>
      <body pos="0 0 1"><joint name="elbow"/><geom type="mesh" mesh="bone"/></body>
    </body>
  </worldbody>
  <actuator><motor name="turn" joint="shoulder"/></actuator>
</mujoco>
"""
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
# Before 4.0 MuJoCo writes fewer digits than its models have.
WRITES_ALL_DIGITS = hasattr(mujoco.MjSpec, "encode")

SCRIPT = """
import sys
import stroboscope.engine as physics

one, two = (physics.create_scene("Arm", sys.argv[1]) for _ in range(2))
print(one.world.codec.digest.hex(), two.world.codec.digest.hex())
one.step()
print(one.world.codec.digest.hex())
one.export(sys.argv[2] + "/arm.strobe")
one.save_checkpoint(sys.argv[2] + "/there.mcap")
"""


def write(folder: Path, *, damping: float = 0.1, mesh: str = TETRAHEDRON) -> Path:
    folder.mkdir(parents=True)
    (folder / "bone.obj").write_text(mesh)
    model = folder / "arm.xml"
    model.write_text(MODEL.format(damping=damping))
    return model


def test_all_scenes_of_one_script_are_the_same_in_every_process_and_folder(
    start_warm: Start, tmp_path: Path
) -> None:
    digests: set[str] = set()
    for place in ("cluster", "home/somebody/much/deeper"):
        folder = tmp_path / place
        model = write(folder)
        code, told, errors = start_warm(SCRIPT, str(model), str(folder)).end()
        assert code == 0, errors
        digests |= set(told.split())
    assert len(digests) == 1
    # So what one of them has saved goes into the other.
    files = [tmp_path / "cluster", tmp_path / "home/somebody/much/deeper"]
    scene = physics.create_scene("Arm", files[1] / "arm.xml")
    assert scene.load_checkpoint(files[0] / "there.mcap").is_exact
    assert scene.step_count == 1
    assert (files[0] / "arm.strobe").read_bytes() == (files[1] / "arm.strobe").read_bytes()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"damping": 0.2}, "dof_damping"),
        ({"mesh": TETRAHEDRON.replace("v 1 0 0", "v 2 0 0")}, "body_mass of body 1"),
    ],
)
def test_the_state_of_another_scene_is_refused_by_what_differs(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    scene = physics.create_scene("Arm", write(tmp_path / "one"))
    path = scene.save_checkpoint(tmp_path / "there")
    other = physics.create_scene("Other", write(tmp_path / "two", **change))
    before = other.checkpoint()
    with pytest.raises(physics.StateMismatchError, match=named):
        other.load_checkpoint(path)
    assert other.checkpoint().is_equal(before)


def test_the_state_of_another_scene_is_refused_by_what_differs_where_the_file_has_no_scene(
    tmp_path: Path,
) -> None:
    scene = physics.create_scene("Arm", write(tmp_path / "one"))
    path = scene.save_checkpoint(tmp_path / "there", with_scene=False)
    other = physics.create_scene("Other", write(tmp_path / "two", damping=0.2))
    with pytest.raises(physics.StateMismatchError, match="dof_damping") as caught:
        other.load_checkpoint(path)
    assert "physics.load_checkpoint" not in str(caught.value), "there is no scene to build"
    assert "make the scene that it is of" in str(caught.value)


def test_a_file_that_does_not_say_which_model_it_is_of_is_refused_all_the_same(
    tmp_path: Path,
) -> None:
    scene = physics.create_scene("Arm", write(tmp_path / "one"))
    path = scene.save_checkpoint(tmp_path / "there", with_scene=False)
    other = physics.create_scene("Other", write(tmp_path / "two", damping=0.2))
    with TrajectoryReader(path) as reader:
        records = tuple(
            msgspec.structs.replace(each, model_digest="none") for each in reader.manifest.scenes
        )
        manifest = msgspec.structs.replace(reader.manifest, scenes=records)
        fields = {"stroboscope/model_fields": b"no table"}
        with TrajectoryWriter(tmp_path / "odd.mcap", manifest, attachments=fields) as writer:
            for place in reader.block_order():
                writer.write_block(reader.block(*place))
    with pytest.raises(physics.StateMismatchError, match="of another model than 'Other'; make"):
        other.load_checkpoint(tmp_path / "odd.mcap")


def test_a_scene_file_is_opened_by_mujoco_alone(tmp_path: Path) -> None:
    scene = physics.create_scene("Arm", write(tmp_path / "home"))
    file = scene.export(tmp_path / "arm.strobe")
    shutil.rmtree(tmp_path / "home")
    inside = tmp_path / "inside"
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        archive.extractall(inside)
    exact = mujoco.MjModel.from_binary_path(str(inside / "model.mjb"))
    assert json.loads((inside / "description.json").read_text())["joints"][1]["name"] == "elbow"
    with zipfile.ZipFile(inside / "model.mjz") as archive:
        archive.extractall(inside / "portable")
    (source,) = (inside / "portable").rglob("*.xml")
    portable = mujoco.MjModel.from_xml_path(str(source))
    for model in (exact, portable):
        data = mujoco.MjData(model)
        scene.reset()
        for k in range(50):
            scene.ctrl[:] = data.ctrl[:] = np.sin(k / 7.0)
            scene.step()
            mujoco.mj_step(model, data)
        if model is exact or WRITES_ALL_DIGITS:
            assert data.qpos.tobytes() == scene.data.qpos.tobytes()
        np.testing.assert_allclose(data.qpos, scene.data.qpos, atol=1e-6)


@pytest.mark.parametrize("attached", [True, False])
def test_a_scene_file_names_the_channels_of_the_script(
    tmp_path: Path, host: Host, attached: bool
) -> None:
    if attached:
        host.attach(PlaybackMode.FAST_FORWARD)
    scene = physics.create_scene("Arm", write(tmp_path / "home"))
    scene.log("reward", 1.0)
    scene.log("tip", [1.0, 2.0], names=["x", "y"])
    scene.step()
    with zipfile.ZipFile(scene.export(tmp_path / "arm.strobe")) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    assert list(manifest["channels"]) == ["reward", "tip"]
    assert manifest["channels"]["tip"] == ["x", "y"]
