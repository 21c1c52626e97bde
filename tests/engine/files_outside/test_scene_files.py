"""Scenes that travel: written without a trace of where they come from, built again anywhere."""

import base64
import hashlib
import importlib.util
import io
import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from getpass import getuser
from pathlib import Path

import corpus
import mujoco
import numpy as np
import pytest
from samples import few

import stroboscope.engine as physics
from stroboscope.engine.files.bundle import pack_archive
from stroboscope.engine.files.errors import (
    FileDamagedError,
    FileFormatError,
    FilesUnavailableError,
    FileVersionError,
    FileWriteError,
)

ARM = """
<mujoco model="arm">
  <compiler meshdir="parts" texturedir="pictures"/>
  <asset>
    <mesh name="bone" file="bone.obj"/>
    <mesh name="twin" file="{folder}/elsewhere/bone.obj"/>
    <texture name="paint" type="2d" file="paint.png"/><material name="paint" texture="paint"/>
    <hfield name="hills" file="hills.bin" size="1 1 1 0.1"/>
  </asset>
  <worldbody>
    <geom type="hfield" hfield="hills"/>
    <body pos="0 0 2" euler="10 20 30">
      <joint name="shoulder" axis="0 1 0" damping="0.1"/>
      <geom type="mesh" mesh="bone" material="paint"/>
      <body pos="0 0 1"><joint name="elbow"/><geom type="mesh" mesh="twin"/></body>
    </body>
  </worldbody>
  <actuator><motor name="turn" joint="shoulder"/></actuator>
</mujoco>
"""
needs_batch = pytest.mark.skipif(
    importlib.util.find_spec("mujoco.batch") is None, reason="n_envs needs MuJoCo's batch"
)
# Before 4.0 MuJoCo writes fewer digits than its models have.
WRITES_ALL_DIGITS = hasattr(mujoco.MjSpec, "encode")
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"


def write_arm(folder: Path) -> Path:
    """Write the arm with all kinds of assets; return its file."""
    for name in ("parts", "pictures", "elsewhere"):
        (folder / name).mkdir(parents=True)
    (folder / "parts" / "bone.obj").write_text(TETRAHEDRON)
    (folder / "elsewhere" / "bone.obj").write_text(TETRAHEDRON.replace("v 1 0 0", "v 2 0 0"))
    heights = np.linspace(0, 1, 16, dtype=np.float32).tobytes()
    (folder / "parts" / "hills.bin").write_bytes(np.array([4, 4], np.int32).tobytes() + heights)
    (folder / "pictures" / "paint.png").write_bytes(corpus.png())
    model = folder / "arm.xml"
    model.write_text(ARM.format(folder=folder))
    return model


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    return write_arm(tmp_path / "home" / "somebody" / "robots")


def stepped(scene: physics.Scene, count: int = 60) -> bytes:
    """Return the state after some steps under changing controls."""
    for number in range(count):
        scene.ctrl[:] = np.sin(number / 7.0)
        scene.step()
    return scene.data.qpos.tobytes() + scene.data.qvel.tobytes() + scene.data.qacc.tobytes()


def members(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Return all members of an archive, those of archives in it too."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist():
            inside = archive.read(info)
            yield info.filename, inside
            if inside.startswith(b"PK"):
                yield from members(inside)


def repacked(path: Path, change: Callable[[dict[str, object]], None], **others: bytes) -> Path:
    """Write the file anew with a manifest that somebody has changed."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(content["manifest.json"])
    change(manifest)
    content["manifest.json"] = json.dumps(manifest).encode()
    target = path.with_name("changed.strobe")
    target.write_bytes(pack_archive(content | others))
    return target


def in_another_process(code: str, folder: Path, *arguments: str) -> str:
    """Run code in an empty folder; return what it has printed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        cwd=folder, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


TWIN = """
import hashlib, sys
import numpy as np
import stroboscope.engine as physics
scene = physics.load_scene(sys.argv[1])
for number in range(60):
    scene.ctrl[:] = np.sin(number / 7.0)
    scene.step()
state = scene.data.qpos.tobytes() + scene.data.qvel.tobytes() + scene.data.qacc.tobytes()
print(hashlib.sha256(state).hexdigest(), scene.world.codec.digest.hex())
"""


def digest_of(state: bytes) -> str:
    return hashlib.sha256(state).hexdigest()


# --- there and back


def test_a_scene_steps_to_the_same_bits_in_another_process_and_folder_without_assets(
    arm: Path, tmp_path: Path
) -> None:
    scene = physics.create_scene(
        "Arm", arm, options=physics.SceneOptions(integrator="implicitfast")
    )
    file = scene.export(tmp_path / "arm.strobe")
    shutil.rmtree(arm.parent)
    (tmp_path / "empty").mkdir()
    state, digest = in_another_process(TWIN, tmp_path / "empty", str(file)).split()
    assert digest == scene.world.codec.digest.hex()
    assert state == digest_of(stepped(scene))


@pytest.mark.parametrize("robot", few(["aloha", "shadow_hand", "yam", "g1"], 1))
def test_real_robots_travel_exactly_and_their_portable_model_is_the_same(
    robot: str, robot_model: Callable[[str], Path], tmp_path: Path
) -> None:
    scene = physics.create_scene(robot, robot_model(robot))
    file = scene.export(tmp_path / "robot.strobe")
    state, digest = in_another_process(TWIN, tmp_path, str(file)).split()
    assert digest == scene.world.codec.digest.hex()
    assert state == digest_of(stepped(scene))
    if not WRITES_ALL_DIGITS:
        return
    # As another version of MuJoCo would have to: from the portable model.
    other = repacked(file, lambda manifest: manifest.update(engine_version="4.0.99"))
    state, digest = in_another_process(TWIN, tmp_path, str(other)).split()
    assert digest == scene.world.codec.digest.hex()
    assert state == digest_of(stepped(physics.create_scene(robot, robot_model(robot))))


def test_a_scene_may_be_exported_before_and_after_the_first_step_to_the_same_bytes(
    arm: Path, tmp_path: Path
) -> None:
    scene = physics.create_scene("Arm", arm)
    before = scene.export(tmp_path / "before.strobe").read_bytes()
    stepped(scene)
    assert scene.export(tmp_path / "after.strobe").read_bytes() == before


def test_the_same_script_makes_the_same_file_in_another_folder(arm: Path, tmp_path: Path) -> None:
    other = write_arm(tmp_path / "root" / "another" / "place" / "that" / "is" / "deeper")
    one = physics.create_scene("Arm", arm)
    first = one.export(tmp_path / "one.strobe").read_bytes()
    one.destroy()
    two = physics.create_scene("Arm", other)
    assert two.world.codec.digest == one.world.codec.digest
    assert two.export(tmp_path / "two.strobe").read_bytes() == first


def test_a_file_names_no_folder_no_user_and_no_computer(
    arm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER", "miller-the-user")
    monkeypatch.chdir(tmp_path)
    scene = physics.create_scene("Arm", arm)
    content = scene.export(tmp_path / "arm.strobe").read_bytes()
    secrets = {str(tmp_path), "somebody", "elsewhere", "miller-the-user", socket.gethostname()}
    secrets |= {str(Path.home()), os.path.expanduser("~"), sys.prefix}
    if len(getuser()) > 4:
        secrets.add(getuser())
    found = dict(members(content))
    assert {"manifest.json", "model.mjb", "model.mjz", "description.json", "model.xml"} <= set(
        found
    )
    for name, inside in {**found, "the file itself": content}.items():
        for secret in secrets:
            assert secret.encode() not in inside, (name, secret)


def test_the_manifest_says_what_the_scene_is(arm: Path, tmp_path: Path) -> None:
    scene = physics.create_scene("Arm", arm, playback="free")
    scene.register_state("controller", lambda: 1.0, lambda value: None)
    content = scene.export(tmp_path / "arm.strobe").read_bytes()
    manifest = json.loads(dict(members(content))["manifest.json"])
    assert (manifest["format"], manifest["name"], manifest["origin"]) == (1, "Arm", "arm.xml")
    assert manifest["engine_version"] == mujoco.mj_versionString()
    assert manifest["model_digest"] == scene.world.codec.digest.hex()
    assert manifest["playback"] == "free"
    assert manifest["script_states"] == ["controller"]
    assert manifest["options"]["timestep"] == 0.002
    description = json.loads(dict(members(content))["description.json"])
    assert [joint["name"] for joint in description["joints"]] == ["shoulder", "elbow"]


def test_what_was_written_into_the_model_comes_along(arm: Path, tmp_path: Path) -> None:
    scene = physics.create_scene("Arm", arm)
    scene.model.dof_damping[0] = 3.5
    scene.model.opt.gravity[2] = -1.6
    file = scene.export(tmp_path / "arm.strobe")
    twin = physics.load_scene(file)
    assert twin.model.dof_damping[0] == 3.5
    assert twin.world.codec.digest == scene.world.codec.digest
    assert {change.field for change in twin.world.codec.fields.changes(twin.model)} == {
        "dof_damping",
        "opt.gravity",
    }
    assert stepped(twin) == stepped(scene)


def test_a_checkpoint_of_the_scene_fits_its_twin_from_a_file(arm: Path, tmp_path: Path) -> None:
    scene = physics.create_scene("Arm", arm)
    stepped(scene, 20)
    checkpoint = scene.checkpoint("half way")
    twin = physics.Scene.load(scene.export(tmp_path / "arm.strobe"))
    assert twin.restore(checkpoint).is_exact
    assert stepped(twin) == stepped(scene)


def test_a_loaded_scene_can_be_exported_again_with_its_portable_model(
    arm: Path, tmp_path: Path
) -> None:
    first = physics.create_scene("Arm", arm).export(tmp_path / "first.strobe")
    again = physics.load_scene(first).export(tmp_path / "second.strobe")
    one, two = dict(members(first.read_bytes())), dict(members(again.read_bytes()))
    assert one["model.mjz"] == two["model.mjz"]
    assert one["model.mjb"] == two["model.mjb"]


@needs_batch
def test_a_scene_of_many_environments_comes_back_with_as_many_and_their_own_values(
    arm: Path, tmp_path: Path
) -> None:
    scene = physics.create_scene("Arms", arm, n_envs=3)
    scene.expand("body_mass")[:, 1] = [1.0, 2.0, 3.0]
    file = scene.export(tmp_path / "arms.strobe")
    twin = physics.load_scene(file)
    assert isinstance(twin, physics.BatchScene)
    assert twin.n_envs == 3
    assert twin.expand("body_mass")[:, 1].tolist() == [1.0, 2.0, 3.0]
    for _ in range(20):
        scene.ctrl[:] = 0.3
        twin.ctrl[:] = 0.3
        scene.step()
        twin.step()
    assert twin.qpos.tobytes() == scene.qpos.tobytes()
    assert physics.load_scene(file, n_envs=5).n_envs == 5
    assert isinstance(physics.Scene.load(file), physics.Scene)


def test_overrides_replace_what_the_file_says(arm: Path, tmp_path: Path) -> None:
    file = physics.create_scene("Arm", arm).export(tmp_path / "arm.strobe")
    scene = physics.load_scene(
        file, name="Other", playback="free", options=physics.SceneOptions(timestep=0.004)
    )
    assert scene.name == "Other"
    assert scene.model.opt.timestep == 0.004
    assert str(scene.playback) == "free"
    with pytest.raises(TypeError, match="give n_envs"):
        physics.BatchScene.load(file)


# --- what can't travel


def test_an_adopted_model_travels_as_it_is_and_the_file_says_that_it_has_no_source(
    arm: Path, tmp_path: Path
) -> None:
    model = mujoco.MjModel.from_xml_path(str(arm))
    scene = physics.create_scene("Arm", model, data=mujoco.MjData(model))
    file = scene.export(tmp_path / "arm.strobe")
    found = dict(members(file.read_bytes()))
    assert "model.mjz" not in found
    assert "adopted" in json.loads(found["manifest.json"])["portable_note"]
    assert stepped(physics.load_scene(file)) == stepped(scene)
    other = repacked(file, lambda manifest: manifest.update(engine_version="4.0.99"))
    with pytest.raises(FileVersionError, match=r"4\.0\.99.*no portable model.*adopted"):
        physics.load_scene(other)


def test_callbacks_that_change_the_physics_are_refused_by_name_unless_they_may_be_missing(
    arm: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = physics.create_scene("Arm", arm)
    mujoco.set_mjcb_control(lambda model, data: None)
    mujoco.set_mjcb_passive(lambda model, data: None)
    try:
        with pytest.raises(physics.EngineError, match="mjcb_control, mjcb_passive change") as error:
            scene.export(tmp_path / "arm.strobe")
        assert "allow_missing=['mjcb_control', 'mjcb_passive']" in str(error.value)
        with pytest.raises(physics.EngineError, match="mjcb_passive changes"):
            scene.export(tmp_path / "arm.strobe", allow_missing=["mjcb_control"])
        assert not list(tmp_path.glob("*.strobe"))
        file = scene.export(tmp_path / "arm.strobe", allow_missing=["mjcb_control", "mjcb_passive"])
    finally:
        mujoco.set_mjcb_control(None)
        mujoco.set_mjcb_passive(None)
    physics.load_scene(file)
    assert "exported without mjcb_control, mjcb_passive" in caplog.text
    with pytest.raises(TypeError, match="allow_missing must be a list"):
        scene.export(tmp_path / "arm.strobe", allow_missing="mjcb_control")


def test_what_only_observes_is_warned_of_by_name(
    arm: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = physics.create_scene("Arm", arm)
    scene.register_post_step_callback(lambda: None)
    scene.debug_draw.arrow([0, 0, 0], [0, 0, 1])
    scene.register_state("gains", lambda: 1, lambda value: None)
    scene.export(tmp_path / "arm.strobe")
    for words in ("post_step callbacks", "debug_draw", "the script state 'gains'"):
        assert words in caplog.text


def test_plugins_of_mujoco_travel_by_their_names(tmp_path: Path) -> None:
    text = """
    <mujoco>
      <extension><plugin plugin="mujoco.pid"><instance name="pid">
        <config key="kp" value="3"/></instance></plugin></extension>
      <worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>
      <actuator><plugin name="a" joint="j" plugin="mujoco.pid" instance="pid"/></actuator>
    </mujoco>
    """
    scene = physics.create_scene("Servo", text)
    file = scene.export(tmp_path / "servo.strobe")
    manifest = json.loads(dict(members(file.read_bytes()))["manifest.json"])
    assert list(manifest["plugins"].values()) == ["mujoco.pid"]
    assert stepped(physics.load_scene(file)) == stepped(scene)
    # A script's own model has no portable one beside it.
    adopted = physics.create_scene("Mine", scene.model, data=mujoco.MjData(scene.model))
    own = adopted.export(tmp_path / "mine.strobe")
    assert stepped(physics.load_scene(own)) == stepped(adopted)
    # Where the number means another plugin, the portable model is taken, which has the name.
    number = next(iter(manifest["plugins"]))
    other = repacked(file, lambda m: m.update(plugins={number: "mujoco.sdf.bolt"}))
    twin = physics.load_scene(other)
    if WRITES_ALL_DIGITS:
        assert twin.world.codec.digest == scene.world.codec.digest


def test_a_written_asset_is_refused_until_it_counts_as_the_scenes_own(
    arm: Path, tmp_path: Path
) -> None:
    scene = physics.create_scene("Arm", arm)
    scene.model.hfield_data[0] = 0.5
    with pytest.raises(physics.StateError, match=r"hfield_data was written into.*model_changed"):
        scene.export(tmp_path / "arm.strobe")
    scene.model_changed()
    twin = physics.load_scene(scene.export(tmp_path / "arm.strobe"))
    assert twin.model.hfield_data[0] == 0.5


def test_assets_that_are_gone_leave_the_exact_model_alone_and_say_so(
    arm: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = physics.create_scene("Arm", arm)
    shutil.rmtree(arm.parent)
    found = dict(members(scene.export(tmp_path / "arm.strobe").read_bytes()))
    assert "model.mjz" not in found
    assert "can't be gathered" in json.loads(found["manifest.json"])["portable_note"]
    assert "holds no portable model: its source can't be gathered" in caplog.text


# --- other versions, damage


def test_another_build_says_that_it_is_the_same_model_or_in_what_it_differs(
    arm: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    file = physics.create_scene("Arm", arm).export(tmp_path / "arm.strobe")
    other = repacked(file, lambda manifest: manifest.update(engine_version="4.0.99"))
    physics.load_scene(other)
    if WRITES_ALL_DIGITS:
        assert "same model, other build" in caplog.text
    caplog.clear()
    heavier = physics.create_scene("Arm", arm)
    heavier.model.body_mass[1] *= 2
    heavier.model_changed()
    file = heavier.export(tmp_path / "heavier.strobe")
    physics.load_scene(repacked(file, lambda m: m.update(engine_version="4.0.99")))
    assert "the physics may differ" in caplog.text
    assert "body_mass" in caplog.text
    assert "4.0.99" in caplog.text


@pytest.mark.parametrize(
    ("number", "advice"),
    [(7, "update Stroboscope to open it"), (0, r"open it with Stroboscope 9\.1, which wrote it")],
)
def test_another_format_is_refused_with_both_versions_and_what_opens_it(
    arm: Path, tmp_path: Path, number: int, advice: str
) -> None:
    file = physics.create_scene("Arm", arm).export(tmp_path / "arm.strobe")
    other = repacked(file, lambda m: m.update(format=number, stroboscope="9.1"))
    words = rf"format {number}, written by Stroboscope 9\.1; .*formats 1 to 1; {advice}$"
    with pytest.raises(FileVersionError, match=words):
        physics.load_scene(other)


def test_an_exact_model_that_is_another_one_is_damage(arm: Path, tmp_path: Path) -> None:
    file = physics.create_scene("Arm", arm).export(tmp_path / "arm.strobe")

    def other_digest(manifest: dict[str, object]) -> None:
        manifest["model_digest"] = "00" * 32

    with pytest.raises(FileDamagedError, match=r"model\.mjb is not the model"):
        physics.load_scene(repacked(file, other_digest))
    with pytest.raises(FileDamagedError, match="sha256"):
        physics.load_scene(repacked(file, lambda m: None, **{"description.json": b"{}"}))
    with pytest.raises(FileFormatError, match="'extra' in it is not in its manifest"):
        physics.load_scene(repacked(file, lambda m: None, extra=b"x"))


@pytest.mark.parametrize(
    "change",
    [
        {"field": "__class__"}, {"field": "opt.__init__"}, {"field": "nothing"},
        {"dtype": "O"}, {"shape": [5]}, {"shape": [-1]}, {"dtype": "x"}, {"field": "nq"},
    ],
)  # fmt: skip
def test_changes_that_no_model_can_have_are_damage(
    change: dict[str, object], arm: Path, tmp_path: Path
) -> None:
    scene = physics.create_scene("Arm", arm)
    scene.model.dof_damping[0] = 3.5
    file = scene.export(tmp_path / "arm.strobe")
    with pytest.raises(FileDamagedError, match="was written into its model"):
        physics.load_scene(repacked(file, lambda m: m["changes"][0].update(change)))


def test_addresses_that_lead_nowhere_are_found_before_they_are_used_here(
    arm: Path, tmp_path: Path
) -> None:
    scene = physics.create_scene("Arm", arm)
    scene.model.geom_dataid[1] = 1_000_000
    scene.model.body_parentid[2] = 2
    file = scene.export(tmp_path / "arm.strobe")
    with pytest.raises(FileDamagedError, match=r"MuJoCo can't load what they make of the model"):
        physics.load_scene(file)


@needs_batch
def test_addresses_of_single_environments_are_looked_at_as_well(arm: Path, tmp_path: Path) -> None:
    many = physics.create_scene("Arms", arm, n_envs=2)
    many.expand("body_mass")[:, 1] = [1.0, 2.0]
    file = many.export(tmp_path / "arms.strobe")
    bad = np.full((2, many.model.ngeom), 1_000_000, np.int32)

    def other_field(manifest: dict[str, object]) -> None:
        manifest["changes"][0].update(
            field="geom_dataid", dtype="<i4", shape=list(bad.shape),
            content=base64.b64encode(bad.tobytes()).decode(),
        )  # fmt: skip

    damaged = repacked(file, other_field)
    with pytest.raises(FileDamagedError, match="MuJoCo can't load what they make of the model"):
        physics.load_scene(damaged)


@needs_batch
def test_more_environments_than_fit_are_refused_and_fewer_may_be_asked_for(
    arm: Path, tmp_path: Path
) -> None:
    file = physics.create_scene("Arms", arm, n_envs=2).export(tmp_path / "arms.strobe")
    huge = repacked(file, lambda manifest: manifest.update(n_envs=2**40))
    with pytest.raises(FileFormatError, match=r"1,099,511,627,776 environments.*n_envs=…"):
        physics.load_scene(huge)
    assert physics.load_scene(huge, n_envs=3).n_envs == 3


@pytest.mark.parametrize("name", ["", " ", "x" * 5000, "two\nlines", "\u202eback"])
def test_a_name_that_nobody_could_read_is_replaced_by_the_file_s(
    name: str, arm: Path, tmp_path: Path
) -> None:
    file = physics.create_scene("Arm", arm).export(tmp_path / "arm.strobe")
    assert physics.load_scene(repacked(file, lambda m: m.update(name=name))).name == "changed"


def test_what_was_written_into_the_model_is_written_into_that_of_another_build(
    arm: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = physics.create_scene("Arm", arm)
    scene.model.body_mass[1] *= 2
    scene.model_changed()  # the portable model does not know it
    scene.model.dof_damping[0] = 3.5
    other = repacked(
        scene.export(tmp_path / "arm.strobe"), lambda m: m.update(engine_version="4.0.99")
    )
    twin = physics.load_scene(other)
    assert "the physics may differ" in caplog.text
    assert twin.model.dof_damping[0] == 3.5


def test_what_is_no_scene_is_refused_by_what_it_is(tmp_path: Path) -> None:
    for name, content, words in (
        ("text", b"hello", "begins with"),
        ("trajectory.mcap", b"\x89MCAP0\r\n" + b"\0" * 50, "it is a recorded run"),
        ("archive.zip", pack_archive({"readme": b"x"}), "no MJCF file in it"),
        ("scene.strobe", pack_archive({"manifest.json": b"{"}), "manifest.json can't be read"),
        ("other.strobe", pack_archive({"manifest.json": b"{}"}), "manifest.json can't be read"),
        ("empty", b"", "begins with"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileFormatError if "can't" not in words else FileDamagedError) as error:
            physics.load_scene(tmp_path / name)
        assert words in str(error.value)
        assert name in str(error.value)


def test_plain_models_of_every_kind_can_be_loaded(arm: Path, tmp_path: Path) -> None:
    model = mujoco.MjModel.from_xml_path(str(arm))
    mujoco.mj_saveModel(model, str(tmp_path / "arm.mjb"), None)
    spec = mujoco.MjSpec.from_file(str(arm))
    if WRITES_ALL_DIGITS:
        spec.encode(str(tmp_path / "arm.mjz"), spec.compile())
        assert physics.load_scene(tmp_path / "arm.mjz").model.nq == 2
    (tmp_path / "r.urdf").write_text(
        '<robot name="wheels"><link name="a"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
    )
    state = stepped(physics.load_scene(arm))
    assert stepped(physics.load_scene(tmp_path / "arm.mjb")) == state
    assert physics.load_scene(tmp_path / "r.urdf").name == "wheels"


def test_a_scene_can_be_loaded_from_bytes_that_are_in_no_file(arm: Path, tmp_path: Path) -> None:
    scene = physics.create_scene("Arm", arm)
    content = scene.export(tmp_path / "arm.strobe").read_bytes()
    twin = physics.load_scene("run.mcap", content=content)
    assert stepped(twin) == stepped(scene)
    with pytest.raises(FileFormatError, match=r"run\.mcap.*lies outside"):
        physics.load_scene("run.mcap", content=b'<mujoco><include file="/etc/passwd"/></mujoco>')


def test_a_file_that_can_not_be_written_leaves_the_old_one(arm: Path, tmp_path: Path) -> None:
    scene = physics.create_scene("Arm", arm)
    with pytest.raises(FileWriteError, match="nowhere"):
        scene.export(tmp_path / "nowhere" / "arm.strobe")
    file = scene.export(tmp_path / "arm.strobe")
    assert [each.name for each in tmp_path.glob("*.strobe")] == [file.name]
    assert not list(tmp_path.glob(".*.part"))


def test_without_the_packages_for_files_the_error_says_how_to_get_them(
    arm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = physics.create_scene("Arm", arm)
    monkeypatch.setitem(sys.modules, "defusedxml", None)
    for action in (
        lambda: scene.export(tmp_path / "arm.strobe"),
        lambda: physics.load_scene(arm),
    ):
        with pytest.raises(FilesUnavailableError, match=r'pip install "stroboscope\[files\]"'):
            action()
