"""How much of a run is recorded: fewer frames, inputs alone, chosen channels; and what happens."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import xxhash

import stroboscope.engine as physics
from stroboscope.debugger_protocol.time_messages import StopReason
from stroboscope.engine.files.frames import BlockKind
from stroboscope.engine.files.reader import TrajectoryReader

Make = Callable[..., physics.Scene]
OracleOf = Callable[..., Any]
Read = Callable[..., Any]


def test_every_tenth_step_is_recorded_and_each_beginning(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    oracle.step(3)
    with scene.start_recording(physics.TrajectoryFile(tmp_path / "run", every=10)) as recording:
        oracle.step(1_000)
        scene.reset()
        oracle.step(55)
    recorded = read(recording.path)
    expected = [*range(3, 1_003, 10), *range(1_003, 1_058, 10), 1_058]
    assert recorded.axes == expected
    assert recorded.rows.tobytes() == oracle.array()[expected].tobytes()
    for block in recorded.blocks:
        assert len(set(np.diff(block.axes))) <= 1


def test_so_many_frames_per_second_are_recorded(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()  # 5 ms per step
    with scene.start_recording(physics.TrajectoryFile(tmp_path / "run", hz=50)) as recording:
        oracle_of(scene).step(100)
    assert read(recording.path).axes == [*range(0, 100, 4), 100]


def test_a_minimal_file_has_inputs_and_digests_of_the_states_that_they_lead_to(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    wanted = physics.TrajectoryFile(tmp_path / "run", mode="minimal", chunk_size=64)
    with scene.start_recording(wanted) as recording:
        oracle.step(100)
        scene.reset()
        oracle.step(100)
    rows = oracle.array()
    data = mujoco.MjData(scene.model)
    full = mujoco.mjtState.mjSTATE_INTEGRATION
    with TrajectoryReader(recording.path) as reader:
        begin, end = reader.scene(0).inputs
        blocks = [reader.block(0, i) for i in range(len(reader.index(0).count))]
    assert 100 in [block.axes[0] for block in blocks]  # where a state comes from elsewhere
    assert blocks[-1].kind is BlockKind.FINAL
    for block in blocks[:-1]:
        assert block.kind is BlockKind.MINIMAL
        assert block.digests is not None
        assert block.rows[0].tobytes() == rows[block.axes[0]].tobytes()
        again = block.rows[0].copy()
        for k in range(block.count):
            expected = rows[block.axes[k]]
            assert block.rows[k, begin:end].tobytes() == expected[begin:end].tobytes()
            assert xxhash.xxh3_64_intdigest(expected.tobytes()) == block.digests[k]
            again[begin:end] = block.rows[k, begin:end]
            assert again.tobytes() == expected.tobytes()
            mujoco.mj_setState(scene.model, data, again, full)
            mujoco.mj_step(scene.model, data)
            mujoco.mj_getState(scene.model, data, again, full)


SLEEPING = """
<mujoco>
  <option timestep="0.005"><flag sleep="enable"/></option>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
    <body pos="1 0 .3"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  </worldbody>
</mujoco>
"""


def test_what_sleeps_is_recorded_with_the_first_row_of_a_block(
    oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = physics.create_scene("sleeping", SLEEPING)
    if not scene.world.codec.keeps_sleep:
        pytest.skip("this MuJoCo lets nothing sleep")
    oracle = oracle_of(scene)
    oracle.step(10)
    with scene.start_recording(physics.TrajectoryFile(tmp_path / "run", mode="auto")) as recording:
        oracle.step(600)
        scene.reset()
        oracle.step(60)
    recorded = read(recording.path)
    assert recorded.rows.tobytes() == oracle.array()[10:].tobytes()
    assert all(block.kind is not BlockKind.MINIMAL for block in recorded.blocks)
    assert sum(bool(block.hidden) for block in recorded.blocks) > 5
    first = [block for block in recorded.blocks if block.flags[0] or block.axes[0] == 610]
    assert all(block.hidden for block in first)


def test_auto_is_minimal_where_a_row_is_all_that_a_step_needs(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene("arm")
    with scene.start_recording(physics.TrajectoryFile(tmp_path / "run", mode="auto")) as recording:
        oracle_of(scene).step(10)
    assert read(recording.path).blocks[0].kind is BlockKind.MINIMAL


@pytest.mark.parametrize("thinned", [{"every": 10}, {"hz": 20}])
def test_auto_is_exact_where_some_steps_only_are_recorded(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path, thinned: dict[str, Any]
) -> None:
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    wanted = physics.TrajectoryFile(tmp_path / "run", mode="auto", **thinned)
    with scene.start_recording(wanted) as recording:
        oracle.step(100)
    recorded = read(recording.path)
    assert len(recorded.axes) < 20
    assert recorded.rows.tobytes() == oracle.array()[recorded.axes].tobytes()
    assert all(block.kind is not BlockKind.MINIMAL for block in recorded.blocks)


def test_only_chosen_channels_are_recorded(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path
) -> None:
    scene = make_scene("arm")
    wanted = physics.TrajectoryFile(tmp_path / "run", signals=["reward"])
    with scene.start_recording(wanted) as recording:
        scene.log({"reward": 1.0, "loss": 2.0})
        oracle_of(scene).step(3)
    with TrajectoryReader(recording.path) as reader:
        assert reader.signals(0) == ("reward",)


def test_values_of_another_width_are_left_out_and_the_others_stay(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path, caplog: Any
) -> None:
    scene = make_scene("arm")
    with scene.start_recording(tmp_path / "run") as recording:
        scene.log("obs", [1.0, 2.0])
        scene.log("obs", [1.0, 2.0, 3.0])
        scene.log("obs", [3.0, 4.0])
        scene.log("other", float("nan"))
        oracle_of(scene).step(3)
    with TrajectoryReader(recording.path) as reader:
        assert reader.signal(0, "obs").values.tolist() == [[1.0, 2.0], [3.0, 4.0]]
        assert np.isnan(reader.signal(0, "other").values).all()
    assert "channel 'obs' is recorded with the shape (2,)" in caplog.text


def test_another_model_is_recorded_in_another_file(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    with scene.start_recording(tmp_path / "run") as recording:
        oracle.step(50)
        scene.model.opt.gravity[2] = -1.6
        scene.model_changed()
        oracle.step(50)
    first, second = recording.paths
    assert second.name == "run-2.mcap"
    before, after = read(first), read(second)
    rows = oracle.array()
    assert before.rows[:-1].tobytes() == rows[:50].tobytes()
    assert before.axes[-1] == 50
    assert before.has_final
    assert before.events[-1].kind == "model"
    assert after.rows.tobytes() == rows[50:].tobytes()
    assert after.events[0].axis == 50
    with TrajectoryReader(first) as one, TrajectoryReader(second) as two:
        assert one.scene(0).model_digest != two.scene(0).model_digest
        assert two.manifest.previous == one.manifest.uuid


def test_stops_warnings_options_and_named_checkpoints_are_events(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    with scene.start_recording(tmp_path / "run") as recording:
        oracle.step(10)
        scene.checkpoint("before the jump", note="all well")
        scene.backend.edit_option("gravity", (0.0, 0.0, -1.0))
        oracle.step(10)
        scene.stops.switch_off(tuple(StopReason))
        scene.data.qvel[:] = 1e9
        oracle.step(1)
        scene.reset()
        scene.stops.switch_off(())
        oracle.step(5)
        scene.data.qvel[:] = 1e9
        oracle.step(1)
    events = read(recording.path).events
    told = [(event.kind, event.axis) for event in events]
    assert ("checkpoint", 10) in told
    assert ("option", 10) in told
    assert ("warning", 20) in told
    assert ("stop", 26) in told
    option = next(event for event in events if event.kind == "option")
    assert option.data["values"] == [0.0, 0.0, -1.0]
    edit = next(event for event in events if event.kind == "edit")
    assert edit.data["options"] == {"gravity": [0.0, 0.0, -1.0]}
    stop = next(event for event in events if event.kind == "stop")
    assert {"reason", "message", "joint", "value"} <= stop.data.keys()


def test_memory_stays_flat_however_long_is_recorded(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    recording = scene.start_recording(tmp_path / "run")
    for _ in range(4):
        oracle.step(4_000)
        oracle.rows.clear()
    full = scene.history.nbytes
    oracle.step(6_000)
    assert scene.history.nbytes <= full <= 10 << 20
    notes = scene.recorders.notes
    assert len(notes.events) + len(notes.values) < 100
    recording.stop()
    assert scene.history.nbytes == 0
