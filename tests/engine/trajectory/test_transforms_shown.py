"""A recording whose model can't be built here still shows where everything was."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.scene_description import GeomType
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.errors import ModelError
from stroboscope.engine.files.copying import messages_by_kind
from stroboscope.engine.files.errors import FileError, FileFormatError
from stroboscope.engine.files.low_rate import MessageSchema
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.writer import TrajectoryWriter
from stroboscope.engine.foxglove_messages import SCENE, TRANSFORMS, encoded
from stroboscope.engine.trajectory.recorded_transforms import RecordedTransforms
from stroboscope.engine.trajectory.showing import show_trajectory

MODEL = """
<mujoco>
  <option timestep="0.004"/>
  <asset><mesh name="pyramid" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale=".1 .1 .1"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="arm" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" rgba="1 0 0 1"/>
    </body>
    <body name="ball" pos=".4 .05 .9"><freejoint/><geom type="ellipsoid" size=".06 .05 .04"/></body>
    <body name="thing" pos="1 0 .9"><freejoint/><geom type="mesh" mesh="pyramid"/></body>
  </worldbody>
</mujoco>
"""
OTHER = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
SHOW = """
import sys
from stroboscope.engine.trajectory.showing import show_trajectory

show_trajectory(sys.argv[1], launch=False)
"""


def copied(path: Path, target: Path, change: Callable[[bytes], bytes], *, tools: bool) -> Path:
    """Copy a file with other models in it; ``tools``: with what other tools show."""
    with TrajectoryReader(path) as reader:
        models = {
            name: change(reader.attachment(name))
            for name in reader.attachments
            if name.endswith((".strobe", ".zst"))
        }
        with TrajectoryWriter(target, reader.manifest, attachments=models) as writer:
            for place in reader.block_order():
                writer.write_encoded_block(place[0], reader.encoded_block(*place))
            for kind, messages in messages_by_kind(reader.messages()):
                kept = [m for m in messages if tools or m.channel.topic[:5] == "/stro"]
                writer.copy_messages(kept, kind)
    return target


@pytest.fixture
def unbuildable(tmp_path: Path) -> Callable[..., tuple[Path, Any, Any]]:
    """``unbuildable(tools=True)``: a file with another model in it, the real one, its last row."""

    def make(*, tools: bool = True, model: bytes = b"") -> tuple[Path, Any, Any]:
        other = tmp_path / "other.strobe"
        scene = physics.create_scene("other", OTHER)
        scene.export(other)
        scene.destroy()
        scene = physics.create_scene("real", MODEL)
        file = physics.TrajectoryFile(tmp_path / "run.mcap", transforms_hz=1e6)
        with scene.start_recording(file) as recording:
            for _ in range(4_000):
                scene.step()
        row = np.empty(mujoco.mj_stateSize(scene.model, mujoco.mjtState.mjSTATE_INTEGRATION))
        mujoco.mj_getState(scene.model, scene.data, row, mujoco.mjtState.mjSTATE_INTEGRATION)
        real = scene.model
        scene.destroy()
        path = tmp_path / "broken.mcap"
        copied(recording.path, path, lambda _: model or other.read_bytes(), tools=tools)
        return path, real, row

    return make


def pose_of(model: Any, row: Any) -> Any:
    """Return where the bodies are in a state."""
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, row, mujoco.mjtState.mjSTATE_INTEGRATION)
    mujoco.mj_kinematics(model, data)
    return data.xpos


@contextlib.contextmanager
def shown(start_warm: Callable[..., Any], path: Path) -> Iterator[tuple[Any, Any]]:
    """Show a file in a process of its own."""
    script = start_warm(SHOW, str(path))
    with script.connect() as client:
        assert client.wait_until(lambda c: c.scenes() and c.history(c.scenes()[0].scene_id), 60)
        yield client, client.scenes()[0]
    code, _, errors = script.end()
    assert code == 0, errors


def next_pose(client: Any) -> Any:
    """Return the next frame that has poses."""
    while (frame := client.next_frame(30)) is not None:
        if frame.topic is Topic.POSE:
            return frame
    raise AssertionError("no frame came")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no model"])
def test_it_is_looked_at_pose_by_pose_and_says_what_it_is(
    unbuildable: Callable[..., Any], start_warm: Callable[..., Any], content: bytes
) -> None:
    path, model, last = unbuildable(model=content)
    with pytest.raises((ModelError, FileError)), physics.load_trajectory(path) as trajectory:
        _ = trajectory.scene
    with shown(start_warm, path) as (client, scene):
        assert client.wait_until(lambda c: c.history(scene.scene_id).view == 0, 60)
        told = client.history(scene.scene_id)
        assert told.recording == "broken.mcap"
        assert told.rows == told.recording_end > 1
        description = client.description(scene.scene_id)
        names = [body.name for body in description.bodies]
        assert names[0] == "world"
        assert set(names) == {"world", "arm", "ball", "thing"}
        assert any("recorded transforms" in note for note in description.notes)
        assert client.wait_until(
            lambda c: any("recorded transforms" in each.text for each in c.log_entries()), 60
        )
        order = [names.index(name) for name in ("world", "arm", "ball", "thing")]
        client.subscribe(scene.scene_id, [Topic.POSE])
        client.goto(scene.scene_id, axis=told.rows)
        frame = next_pose(client)
        while frame.axis != told.rows:
            frame = next_pose(client)
        assert frame.arrays["xpos"][order] == pytest.approx(pose_of(model, last), abs=1e-6)
        assert frame.time == last[0]
        client.step_back(scene.scene_id, 1)
        assert client.history(scene.scene_id).view == told.rows - 1
        with pytest.raises(CommandError, match="no model"):
            client.continue_from_here(scene.scene_id)


def test_shapes_come_back(unbuildable: Callable[..., Any]) -> None:
    path, _, _ = unbuildable()
    with TrajectoryReader(path) as reader:
        transforms = RecordedTransforms(reader, reader.scene(0))
    description = transforms.describe(1, "real", source="", note="")
    by_body: dict[str, list[Any]] = {}
    for geom in description.geoms:
        by_body.setdefault(description.bodies[geom.body].name, []).append(geom)
    (floor,) = by_body["world"]
    assert (floor.type, floor.size[:2]) == (GeomType.BOX, (2.0, 2.0))
    assert sorted(geom.type for geom in by_body["arm"]) == sorted(
        [GeomType.CYLINDER, GeomType.ELLIPSOID, GeomType.ELLIPSOID]
    )
    assert by_body["arm"][0].rgba == (1.0, 0.0, 0.0, 1.0)
    (ball,) = by_body["ball"]
    assert ball.size == pytest.approx((0.06, 0.05, 0.04))
    (thing,) = by_body["thing"]
    (mesh,) = description.meshes
    assert (thing.mesh, mesh.nvert, mesh.nface) == (0, 4, 4)
    assert transforms.asset(mesh.digest)


def test_without_transforms_it_says_why_the_model_can_not_be_built(
    unbuildable: Callable[..., Any],
) -> None:
    path, _, _ = unbuildable(tools=False)
    with pytest.raises(ModelError, match="its rows have"):
        show_trajectory(path, launch=False, timeout_seconds=0.0)


def _hostile(tmp_path: Path, messages: list[tuple[str, MessageSchema, bytes]]) -> Path:
    scene = physics.create_scene("real", MODEL)
    file = physics.TrajectoryFile(tmp_path / "run.mcap", transforms_hz=None)
    with scene.start_recording(file) as recording:
        scene.step()
    path = tmp_path / "hostile.mcap"
    with (
        TrajectoryReader(recording.path) as reader,
        TrajectoryWriter(path, reader.manifest, attachments={}) as writer,
    ):
        for number, (topic, schema, data) in enumerate(messages):
            writer.write_message(topic, "json", schema, data, number)
    return path


def _transform(name: str, x: Any = 0.0) -> dict[str, Any]:
    return {
        "child_frame_id": name,
        "translation": {"x": x, "y": 0.0, "z": 0.0},
        "rotation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
    }


def test_what_is_not_as_it_was_written_is_passed_over(tmp_path: Path) -> None:
    pose = {"position": {"x": 0, "y": 0, "z": 0}, "orientation": {"x": 0, "y": 0, "z": 0, "w": 1}}
    flat: dict[str, Any] = {"pose": pose, "color": dict.fromkeys("rgba", 1.0)}
    corner = {"x": 0.0, "y": 0.0, "z": 0.0}
    entity = {
        "id": "a",
        "frame_id": "a",
        "cubes": [flat | {"size": {"x": size, "y": 1.0, "z": 1.0}} for size in (-1.0, 1e30, 1.0)],
        "triangles": [
            flat | {"points": [corner], "indices": indices}
            for indices in ([0, 1, 0], [-1, 0, 0], [0, 0], [1 << 40, 0, 0], [], [0, 0, 0])
        ],
    }
    deep = b"[" * 100_000 + b"]" * 100_000
    path = _hostile(
        tmp_path,
        [
            ("/scene", SCENE, b'{"entities": 3}'),
            ("/scene", SCENE, b'{"extra": ' + deep + b"}"),
            ("/scene", SCENE, encoded({"entities": [entity]})),
            ("/tf", TRANSFORMS, b"\xff\xfe"),
            ("/tf", TRANSFORMS, json.dumps({"transforms": [{"child_frame_id": "a"}]}).encode()),
            ("/tf", TRANSFORMS, b'{"transforms": []}'),
            ("/tf", TRANSFORMS, encoded({"transforms": [_transform("a", 1e30)]})),
            ("/tf", TRANSFORMS, encoded({"transforms": [_transform("a", 2.0), _transform("b")]})),
        ],
    )
    with TrajectoryReader(path) as reader:
        transforms = RecordedTransforms(reader, reader.scene(0))
    assert transforms.bodies == ("world", "a", "b")
    assert len(transforms) == 2
    assert np.isnan(transforms.pose(0)["xpos"][1:]).all()
    assert transforms.pose(1)["xpos"][:, 0].tolist() == [0.0, 2.0, 0.0]
    description = transforms.describe(1, "x", source="", note="")
    assert [geom.type for geom in description.geoms] == [GeomType.BOX, GeomType.MESH]


def test_a_file_without_any_says_so(tmp_path: Path) -> None:
    path = _hostile(tmp_path, [("/tf", TRANSFORMS, b'{"transforms": []}')])
    with (
        TrajectoryReader(path) as reader,
        pytest.raises(FileFormatError, match="no transforms of 'real'"),
    ):
        RecordedTransforms(reader, reader.scene(0))
