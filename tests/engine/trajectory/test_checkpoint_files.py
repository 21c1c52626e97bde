"""States in files: scenes built from them, and put into scenes that run."""

import logging
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from plain_recording import PlainRun, record_plain, state_of

import stroboscope.engine as physics
from stroboscope.engine.errors import StateError
from stroboscope.engine.files.copying import whole_trajectory
from stroboscope.engine.files.errors import FileDamagedError, FileWriteError
from stroboscope.engine.files.manifest import SCRIPT_NAME
from stroboscope.engine.files.reader import TrajectoryReader

MODEL = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="arm" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0" damping="{damping}"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    </body>
    <body name="ball" pos=".4 .05 .2"><freejoint/><geom size=".06"/></body>
  </worldbody>
  <actuator><position joint="shoulder" kp="8"/></actuator>
</mujoco>
"""


def _control(step: int, data: Any) -> None:
    data.ctrl[:] = math.sin(0.05 * step)


@pytest.fixture
def run(tmp_path: Path) -> PlainRun:
    """80 steps of an arm and a ball."""
    model = mujoco.MjModel.from_xml_string(MODEL.format(damping=0.05))
    return record_plain(tmp_path / "run.mcap", model, steps=80, control=_control)


def test_a_scene_built_from_a_file_stands_at_its_last_frame_and_goes_on(run: PlainRun) -> None:
    scene = physics.load_checkpoint(run.path)
    assert scene.physics_step_count == 80
    assert state_of(run.model, scene.data).tobytes() == run.rows[-1].tobytes()
    for _ in range(40):
        scene.step()
    assert state_of(run.model, scene.data).tobytes() == run.after(-1, 40).tobytes()
    assert scene.step_count == 120


def test_a_state_goes_into_a_running_scene_with_its_step_and_time(run: PlainRun) -> None:
    scene = physics.create_scene("Arm", MODEL.format(damping=0.05))
    for _ in range(7):
        scene.step()
    assert scene.load_checkpoint(run.path).is_exact
    assert (scene.step_count, scene.get_total_simulation_time()) == (80, run.rows[-1, 0])
    for _ in range(10):
        scene.step()
    assert state_of(run.model, scene.data).tobytes() == run.after(-1, 10).tobytes()


def test_the_state_of_another_model_is_refused_saying_what_differs(run: PlainRun) -> None:
    scene = physics.create_scene("Arm", MODEL.format(damping=0.06))
    scene.step()
    before = state_of(run.model, scene.data).tobytes()
    with pytest.raises(physics.StateMismatchError, match=r"damping.*shoulder.*load_checkpoint"):
        scene.load_checkpoint(run.path)
    assert state_of(run.model, scene.data).tobytes() == before
    assert scene.step_count == 1


# --- what the script has registered

VALUES = {
    "integral": 0.25,
    "steps": 2**70,
    "phase": "swing",
    "history": [(1, "a"), (2, b"b")],
    "gains": np.arange(6, dtype=np.float32).reshape(2, 3),
    "nothing": None,
}


class Controller:
    """Something that a script keeps, all of it replaced by its setter."""

    def __init__(self, **values: Any) -> None:
        self.values = values

    def register(self, scene: physics.Scene) -> Callable[[], None]:
        return scene.register_state("controller", lambda: self.values, self.put)

    def put(self, values: dict[str, Any]) -> None:
        self.values = values


def _arms() -> physics.Scene:
    return physics.create_scene("Arm", MODEL.format(damping=0.05))


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name]) and one[name].dtype == other[name].dtype
        if isinstance(one[name], np.ndarray)
        else one[name] == other[name]
        for name in one
    )


def _saved(path: Path, *, with_scene: bool = True) -> Path:
    scene = _arms()
    Controller(**VALUES).register(scene)
    for _ in range(5):
        scene.step()
    return scene.save_checkpoint(path, with_scene=with_scene)


@pytest.mark.parametrize("with_scene", [True, False])
def test_registered_state_goes_into_a_running_scene_with_the_rest(
    tmp_path: Path, with_scene: bool
) -> None:
    path = _saved(tmp_path / "state", with_scene=with_scene)
    scene = _arms()
    controller = Controller(integral=0.0)
    controller.register(scene)
    scene.load_checkpoint(path)
    assert _same(controller.values, VALUES)
    assert scene.step_count == 5


def test_a_scene_built_from_a_file_hands_registered_state_to_whoever_registers_it(
    tmp_path: Path,
) -> None:
    path = _saved(tmp_path / "state")
    for again in (tmp_path / "second", tmp_path / "third"):
        scene = physics.load_checkpoint(path)
        controller = Controller(integral=0.0)
        controller.register(scene)
        assert _same(controller.values, VALUES)
        scene.step()
        path = scene.save_checkpoint(again)


def test_registered_state_travels_to_another_process(tmp_path: Path) -> None:
    path = _saved(tmp_path / "state")
    script = """
import sys
import stroboscope.engine as physics
scene = physics.load_checkpoint(sys.argv[1])
kept = {}
scene.register_state("controller", lambda: kept, kept.update)
print(kept["integral"], kept["steps"], kept["history"], kept["gains"].tolist(), scene.step_count)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        f"0.25 {2**70} [(1, 'a'), (2, b'b')] [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] 5\n"
    )


def test_a_scene_that_has_not_registered_it_is_told_so_and_stays_as_it_is(tmp_path: Path) -> None:
    path = _saved(tmp_path / "state")
    scene = _arms()
    scene.step()
    before = state_of(scene.model, scene.data).tobytes()
    with pytest.raises(physics.StateMismatchError, match=r"'controller'.*register_state first"):
        scene.load_checkpoint(path)
    assert state_of(scene.model, scene.data).tobytes() == before
    assert scene.step_count == 1


def test_a_setter_that_raises_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = _saved(tmp_path / "state")
    scene = _arms()
    kept: dict[str, Any] = {"a": 1}
    other = Controller(b=2)

    def put(value: dict[str, Any]) -> None:
        kept.clear()
        kept.update(value)
        if value != {"a": 1}:
            raise ValueError("no such gain")

    scene.register_state("controller", lambda: dict(kept), put)
    scene.register_state("other", lambda: other.values, other.put)
    scene.step()
    before = state_of(scene.model, scene.data).tobytes()
    with pytest.raises(StateError, match="'controller' could not be restored, so nothing was"):
        scene.load_checkpoint(path)
    assert state_of(scene.model, scene.data).tobytes() == before
    assert (kept, other.values) == ({"a": 1}, {"b": 2})
    assert scene.step_count == 1


def test_a_file_that_says_nothing_of_registered_state_is_told_as_such(
    run: PlainRun, caplog: pytest.LogCaptureFixture
) -> None:
    scene = _arms()
    controller = Controller(integral=0.5)
    controller.register(scene)
    with caplog.at_level(logging.WARNING):
        scene.load_checkpoint(run.path)
    assert controller.values == {"integral": 0.5}
    assert "says nothing about 'controller'" in caplog.text


def test_what_no_file_can_hold_is_refused_by_name_and_no_file_is_made(tmp_path: Path) -> None:
    scene = _arms()
    scene.register_state("planner", lambda: {"tree": object()}, Controller().put)
    with pytest.raises(TypeError, match="'planner' can't be part of a checkpoint: it holds a"):
        scene.save_checkpoint(tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


def test_more_than_a_file_may_hold_is_refused_by_name(tmp_path: Path) -> None:
    scene = _arms()
    scene.register_state("buffer", lambda: bytes(65 << 20), Controller().put)
    with pytest.raises(FileWriteError, match=r"'buffer'.*67,108,864"):
        scene.save_checkpoint(tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


def test_environments_say_which_state_stays_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = physics.create_scene("Arms", MODEL.format(damping=0.05), n_envs=2)
    scene.register_state("curriculum", lambda: 3, Controller().put)
    path = scene.save_checkpoint(tmp_path / "state")
    assert "'curriculum' is of all environments together" in caplog.text
    with TrajectoryReader(path) as reader:
        assert SCRIPT_NAME not in reader.attachments


@pytest.mark.parametrize(
    "content",
    [b"\xc1", b"\x93\x01\x02\x03", b"\x81\xa1a\xc7\x01\x09\x00", b"\x81\xa1a" + b"\x91" * 90_000],
)
def test_script_state_that_is_none_is_refused_as_damage_of_the_file(
    tmp_path: Path, content: bytes
) -> None:
    path, other = _saved(tmp_path / "state"), tmp_path / "other.mcap"
    with TrajectoryReader(path) as reader:
        attachments = {name: reader.attachment(name) for name in reader.attachments}
        attachments[SCRIPT_NAME] = content
        with whole_trajectory(other, reader.manifest, attachments=attachments) as writer:
            writer.write_events(reader.events(0))
            writer.write_block(reader.block(0, 0))
    scene = _arms()
    Controller().register(scene)
    for load in (scene.load_checkpoint, physics.load_checkpoint):
        with pytest.raises(FileDamagedError, match="script state that can't be read"):
            load(other)
    assert scene.step_count == 0


@pytest.mark.parametrize("how", ["a model", "an own model", "without a scene", "a run"])
def test_a_file_says_how_a_model_differs_that_was_written_into(how: str, tmp_path: Path) -> None:
    def arm() -> physics.Scene:
        text = MODEL.format(damping=0.05)
        if how == "an own model":
            own = mujoco.MjModel.from_xml_string(text)
            return physics.create_scene("arm", own, data=mujoco.MjData(own))
        return physics.create_scene("arm", model=text)

    path, saved = tmp_path / "saved.mcap", arm()
    recording = saved.start_recording(path) if how == "a run" else None
    saved.step()
    plain, written = (tmp_path / name for name in ("plain.mcap", "written.mcap"))
    saved.save_checkpoint(plain, with_scene=how != "without a scene")
    saved.model.body_mass[1] = 3.0
    saved.step()
    if recording is None:
        saved.save_checkpoint(written, with_scene=how != "without a scene")
    else:
        recording.stop()
        written = path
    other = arm()
    assert other.load_checkpoint(plain).is_exact
    assert "body_mass of body 'arm': 3.0 at the checkpoint" in str(other.load_checkpoint(written))
    other.model.body_mass[1] = 3.0
    assert other.load_checkpoint(written).is_exact
    assert str(other.load_checkpoint(plain)).endswith("at the checkpoint, 3.0 now)")
