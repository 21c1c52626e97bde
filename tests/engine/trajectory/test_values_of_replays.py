"""What a recorded row leads to is what it led to: forces, contacts, sensors, energies, by a client.

None of it is in the file, which was recorded in another process and is looked at without its model.
"""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from plain_recording import record_plain

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient, Frame
from stroboscope.debugger_protocol.topics import Instant, Topic
from stroboscope.engine.files.frames import RecordMode

SHOW = """
import sys
from stroboscope.engine.trajectory.showing import show_trajectory

show_trajectory(sys.argv[1], launch=False)
"""
WANTED = (Topic.POSE, Topic.STATE, Topic.CONTACTS, Topic.SENSORS)
FULL = mujoco.mjtState.mjSTATE_INTEGRATION
SENSING = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <body name="arm" pos="0 0 .3">
      <joint name="shoulder" axis="0 1 0"/><site name="tip" pos=".3 0 0"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    </body>
    <body name="ball" pos=".2 0 .8"><freejoint/><geom size=".06"/></body>
  </worldbody>
  <actuator><position name="servo" joint="shoulder" kp="8"/></actuator>
  <sensor><accelerometer site="tip"/><framepos objtype="site" objname="tip"/></sensor>
</mujoco>
"""


@contextlib.contextmanager
def _shown(start_warm: Callable[..., Any], path: Path) -> Iterator[tuple[DebuggerClient, int]]:
    script = start_warm(SHOW, str(path))
    with script.connect() as client:
        assert client.wait_until(lambda c: c.scenes() and c.history(c.scenes()[0].scene_id), 60)
        scene_id = client.scenes()[0].scene_id
        client.subscribe(scene_id, WANTED, max_rate_hz=1000.0)
        yield client, scene_id
    code, _, errors = script.end()
    assert code == 0, errors


def _at(client: DebuggerClient, scene_id: int, axis: int) -> dict[Topic, Frame]:
    """Go to a row; return what is shown of it."""
    client.goto(scene_id, axis=axis)
    found: dict[Topic, Frame] = {}
    while set(found) != set(WANTED):
        frame = client.next_frame(60)
        assert frame is not None, set(WANTED) - set(found)
        if frame.instant is Instant.PAST and frame.axis == axis:
            found[frame.topic] = frame
    return found


@pytest.mark.parametrize("mode", list(RecordMode))
def test_r13_the_forces_of_a_recorded_step_are_those_with_its_own_control(
    mode: RecordMode,
    start_warm: Callable[..., Any],
    case_model: Callable[..., Path],
    tmp_path: Path,
) -> None:
    model = mujoco.MjModel.from_xml_path(str(case_model("R13")))
    path = tmp_path / "press.mcap"

    def control(step: int, data: Any) -> None:
        data.ctrl[:] = -30.0 if step < 1050 else 0.0

    record_plain(path, model, steps=1100, control=control, mode=mode, block_rows=100)
    with _shown(start_warm, path) as (client, scene_id):
        for axis in (1001, 1049, 1020):
            contacts = _at(client, scene_id, axis)[Topic.CONTACTS]
            assert len(contacts.arrays["dist"]) == 4
            assert contacts.arrays["force"][:, 0].sum() == pytest.approx(49.62, rel=5e-3)
        released = _at(client, scene_id, 1099)[Topic.CONTACTS]
        assert released.arrays["force"][:, 0].sum() == pytest.approx(19.62, rel=0.1)


@pytest.mark.parametrize("mode", list(RecordMode))
def test_all_that_is_shown_of_a_recorded_row_is_what_mujoco_makes_of_it(
    mode: RecordMode, start_warm: Callable[..., Any], tmp_path: Path
) -> None:
    model = mujoco.MjModel.from_xml_string(SENSING)

    def control(step: int, data: Any) -> None:
        data.ctrl[:] = np.sin(0.02 * step)

    run = record_plain(
        tmp_path / "run.mcap", model, steps=400, control=control, mode=mode, resets=(220,)
    )
    with _shown(start_warm, run.path) as (client, scene_id):
        data = mujoco.MjData(model)
        touching = 0
        for axis in (1, 219, 220, 399, 150, 300, 2):
            found = _at(client, scene_id, axis)
            mujoco.mj_setState(model, data, run.rows[axis], FULL)
            mujoco.mj_forward(model, data)
            assert found[Topic.POSE].time == data.time
            np.testing.assert_array_equal(found[Topic.STATE].arrays["qpos"], data.qpos)
            np.testing.assert_array_equal(found[Topic.STATE].arrays["ctrl"], data.ctrl)
            np.testing.assert_array_equal(
                found[Topic.SENSORS].arrays["sensordata"], data.sensordata
            )
            np.testing.assert_allclose(found[Topic.POSE].arrays["xpos"], data.xpos, atol=1e-6)
            assert len(found[Topic.CONTACTS].arrays["dist"]) == data.ncon
            touching += data.ncon
        assert touching, "something was meant to touch"


def test_a_recording_has_the_limits_that_the_pages_promise() -> None:
    file = physics.TrajectoryFile("run")
    assert (file.mode, file.every, file.hz, file.chunk_size) == ("exact", 1, None, None)
    assert (file.max_size, file.rotate) == (2 << 30, False)
    assert (file.keep_last, file.save_on_stop) == (None, False)
    assert (file.signals, file.envs) == (None, None)


def test_timings_are_of_the_stages_of_the_step_where_it_is_taken_again(tmp_path: Path) -> None:
    scene = physics.create_scene("Arm", SENSING)
    with scene.start_recording(tmp_path / "run") as recording:
        scene.step(nstep=10)
    with physics.load_trajectory(recording.path) as trajectory:
        recorded = trajectory.timings(5)
        assert list(recorded) == ["step"]
        measured = trajectory.timings(5, again=True)
        assert measured["step"] == recorded["step"] > 0.0
        assert {"again.step", "again.position", "again.constraint"} < set(measured)
