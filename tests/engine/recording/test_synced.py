"""Recording loops that call mj_step themselves and say so by sync(): what was seen, so marked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.engine.files.frames import BlockKind, RowFlag

Read = Callable[..., Any]
ModelPath = Callable[[str], Path]

FULL = mujoco.mjtState.mjSTATE_INTEGRATION


class OwnLoop:
    """A script that steps by itself, and what a sync of it can have seen."""

    def __init__(self, path: Path) -> None:
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.data = mujoco.MjData(self.model)
        self.scene = physics.create_scene("own", self.model, data=self.data)
        self.rows: list[NDArray[np.float64]] = []
        self._random = np.random.default_rng(0)

    def row(self) -> NDArray[np.float64]:
        row = np.empty(mujoco.mj_stateSize(self.model, FULL))
        mujoco.mj_getState(self.model, self.data, row, FULL)
        return row

    def step(self, *, nstep: int = 1) -> None:
        """Take some steps, and say so once."""
        self.data.ctrl[:] = self._random.uniform(-1, 1, self.model.nu)
        for _ in range(nstep):
            mujoco.mj_step(self.model, self.data)
        self.scene.sync()
        self.rows.append(self.row())

    def array(self) -> NDArray[np.float64]:
        return np.array(self.rows)


@pytest.fixture
def loop(model_path: ModelPath) -> OwnLoop:
    return OwnLoop(model_path("humanoid"))


def flags_of(recorded: Any) -> list[int]:
    return [int(flag) for block in recorded.blocks for flag in block.flags]


SEEN = RowFlag.BROKEN | RowFlag.SEEN


def test_more_syncs_than_stay_in_memory_are_recorded_while_the_file_grows(
    loop: OwnLoop, read: Read, tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    with loop.scene.start_recording(tmp_path / "run") as recording:
        for k in range(700):
            loop.step()
            if k == 300:
                wait_until(lambda: recording.frames >= 300)
    recorded = read(recording.path)
    assert recorded.axes == list(range(1, 701))
    assert recorded.rows.tobytes() == loop.array().tobytes()


@pytest.mark.parametrize("mode", ["exact", "minimal", "auto"])
def test_what_sync_sees_is_recorded_to_the_bit_and_marked(
    loop: OwnLoop, read: Read, tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: str
) -> None:
    with loop.scene.start_recording(
        physics.TrajectoryFile(tmp_path / "run", mode=mode)
    ) as recording:
        for _ in range(200):
            loop.step()
    recorded = read(recording.path)
    assert recorded.rows.tobytes() == loop.array().tobytes()
    assert recorded.axes == list(range(1, 201))
    assert recorded.steps == list(range(1, 201))
    assert flags_of(recorded) == [SEEN] * 200
    assert [block.kind for block in recorded.blocks[:-1]] == [BlockKind.EXACT] * (
        len(recorded.blocks) - 1
    )
    assert recorded.has_final
    assert recorded.kinds() == ["begin", "begin"]
    assert not caplog.text


def test_a_sync_after_several_steps_is_one_row_at_its_step(
    loop: OwnLoop, read: Read, tmp_path: Path
) -> None:
    counts = [5, 5, 5, 1, 3, 8, 8, 9, 8, 9, 5]
    with loop.scene.start_recording(tmp_path / "run") as recording:
        for count in counts:
            loop.step(nstep=count)
    recorded = read(recording.path)
    assert recorded.axes == np.cumsum(counts).tolist()
    assert recorded.steps == list(range(1, 12))
    assert recorded.rows.tobytes() == loop.array().tobytes()


def test_of_two_syncs_at_one_step_the_newer_counts(
    loop: OwnLoop, read: Read, tmp_path: Path
) -> None:
    with loop.scene.start_recording(tmp_path / "run") as recording:
        for _ in range(3):
            loop.step()
            loop.data.ctrl[0] = 0.25
            loop.scene.sync()
            loop.rows[-1] = loop.row()
    recorded = read(recording.path)
    assert recorded.axes == [1, 2, 3]
    assert recorded.rows.tobytes() == loop.array().tobytes()


def test_every_so_many_steps_of_a_loop_with_sync_can_be_recorded(
    loop: OwnLoop, read: Read, tmp_path: Path
) -> None:
    wanted = physics.TrajectoryFile(tmp_path / "run", every=10)
    with loop.scene.start_recording(wanted) as recording:
        for _ in range(50):
            loop.step(nstep=4)
    recorded = read(recording.path)
    assert recorded.axes == [4, *range(16, 200, 12), 200]
    assert recorded.rows.tobytes() == loop.array()[np.array(recorded.axes) // 4 - 1].tobytes()


def test_loops_that_also_call_step_have_each_row_once_and_only_those_of_sync_marked(
    loop: OwnLoop, read: Read, tmp_path: Path
) -> None:
    scene = loop.scene
    with scene.start_recording(tmp_path / "run") as recording:
        for _ in range(3):
            loop.step()
        for _ in range(4):
            scene.step()
        for _ in range(2):
            loop.step()
        scene.step()
    recorded = read(recording.path)
    assert recorded.axes == [1, 2, 3, 4, 5, 6, 8, 9, 10]
    assert flags_of(recorded) == [SEEN, SEEN, 1, 0, 0, 0, SEEN, 1, 0]


def test_a_reset_between_two_syncs_begins_an_episode(
    loop: OwnLoop, read: Read, tmp_path: Path
) -> None:
    with loop.scene.start_recording(tmp_path / "run") as recording:
        for _ in range(5):
            loop.step()
        mujoco.mj_resetData(loop.model, loop.data)
        for _ in range(5):
            loop.step()
    recorded = read(recording.path)
    assert recorded.kinds() == ["begin", "begin", "episode"]
    assert recorded.axes[-1] == 10
    assert recorded.rows[-1].tobytes() == loop.rows[-1].tobytes()
    with physics.load_trajectory(recording.path) as trajectory:
        assert [trajectory.frame(i).episode for i in (0, -1)] == [0, 1]
        assert trajectory.frame(-1).physics_step == 5


def test_verify_says_of_rows_that_were_only_seen_that_no_step_can_be_taken_again(
    loop: OwnLoop, tmp_path: Path
) -> None:
    with loop.scene.start_recording(tmp_path / "run") as recording:
        for _ in range(5):
            loop.step()
    with physics.load_trajectory(recording.path) as trajectory:
        found = trajectory.verify()
        assert (found.exit_code, found.checked, found.seen) == (3, 0, 5)
        assert "5 frames are what sync() saw" in str(found)
        trajectory.seek(2)  # and each can be gone on from
        trajectory.scene.step()
        assert trajectory.scene.physics_step_count == 4


def test_verify_takes_the_steps_again_that_were_recorded_between_syncs(
    loop: OwnLoop, tmp_path: Path
) -> None:
    with loop.scene.start_recording(tmp_path / "run") as recording:
        for _ in range(3):
            loop.step()
        for _ in range(50):
            loop.scene.step()
    with physics.load_trajectory(recording.path) as trajectory:
        found = trajectory.verify()
    assert (found.exit_code, found.checked, found.seen, found.differing) == (3, 50, 2, 0)


def test_what_sleeps_is_recorded_with_every_row_that_sync_sees(read: Read, tmp_path: Path) -> None:
    xml = (
        '<mujoco><option><flag sleep="enable"/></option><worldbody><geom type="plane" '
        'size="5 5 .1"/><body pos="0 0 .1"><freejoint/><geom size=".1" type="box"/></body>'
        "</worldbody></mujoco>"
    ).replace('size=".1" type="box"', 'type="box" size=".1 .1 .1"')
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    scene = physics.create_scene("sleepy", model, data=data)
    with scene.start_recording(tmp_path / "run") as recording:
        for _ in range(20):
            mujoco.mj_step(model, data)
            scene.sync()
    recorded = read(recording.path)
    assert recorded.axes == list(range(1, 21))
    assert all(block.hidden for block in recorded.blocks)


def test_a_flight_recorder_says_once_that_it_keeps_nothing_of_what_sync_sees(
    loop: OwnLoop, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loop.scene.start_recording(physics.TrajectoryFile(tmp_path / "crash", keep_last=1))
    for _ in range(3):
        loop.step()
    assert caplog.text.count("reports by sync()") == 1
    loop.scene.stop_recording()
