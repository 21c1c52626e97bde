"""Files of other versions of MuJoCo, states of many environments, and what other programs read."""

import csv
import dataclasses
import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import mujoco
import numpy as np
import pytest
from mcap.reader import make_reader

import stroboscope.engine as physics
from stroboscope.app.main.cli import main
from stroboscope.engine.files.bundle import pack_archive
from stroboscope.engine.files.copying import messages_by_kind
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.writer import TrajectoryWriter

Start = Callable[..., Any]
REPOSITORY = Path(__file__).resolve().parents[3]
MCAP_CORE = REPOSITORY / ".cache/mcap_core/node_modules/@mcap/core"
FULL = mujoco.mjtState.mjSTATE_INTEGRATION
MODEL = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="arm" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    </body>
    <body name="ball" pos=".4 .05 .2"><freejoint/><geom size=".06"/></body>
  </worldbody>
  <actuator><position name="servo" joint="shoulder" kp="8"/></actuator>
</mujoco>
"""
# Before 4.0 MuJoCo writes fewer digits than its models have.
WRITES_ALL_DIGITS = hasattr(mujoco.MjSpec, "encode")


def row_of(scene: physics.Scene) -> bytes:
    row = np.empty(mujoco.mj_stateSize(scene.model, FULL))
    mujoco.mj_getState(scene.model, scene.data, row, FULL)
    return row.tobytes()


def recorded(path: Path, **options: Any) -> tuple[Path, list[bytes]]:
    """Record 60 steps; return the file and the row of each frame."""
    scene = physics.create_scene("Arm", MODEL)
    rows = []
    with scene.start_recording(physics.TrajectoryFile(path, **options)) as recording:
        for k in range(60):
            scene.ctrl[0] = np.sin(0.05 * k)
            scene.log("reward", 1.0 / (1.0 + k))
            rows.append(row_of(scene))
            scene.step()
        rows.append(row_of(scene))
    scene.destroy()
    return recording.path, rows


# --- another version of MuJoCo


def of_another_version(path: Path, target: Path, *, portable: bool = True) -> Path:
    """Copy a recording as if another MuJoCo had made it; with its portable model, or without."""

    def scene_of_another(content: bytes) -> bytes:
        path.with_suffix(".strobe").write_bytes(content)
        with zipfile.ZipFile(path.with_suffix(".strobe")) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(members["manifest.json"])
        manifest["engine_version"] = "4.0.99"
        if not portable:
            members.pop("model.mjz")
            manifest["members"].pop("model.mjz")
        members["manifest.json"] = json.dumps(manifest).encode()
        return pack_archive(members)

    with TrajectoryReader(path) as reader:
        attachments = {
            name: scene_of_another(reader.attachment(name))
            for name in reader.attachments
            if name.endswith(".strobe")
        }
        assert attachments
        manifest = msgspec.structs.replace(
            reader.manifest,
            engine_version="4.0.99",
            platform="another computer",
            scenes=tuple(
                msgspec.structs.replace(each, model=next(iter(attachments)))
                for each in reader.manifest.scenes
            ),
        )
        with TrajectoryWriter(target, manifest, attachments=attachments) as writer:
            for place in reader.block_order():
                writer.write_encoded_block(place[0], reader.encoded_block(*place))
            for kind, messages in messages_by_kind(reader.messages()):
                writer.copy_messages(list(messages), kind)
    return target


@pytest.mark.skipif(not WRITES_ALL_DIGITS, reason="its portable models differ in the last digits")
def test_a_run_of_another_version_goes_on_where_its_model_is_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    path, rows = recorded(tmp_path / "run")
    other = of_another_version(path, tmp_path / "other.mcap")
    with physics.load_trajectory(other) as trajectory:
        assert trajectory.frame(30).row.tobytes() == rows[30]
        trajectory.seek(30)
        scene = trajectory.scene
        assert "same model, other build" in caplog.text
        scene.step()
        scene.ctrl[0] = np.sin(0.05 * 31)
        assert row_of(scene) == rows[31]
        assert trajectory.verify().exit_code == 0


def test_a_run_of_another_version_without_a_portable_model_names_both_versions(
    tmp_path: Path,
) -> None:
    path, rows = recorded(tmp_path / "run")
    other = of_another_version(path, tmp_path / "other.mcap", portable=False)
    with physics.load_trajectory(other) as trajectory:
        # What was recorded is read all the same.
        assert trajectory.frame(-1).row.tobytes() == rows[-1]
        assert trajectory.signals["reward"].values[1] == 0.5
        with pytest.raises(physics.FileVersionError) as caught:
            _ = trajectory.scene
        assert "4.0.99" in str(caught.value)
        assert mujoco.mj_versionString() in str(caught.value)


def test_what_differs_on_another_computer_is_said_to_be_of_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = recorded(tmp_path / "run")
    with TrajectoryReader(path) as reader:
        manifest = msgspec.structs.replace(
            reader.manifest, engine_version="4.0.99", platform="another computer"
        )
        models = {
            name: reader.attachment(name)
            for name in reader.attachments
            if name != "stroboscope/manifest.json"
        }
        with TrajectoryWriter(tmp_path / "o.mcap", manifest, attachments=models) as writer:
            for number, place in enumerate(reader.block_order()):
                block = reader.block(*place)
                if not number:
                    rows = block.rows.copy()
                    rows[20, 2] += 1e-15
                    block = dataclasses.replace(block, rows=rows)
                writer.write_block(block)
    assert main(["verify", str(tmp_path / "o.mcap")]) == 1
    told = capsys.readouterr().out
    assert "differs from step 20 on" in told
    assert f"it was recorded with MuJoCo 4.0.99, this is {mujoco.mj_versionString()}" in told
    assert "it was recorded on another computer, this is " in told


# --- without building anything


def test_all_that_was_recorded_is_read_without_building_the_scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rows = recorded(tmp_path / "run")
    monkeypatch.setattr(
        "stroboscope.engine.trajectory.replayed_scene.build_scene",
        lambda *_: pytest.fail("the scene was built"),
    )
    with physics.load_trajectory(path) as trajectory:
        assert trajectory.seek(-7).index == 54
        for index, frame in enumerate(trajectory):
            assert frame.row.tobytes() == rows[index]
            assert frame.time == trajectory.time(index) == np.frombuffer(rows[index])[0]
        assert all(trajectory.timings(index)["step"] > 0.0 for index in range(1, 61))
        assert trajectory.signals["reward"].values.tolist() == [1 / (1 + k) for k in range(60)]
        assert [event.kind for event in trajectory.events] == ["begin"]


def test_the_last_frame_has_every_array_of_the_data_for_whoever_looks_why_it_failed(
    tmp_path: Path,
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    scene.start_recording(tmp_path / "run")
    scene.step(nstep=120)
    arrays = {
        name: np.array(getattr(scene.data, name))
        for name in ("xpos", "qacc", "qfrc_bias", "actuator_force", "efc_force", "sensordata")
    }
    contacts = np.array(scene.data.contact.dist)
    assert len(contacts), "something was meant to touch"
    with physics.load_trajectory(scene.stop_recording()) as trajectory:
        last = trajectory.last
        for name, values in arrays.items():
            assert last[name].tobytes() == values.tobytes(), name
        assert last["contact.dist"].tobytes() == contacts.tobytes()
        assert "to the last bit" in last.note


# --- many environments


def test_the_states_of_environments_go_back_each_into_its_own(tmp_path: Path) -> None:
    pytest.importorskip("mujoco.batch")
    many = physics.create_scene("Many", MODEL, n_envs=3)
    for _ in range(10):
        many.ctrl[:] = np.array([[0.1], [0.2], [0.3]])
        many.step()
    before = many.environments.state.copy()
    path = many.save_checkpoint(tmp_path / "there")
    many.step()
    assert many.load_checkpoint(path).is_exact
    assert many.environments.state.tobytes() == before.tobytes()


def test_the_scene_in_a_checkpoint_of_environments_has_them_all(tmp_path: Path) -> None:
    pytest.importorskip("mujoco.batch")
    many = physics.create_scene("Many", MODEL, n_envs=3)
    for _ in range(10):
        many.ctrl[:] = np.array([[0.1], [0.2], [0.3]])
        many.step()
    twin = physics.load_checkpoint(many.save_checkpoint(tmp_path / "there"))
    assert isinstance(twin, physics.BatchScene)
    assert twin.environments.state.tobytes() == many.environments.state.tobytes()


# --- other programs


def test_every_form_that_is_exported_holds_the_same_numbers(tmp_path: Path) -> None:
    path, rows = recorded(tmp_path / "run")
    for form in ("csv", "npz", "foxglove"):
        assert main(["export", str(path), "--to", form]) == 0
    all_rows = np.array([np.frombuffer(row) for row in rows])
    with path.with_suffix(".csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    table = np.array([[float(word or "nan") for word in line] for line in lines[1:]])
    assert table.shape[0] == 61
    time, shoulder = (lines[0].index(name) for name in ("time", "qpos_shoulder"))
    assert table[:, time].tobytes() == all_rows[:, 0].tobytes()
    assert table[:, shoulder].tobytes() == all_rows[:, 1].tobytes()
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as arrays:
        assert arrays["qpos"].tobytes() == np.ascontiguousarray(all_rows[:, 1:9]).tobytes()
    with path.with_suffix(".foxglove.mcap").open("rb") as file:
        signals = [
            json.loads(message.data)
            for _, channel, message in make_reader(file, validate_crcs=True).iter_messages()
            if channel.topic == "/signals"
        ]
    assert [each["joint"]["shoulder"]["q"] for each in signals] == all_rows[:, 1].tolist()


def fits(value: object, schema: dict[str, Any], definitions: dict[str, Any]) -> bool:
    """Return whether a value is what a JSON schema of the kind we write says."""
    if "$ref" in schema:
        return fits(value, definitions[schema["$ref"].rpartition("/")[2]], definitions)
    kinds = {
        "object": dict, "array": list, "string": str, "boolean": bool,
        "number": (int, float), "integer": int,
    }  # fmt: skip
    kind = schema.get("type")
    if kind is not None and not isinstance(value, kinds[kind]):
        return False
    if isinstance(value, dict):
        known = schema.get("properties", {})
        others = schema.get("additionalProperties")
        return set(schema.get("required", ())) <= set(value) and all(
            fits(each, known[name], definitions)
            if name in known
            else not isinstance(others, dict) or fits(each, others, definitions)
            for name, each in value.items()
        )
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return all(fits(each, schema["items"], definitions) for each in value)
    return True


@pytest.mark.parametrize("made", ["recorded", "exported"])
def test_every_message_is_what_its_schema_says(tmp_path: Path, made: str) -> None:
    path, _ = recorded(tmp_path / "run", transforms_hz=1e6)
    if made == "exported":
        assert main(["export", str(path), "--to", "foxglove"]) == 0
        path = path.with_suffix(".foxglove.mcap")
    topics = set()
    with path.open("rb") as file:
        for schema, channel, message in make_reader(file, validate_crcs=True).iter_messages():
            if schema is None:
                assert channel.topic.endswith("/state")
                continue
            assert schema.encoding == "jsonschema"
            rules = json.loads(schema.data)
            assert fits(json.loads(message.data), rules, rules.get("$defs", {})), channel.topic
            topics.add(channel.topic)
    assert {"/tf", "/scene", "/signals"} <= topics


@pytest.mark.skipif(
    not (MCAP_CORE.is_dir() and shutil.which("node")),
    reason="see packaging/read_with_mcap_core.mjs for how to install what it reads with",
)
@pytest.mark.parametrize("made", ["recorded", "exported", "cut", "repaired"])
def test_the_library_that_foxglove_is_built_on_reads_it(tmp_path: Path, made: str) -> None:
    path, _ = recorded(tmp_path / "run", transforms_hz=1e6)
    if made == "exported":
        assert main(["export", str(path), "--to", "foxglove"]) == 0
        path = path.with_suffix(".foxglove.mcap")
    if made == "cut":
        assert main(["cut", str(path), "10", "20", "-o", str(tmp_path / "cut.mcap")]) == 0
        path = tmp_path / "cut.mcap"
    if made == "repaired":
        path.write_bytes(path.read_bytes()[:-2000])
        assert main(["repair", str(path)]) == 0
        path = tmp_path / "run.repaired.mcap"
    script = REPOSITORY / "packaging/read_with_mcap_core.mjs"
    done = subprocess.run(
        ["node", str(script), str(path)],
        cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    # What a part has of the others depends on when they were said.
    assert ("/scene: " if made == "cut" else "/tf: ") in done.stdout
