"""What other tools show of a recording itself: read back with the ``mcap`` package."""

import itertools
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from mcap.reader import make_reader

import stroboscope.engine as physics
from stroboscope.engine import foxglove_messages
from stroboscope.engine.files.cut import cut
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.repair import repair

Make = Callable[..., physics.Scene]
OracleOf = Callable[..., Any]
Read = Callable[..., Any]
Found = dict[str, list[tuple[int, Any]]]


def found_in(path: Path) -> Found:
    """Return (log time [ns], message) by topic, of all that is in JSON."""
    found: Found = {}
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        for schema, channel, message in reader.iter_messages():
            if channel.message_encoding == "json":
                assert schema is not None
                assert schema.encoding == "jsonschema"
                content = json.loads(message.data)
                _check(json.loads(schema.data), content)
                found.setdefault(channel.topic, []).append((message.log_time, content))
    return found


_KINDS: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
    "number": (int, float, type(None)),
}  # fmt: skip


def _check(schema: dict[str, Any], value: Any) -> None:
    """Check that a message is what its schema says, and has nothing that this does not name."""
    assert isinstance(value, _KINDS[schema["type"]]), (schema, value)
    if isinstance(value, dict) and "properties" in schema:
        for name, part in value.items():
            _check(schema["properties"][name], part)
    elif isinstance(value, list):
        for part in value:
            _check(schema["items"], part)


def poses_of(model: mujoco.MjModel, row: Any) -> dict[str, tuple[Any, Any]]:
    """Return what MuJoCo says of each body's pose in a state, by name."""
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, row, mujoco.mjtState.mjSTATE_INTEGRATION)
    mujoco.mj_forward(model, data)
    return {
        model.body(body).name: (data.xpos[body].copy(), data.xquat[body].copy())
        for body in range(1, model.nbody)
    }


def check_poses(message: Any, poses: dict[str, tuple[Any, Any]], prefix: str = "") -> None:
    """Check that a message says just where the bodies are."""
    transforms = {each["child_frame_id"]: each for each in message["transforms"]}
    assert transforms.keys() == {prefix + name for name in poses}
    for name, (position, quat) in poses.items():
        each = transforms[prefix + name]
        assert each["parent_frame_id"] == "world"
        assert [each["translation"][axis] for axis in "xyz"] == pytest.approx(position, abs=1e-6)
        assert [each["rotation"][axis] for axis in "wxyz"] == pytest.approx(quat, abs=1e-6)


def test_other_tools_read_transforms_shapes_signals_and_log_of_a_recording(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    scene.start_recording(tmp_path / "run.mcap")
    oracle.step(30)
    scene.reset()
    oracle.step(30)
    path = scene.stop_recording()
    rows = oracle.array()
    found = found_in(path)
    (_, update) = found["/scene"][0]
    assert len(found["/scene"]) == 1
    frames = {entity["frame_id"] for entity in update["entities"]}
    assert "world" in frames
    assert all(entity["frame_locked"] for entity in update["entities"])
    assert frames <= {"world", *poses_of(scene.model, rows[0])}
    check_poses(found["/tf"][0][1], poses_of(scene.model, rows[0]))
    check_poses(found["/tf"][-1][1], poses_of(scene.model, rows[-1]))
    (_, signals) = found["/signals"][-1]
    joint = scene.model.joint(0).name
    assert signals["joint"][joint]["q"] == pytest.approx(rows[-1][1], rel=1e-6)
    assert set(signals["joint"][joint]) == {"q", "v"}
    actuator = scene.model.actuator(0).name
    assert signals["actuator"][actuator]["ctrl"] == pytest.approx(scene.ctrl[0], rel=1e-6)
    assert [message["message"] for _, message in found["/log"]] == [
        "begin: recording begins",
        "episode: reset",
    ]
    # The states are what they were.
    assert read(path).rows.tobytes() == rows.tobytes()
    with physics.load_trajectory(path) as trajectory:
        assert len(trajectory) == 61
        assert not trajectory.signals


def test_transforms_come_as_often_as_wanted_by_the_clock_on_the_wall(
    make_scene: Make, tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    scene = make_scene("arm")
    file = physics.TrajectoryFile(tmp_path / "run.mcap", transforms_hz=50)
    with scene.start_recording(file) as recording:
        clock = itertools.count()

        def stepped() -> bool:
            scene.step()
            return next(clock) > 50 and recording.frames > 400

        wait_until(stepped, 60)
    times = [time for time, _ in found_in(recording.path)["/tf"]]
    assert len(times) > 2
    # The last state is shown in any case; wall times are kept to a microsecond.
    assert min(np.diff(times[:-1])) > 0.02 * 1e9 - 2_000


def test_no_messages_for_others_where_none_are_wanted(make_scene: Make, tmp_path: Path) -> None:
    scene = make_scene("arm")
    file = physics.TrajectoryFile(tmp_path / "run.mcap", transforms_hz=None)
    with scene.start_recording(file) as recording:
        scene.step()
    assert found_in(recording.path).keys() == {"/stroboscope/scene/0/events"}
    with pytest.raises(ValueError, match="transforms_hz"):
        physics.TrajectoryFile(tmp_path / "run.mcap", transforms_hz=0)


def test_frames_of_several_scenes_have_the_name_of_theirs_before_them(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path
) -> None:
    first, second = make_scene("arm"), make_scene("cart_with_double_pendulum")
    oracles = [oracle_of(first), oracle_of(second)]
    recording = physics.start_recording(tmp_path / "run.mcap", scenes=[first, second])
    for oracle in oracles:
        oracle.step(20)
    recording.stop()
    found = found_in(recording.path)
    for scene, oracle in zip((first, second), oracles, strict=True):
        prefix = f"{scene.name}/"
        mine = [
            message
            for _, message in found["/tf"]
            if message["transforms"][0]["child_frame_id"].startswith(prefix)
        ]
        check_poses(mine[-1], poses_of(scene.model, oracle.array()[-1]), prefix)
        assert f"/signals/{scene.name}" in found
    assert "/signals" not in found
    ids = [e["id"] for _, update in found["/scene"] for e in update["entities"]]
    assert len(set(ids)) == len(ids)
    assert {message["name"] for _, message in found["/log"]} == {first.name, second.name}


def test_chosen_environments_are_scenes_of_their_own(
    model_path: Callable[[str], Path], tmp_path: Path
) -> None:
    scene = physics.create_scene("envs", model_path("arm"), n_envs=3)
    file = physics.TrajectoryFile(tmp_path / "run.mcap", envs=[0, 2])
    with scene.start_recording(file) as recording:
        scene.step()
    found = found_in(recording.path)
    heads = {
        message["transforms"][0]["child_frame_id"].rpartition("/")[0] for _, message in found["/tf"]
    }
    assert heads == {"envs/env 0", "envs/env 2"}


SLEEPING = """
<mujoco>
  <option timestep="0.002"><flag sleep="enable"/></option>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="fixed" pos="0 2 0"><geom size=".1"/></body>
    <body name="falls" pos="0 0 .12"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
    <body name="rests" pos="1 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  </worldbody>
</mujoco>
"""


def test_bodies_that_sleep_are_where_they_are(oracle_of: OracleOf, tmp_path: Path) -> None:
    scene = physics.create_scene("sleeping", SLEEPING)
    scene.start_recording(tmp_path / "run.mcap")
    oracle = oracle_of(scene)
    oracle.step(2_000)
    scene.data.qpos[7] = 2.0
    oracle.step(5)
    path = scene.stop_recording()
    last = found_in(path)["/tf"][-1][1]
    plain = mujoco.MjModel.from_xml_string(SLEEPING.replace("enable", "disable"))
    check_poses(last, poses_of(plain, oracle.array()[-1]))


def test_edits_of_the_model_are_followed(make_scene: Make, tmp_path: Path) -> None:
    scene = make_scene("arm")
    first = scene.model.body(1).id
    scene.model.body_pos[first] += (0.0, 0.0, 0.5)
    with scene.start_recording(tmp_path / "run.mcap") as recording:
        scene.step()
        scene.model.body_pos[first] += (0.0, 0.0, 0.5)
        scene.step()
    last = found_in(recording.path)["/tf"][-1][1]["transforms"][0]
    assert last["translation"]["z"] == pytest.approx(scene.model.body_pos[first][2], abs=1e-6)


def test_each_of_several_files_can_be_shown_without_the_others(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path
) -> None:
    scene = make_scene("humanoid")
    file = physics.TrajectoryFile(tmp_path / "run.mcap", max_size=400_000, rotate=True)
    with scene.start_recording(file) as recording:
        oracle_of(scene).step(1_500)
    assert len(recording.paths) > 1
    for path in recording.paths:
        assert path.stat().st_size <= 400_000
        found = found_in(path)
        assert len(found["/scene"]) == 1
        assert found["/tf"]


TETRAHEDRA = """
<mujoco>
  <asset><mesh name="m" vertex="{points}"/></asset>
  <worldbody><body name="b" pos="0 0 1" quat="1 1 0 0"><freejoint/>
    <geom name="g" type="mesh" mesh="m" pos=".1 .2 .3" quat="1 0 1 0"/></body></worldbody>
</mujoco>
"""


@pytest.mark.parametrize("count", [20, 4_000])
def test_a_mesh_is_shown_as_triangles_below_a_size_and_as_its_box_above(
    tmp_path: Path, count: int
) -> None:
    points = np.random.default_rng(0).normal(size=(count, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    text = " ".join(f"{x:.6f}" for x in (points * (0.3, 0.2, 0.1)).ravel())
    scene = physics.create_scene("mesh", TETRAHEDRA.format(points=text))
    with scene.start_recording(tmp_path / "run.mcap") as recording:
        scene.step()
    (_, update) = found_in(recording.path)["/scene"][0]
    (entity,) = update["entities"]
    faces = int(scene.model.mesh_facenum[0])
    if faces < 2_000:
        (shape,) = entity["triangles"]
        assert len(shape["indices"]) == 3 * faces
        assert not entity["metadata"]
        return
    (box,) = entity["cubes"]
    # Where the corners of the box are in the body is where those of all vertices are.
    assert entity["metadata"] == [
        {"key": "g", "value": f"bounding box of a mesh of {faces:,} triangles"}
    ]
    model, data = scene.model, mujoco.MjData(scene.model)
    mujoco.mj_kinematics(model, data)
    turned = np.empty(9)
    mujoco.mju_quat2Mat(turned, [box["pose"]["orientation"][axis] for axis in "wxyz"])
    vertices = model.mesh_vert @ _matrix(model.geom_quat[0]).T + model.geom_pos[0]
    within = (vertices - [box["pose"]["position"][axis] for axis in "xyz"]) @ turned.reshape(3, 3)
    size = np.array([box["size"][axis] for axis in "xyz"])
    assert np.abs(within).max(axis=0) == pytest.approx(size / 2, rel=1e-3)


def _matrix(quat: Any) -> Any:
    turned = np.empty(9)
    mujoco.mju_quat2Mat(turned, quat)
    return turned.reshape(3, 3)


def test_a_recording_goes_on_where_nothing_can_be_shown_and_that_is_said_once(
    make_scene: Make,
    oracle_of: OracleOf,
    read: Read,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError("no room for another copy")

    monkeypatch.setattr(foxglove_messages.RowProbe, "pose", fail)
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    with caplog.at_level(logging.WARNING), scene.start_recording(tmp_path / "run.mcap") as made:
        oracle.step(600)
    assert read(made.path).rows.tobytes() == oracle.array().tobytes()
    assert made.error is None
    said = [each.message for each in caplog.records if "other tools" in each.message]
    assert len(said) == 1
    assert "no room for another copy" in said[0]


def test_names_that_are_no_text_don_t_end_a_recording(read: Read, tmp_path: Path) -> None:
    scene = physics.create_scene("a/b\n\"c\"", "<mujoco><worldbody><body name='ä \"x\"/'>"
        "<freejoint/><geom size='1'/></body></worldbody></mujoco>")  # fmt: skip
    with scene.start_recording(tmp_path / "run.mcap") as recording:
        scene.step()
    found = found_in(recording.path)
    assert found["/tf"][0][1]["transforms"][0]["child_frame_id"] == 'ä "x"/'


def test_bodies_that_are_nowhere_are_left_out(tmp_path: Path) -> None:
    scene = physics.create_scene(
        "lost",
        '<mujoco><worldbody><body name="a"><freejoint/><geom size=".1"/></body>'
        '<body name="b" mocap="true"/></worldbody></mujoco>',
    )
    with scene.start_recording(tmp_path / "run.mcap") as recording:
        scene.data.mocap_pos[0] = np.nan
        scene.step()
    last = found_in(recording.path)["/tf"][-1][1]
    assert [each["child_frame_id"] for each in last["transforms"]] == ["a"]


def test_a_part_of_a_recording_is_shown_too(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path
) -> None:
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    file = physics.TrajectoryFile(tmp_path / "run.mcap", transforms_hz=1e6)
    with scene.start_recording(file) as recording:
        oracle.step(4_000)
    cut(recording.path, tmp_path / "part.mcap", begin=1_000, end=3_000)
    found = found_in(tmp_path / "part.mcap")
    assert len(found["/scene"]) == 1
    assert found["/scene"][0][0] <= found["/tf"][0][0]
    (_, signals), (_, transforms) = found["/signals"][-1], found["/tf"][-1]
    times = np.array(oracle.rows)[:, 0]
    frame = int(np.searchsorted(times, signals["time"]))
    assert 1_000 <= frame < 3_000
    check_poses(transforms, poses_of(scene.model, oracle.rows[frame]))
    cut(recording.path, tmp_path / "begin.mcap", begin=0, end=10)
    assert len(found_in(tmp_path / "begin.mcap")["/scene"]) == 1


def test_the_saved_past_of_a_scene_is_shown_too(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path
) -> None:
    scene = make_scene("arm")
    file = physics.TrajectoryFile(tmp_path / "past.mcap", keep_last=10)
    scene.start_recording(file)
    oracle = oracle_of(scene)
    oracle.step(100)
    path = scene.stop_recording()
    found = found_in(path)
    check_poses(found["/tf"][-1][1], poses_of(scene.model, oracle.array()[-1]))
    assert found["/scene"]


KILLED = """
    import sys
    import stroboscope.engine as physics

    path, model = sys.argv[1:]
    scene = physics.create_scene("scene", model)
    scene.start_recording(path)
    while True:
        scene.step()
"""


def test_what_a_killed_process_has_said_to_others_is_there_after_a_repair(
    start_warm: Callable[..., Any],
    model_path: Callable[[str], Path],
    wait_until: Callable[..., None],
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.mcap"
    script = start_warm(KILLED, str(path), str(model_path("arm")))

    def has_transforms() -> bool:
        if not path.exists() or path.stat().st_size < 100_000:
            return False
        with TrajectoryReader(path) as reader:
            return any(message.channel.topic == "/tf" for message in reader.messages())

    script.wait_until(has_transforms, 60)
    script.process.kill()
    script.process.communicate()
    with TrajectoryReader(path) as reader:
        assert not reader.complete
        said = [m.channel.topic for m in reader.messages()]
        frames = reader.frame_count(0)
        model = physics.load_trajectory(path).scene.model
    repaired = repair(path).path
    found = found_in(repaired)
    for topic in ("/tf", "/scene", "/signals", "/log"):
        assert len(found[topic]) == said.count(topic) > 0
    with TrajectoryReader(repaired) as reader:
        assert reader.complete
        assert reader.frame_count(0) == frames
        first = reader.block(0, 0).rows[0]
    check_poses(found["/tf"][0][1], poses_of(model, first))
