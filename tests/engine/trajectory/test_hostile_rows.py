"""Numbers of a stranger's rows that MuJoCo uses as indices are checked before it gets them.

Each mutated file or checkpoint is read by a process of its own: it may refuse it, and must not die
by a signal.
"""

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import mujoco
import numpy as np
import pytest
from plain_recording import record_plain, state_of
from random_models import disturb, random_model
from rewritten_file import rewrite_file

import stroboscope.engine as physics
from stroboscope.engine.checkpoint import Checkpoint
from stroboscope.engine.errors import ModelError, StateCorruptError
from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.files.frames import FileEvent, RecordMode, RowBlock, SceneRecord
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.row_indices import RowIndices
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.trajectory.trajectory import load_trajectory

HAS_DELAYS = hasattr(mujoco.MjModel, "nhistory") or "mjSTATE_HISTORY" in mujoco.mjtState.__members__
pytestmark = pytest.mark.skipif(not HAS_DELAYS, reason="this MuJoCo has no delays")

# So large that a sample before the first lies outside of all memory.
LATE = """
<mujoco>
  <worldbody>
    <body><joint name="hinge" axis="0 1 0"/><geom name="ball" size=".1"/></body>
    <geom name="floor" type="plane" size="1 1 1"/>
  </worldbody>
  <actuator><motor name="late" joint="hinge" delay="0.01" nsample="6"/></actuator>
  <sensor>
    <jointpos name="angle" joint="hinge" delay="0.01" nsample="6"/>
    <contact name="touching" geom1="ball" geom2="floor" num="400" delay="0.01" nsample="2000"
      data="found force torque dist pos normal tangent"/>
  </sensor>
</mujoco>
"""
SMALL = LATE.replace('num="400"', 'num="1"').replace('nsample="2000"', 'nsample="5"')
SLEEPING = """
<mujoco>
  <option><flag sleep="enable"/></option>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .1"><freejoint/><geom size=".1"/></body>
    <body pos="1 0 .1"><freejoint/><geom size=".1"/></body>
  </worldbody>
</mujoco>
"""
HOSTILE = (-1.0, -4.0, 2.5, 6.0, 1e300, np.nan, np.inf, -(2.0**31), 2.0**31 - 1.0)
READ_IT = """
import json, sys
import stroboscope.engine as physics
from stroboscope.engine.errors import EngineError

said = []
def tried(call):
    try:
        call()
        said.append("")
    except EngineError as error:
        said.append(str(error))

trajectory = physics.load_trajectory(sys.argv[1])
tried(lambda: trajectory.frame(-1))
tried(lambda: trajectory.scene)
for index in range(0, len(trajectory), 20):
    tried(lambda: trajectory.seek(index))
    tried(lambda: trajectory.scene.step())
tried(lambda: trajectory.verify(jobs=1))
tried(lambda: physics.load_checkpoint(sys.argv[1]))
print(json.dumps(said))
"""


def _cursors(model: mujoco.MjModel) -> dict[str, int]:
    """Return the column of a row in which each cursor stands, by the name of its owner."""
    begin = RowLayout(model, adapter=load_mujoco()).parts["history"].start
    found = {}
    for kind in ("actuator", "sensor"):
        for index, start in enumerate(getattr(model, f"{kind}_historyadr")):
            if start >= 0:
                found[f"{kind} {getattr(model, kind)(index).name!r}"] = begin + int(start) + 1
    return found


def _read_in_a_process(path: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", READ_IT, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ,
    )
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-2000:]}"
    said: list[str] = json.loads(done.stdout.splitlines()[-1])
    return said


def test_mujoco_dies_of_a_cursor_that_no_simulation_has() -> None:
    if sys.platform != "linux":
        pytest.skip("what lies before an array is another thing elsewhere")
    script = f"""
import mujoco
model = mujoco.MjModel.from_xml_string({LATE!r})
data = mujoco.MjData(model)
mujoco.mj_step(model, data)
data.history[model.sensor_historyadr[1] + 1] = -1999.0
mujoco.mj_step(model, data)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode < 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "value"), [(RecordMode.EXACT, -4.0), (RecordMode.MINIMAL, np.nan)]
)
def test_a_file_with_a_hostile_cursor_is_refused_by_name_and_kills_nobody(
    mode: RecordMode, value: float, tmp_path: Path
) -> None:
    model = mujoco.MjModel.from_xml_string(SMALL)
    column = _cursors(model)["sensor 'touching'"]

    def tamper(rows: Any) -> None:
        rows[16:, column] = value  # from the second block on

    run = record_plain(
        tmp_path / "run.mcap",
        model,
        steps=40,
        control=lambda step, data: None,
        mode=mode,
        tamper=tamper,
    )
    said = _read_in_a_process(run.path)
    refused = [each for each in said if each]
    assert len(refused) >= 4, said
    for each in refused:
        assert "sensor 'touching' points to sample" in each or "is not remembered" in each, each


@pytest.mark.parametrize("value", HOSTILE)
def test_every_cursor_of_a_file_is_checked_before_mujoco_gets_it(
    value: float, tmp_path: Path
) -> None:
    model = mujoco.MjModel.from_xml_string(SMALL)
    for owner, column in _cursors(model).items():

        def tamper(rows: Any, column: int = column) -> None:
            rows[3, column] = value

        path = tmp_path / f"{column}.mcap"
        record_plain(path, model, steps=9, control=lambda step, data: None, tamper=tamper)
        with load_trajectory(path) as trajectory:
            assert trajectory.frame(3).time == trajectory.time(3)  # numbers are read as they are
            assert trajectory.seek(3).index == 3
            with pytest.raises(FileDamagedError, match=f"history of {owner} points to sample"):
                _ = trajectory.scene
            trajectory.seek(9)
            before = state_of(trajectory.scene.model, trajectory.scene.data)
            with pytest.raises(FileDamagedError, match=f"history of {owner} points to sample"):
                trajectory.seek(3)
            after = state_of(trajectory.scene.model, trajectory.scene.data)
            assert after.tobytes() == before.tobytes()
            assert trajectory.verify(jobs=1).exit_code == 2


@pytest.mark.parametrize("value", HOSTILE)
def test_every_cursor_is_refused_by_name_in_checkpoints_states_and_batches(value: float) -> None:
    scene = physics.create_scene("Late", SMALL)
    batch = physics.create_scene("Many", SMALL, n_envs=2)
    scene.step()
    batch.step()
    for owner, column in _cursors(scene.model).items():
        made = physics.Checkpoint.from_bytes(_with(scene.checkpoint(), column, value))
        state = scene.get_state()
        state.history[column - _cursors_begin(scene.model)] = value
        before = state_of(scene.model, scene.data).tobytes()
        calls: list[Callable[[], object]] = [
            lambda made=made: scene.restore(made),
            lambda made=made: scene.restore(made.to_bytes()),
            lambda made=made: batch.restore(made),
            lambda state=state: scene.reset(state),
        ]
        for call in calls:
            with pytest.raises(StateCorruptError, match=f"history of {owner} points to sample"):
                call()
        assert state_of(scene.model, scene.data).tobytes() == before
    physics.shutdown()


def test_hidden_state_of_a_checkpoint_from_anybody_is_checked_before_it_is_restored() -> None:
    scene = physics.create_scene("Asleep", SLEEPING)
    for _ in range(400):
        scene.step()
    good = scene.checkpoint()
    at = good.hidden.find(scene.data.dof_awake_ind.tobytes())
    assert at >= 0
    hidden = good.hidden[:at] + np.int32(2_000_000_000).tobytes() + good.hidden[at + 4 :]
    made = physics.Checkpoint.from_bytes(_remade(good, good.row, hidden))
    before = state_of(scene.model, scene.data).tobytes()
    for given in (made, made.to_bytes()):
        with pytest.raises(StateCorruptError, match="dof_awake_ind holds 2000000000"):
            scene.restore(given)
        assert state_of(scene.model, scene.data).tobytes() == before
    scene.restore(good.to_bytes())


def _cursors_begin(model: mujoco.MjModel) -> int:
    return RowLayout(model, adapter=load_mujoco()).parts["history"].start


def _with(checkpoint: Any, column: int, value: float) -> bytes:
    """Return the bytes of a checkpoint with another number in its row, as anybody can make them."""
    row = checkpoint.row.copy()
    row[column] = value
    return _remade(checkpoint, row, checkpoint.hidden)


def _remade(checkpoint: Any, row: Any, hidden: bytes) -> bytes:
    made: bytes = Checkpoint(
        checkpoint.head,
        row,
        counters=checkpoint.counters,
        timestep=checkpoint.timestep,
        edits=checkpoint.edits,
        hidden=hidden,
        script=b"",
        record=checkpoint.record,
        exactness=checkpoint.exactness,
    ).to_bytes()
    return made


@pytest.mark.parametrize("seed", range(40))
def test_what_mujoco_has_written_for_models_of_all_kinds_is_believed(seed: int) -> None:
    model = mujoco.MjModel.from_xml_string(random_model(seed).xml)
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    indices = RowIndices(model, RowLayout(model, adapter=load_mujoco()).parts)
    rows = [state_of(model, data)]
    for step in range(60):
        disturb(model, data, rng, gently=False)
        mujoco.mj_step(model, data)
        rows.append(state_of(model, data))
        if step == 40:
            mujoco.mj_resetData(model, data)
    indices.check(np.array(rows))
    for row in rows:
        indices.check(row)


IMPOSSIBLE: dict[str, list[float]] = {
    "integrator": [99.0],
    "cone": [-1.0],
    "model.opt.cone": [99.0],
    "model.opt.solver": [2.0**31],
    "ccd_iterations": [9_200_000.0],
    "model.opt.ccd_iterations": [9_200_000.0],
    "iterations": [1.5],
    "sdf_initpoints": [1e300],
    "noslip_iterations": [2e9],
    "gravity": [1.0],
    "timestep": [],
    "model.jnt_qposadr": [7.0],
    "model.nq": [7.0],
    "model.body_mass": [1.0],
    "model.geom_contype": [1.5, 1.0],
    "disable.contact": [7.0],
    "no such option": [1.0],
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_options_that_no_run_can_have_had_are_refused_by_name(name: str, tmp_path: Path) -> None:
    model = mujoco.MjModel.from_xml_string(SMALL)
    path = tmp_path / "run.mcap"
    event = FileEvent(kind="edit", axis=4, data={"options": {name: IMPOSSIBLE[name] or [1.0, 2.0]}})
    record_plain(path, model, steps=9, control=lambda step, data: None, more_events=[event])
    with load_trajectory(path) as trajectory:
        assert trajectory.frame(8).time > 0.0
        with pytest.raises(FileDamagedError, match=f"from physics step 4 on: .*{name}"):
            _ = trajectory.scene
        with pytest.raises(FileDamagedError, match="impossible option"):
            trajectory.verify(jobs=1)


def _shifted(record: SceneRecord) -> SceneRecord:
    columns = [
        msgspec.structs.replace(each, begin=each.begin + 1) if each.name == "qpos" else each
        for each in record.columns
    ]
    return msgspec.structs.replace(record, columns=tuple(columns))


def _exchanged(record: SceneRecord) -> SceneRecord:
    others = {"qpos": "qvel", "qvel": "qpos"}
    columns = [
        msgspec.structs.replace(each, name=others.get(each.name, each.name))
        for each in record.columns
    ]
    return msgspec.structs.replace(record, columns=tuple(columns))


def _all_inputs(record: SceneRecord) -> SceneRecord:
    return msgspec.structs.replace(record, inputs=(0, record.width))


@pytest.mark.parametrize("forge", [_shifted, _exchanged, _all_inputs])
def test_columns_that_the_model_does_not_have_are_not_believed(
    forge: Callable[[SceneRecord], SceneRecord], tmp_path: Path
) -> None:
    """With everything an input there was nothing left to compare: any numbers reproduced."""
    model = mujoco.MjModel.from_xml_string(SMALL)
    record_plain(tmp_path / "run.mcap", model, steps=9, control=lambda step, data: None)
    path = rewrite_file(tmp_path / "run.mcap", tmp_path / "forged.mcap", record=forge)
    with load_trajectory(path) as trajectory:
        with pytest.raises(ModelError, match=r"its rows have .* in the columns"):
            _ = trajectory.scene
        with pytest.raises(ModelError, match=r"its rows have .* in the columns"):
            trajectory.verify(jobs=1)


def _without_edits(event: FileEvent) -> FileEvent:
    return msgspec.structs.replace(event, kind="log") if event.kind == "edit" else event


def test_what_a_file_does_not_say_of_its_rows_they_say_themselves(tmp_path: Path) -> None:
    """Else any row could be taken out of what is compared."""
    scene = physics.create_scene("edited", mujoco.MjModel.from_xml_string(SMALL))
    with scene.start_recording(tmp_path / "run.mcap") as made:
        for step in range(30):
            if step in (10, 11, 20):
                scene.data.qvel[0] += 1.0
            scene.step()
    path = rewrite_file(made.path, tmp_path / "forged.mcap", event=_without_edits)
    with load_trajectory(made.path) as honest, load_trajectory(path) as forged:
        assert forged.verify(jobs=1).changes == honest.verify(jobs=1).changes == (10, 11, 20)


def test_steps_that_are_not_in_a_file_are_named(tmp_path: Path) -> None:
    scene = physics.create_scene("small", mujoco.MjModel.from_xml_string(SMALL))
    wanted = physics.TrajectoryFile(tmp_path / "run.mcap", chunk_size=10)
    with scene.start_recording(wanted) as made:
        for _ in range(50):
            scene.step()
    path = rewrite_file(
        made.path, tmp_path / "forged.mcap", keeps=lambda _scene, number: number != 2
    )
    with load_trajectory(path) as trajectory:
        found = trajectory.verify(jobs=1)
    assert found.exit_code == 2
    assert "steps 20 to 29 are not in the file" in str(found)


def test_frames_that_nothing_leads_to_for_want_of_what_no_row_says_are_told(tmp_path: Path) -> None:
    scene = physics.create_scene("Asleep", SLEEPING)
    with scene.start_recording(physics.TrajectoryFile(tmp_path / "run", chunk_size=16)):
        for _ in range(40):
            scene.step()
        scene.reset()
        for _ in range(60):
            scene.step()
    blocks = 0

    def without_hidden(block: RowBlock) -> RowBlock:
        nonlocal blocks
        blocks += 1
        if blocks <= 3:
            return block
        rows = block.rows.copy()
        rows[:, 1] += np.arange(block.count)  # any numbers
        return dataclasses.replace(block, rows=rows, axes=block.axes + 1, hidden=b"")

    def later(event: FileEvent) -> FileEvent:
        return msgspec.structs.replace(event, axis=event.axis + (event.axis >= 40))

    path = rewrite_file(
        tmp_path / "run.mcap", tmp_path / "tampered.mcap", block=without_hidden, event=later
    )
    with load_trajectory(tmp_path / "run.mcap") as honest, load_trajectory(path) as tampered:
        assert honest.verify(jobs=1).exit_code == 0
        found = tampered.verify(jobs=1)
    assert found.exit_code == 3
    assert "60 frames could not be compared" in str(found)
