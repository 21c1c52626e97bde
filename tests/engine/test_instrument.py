"""Wrapped MuJoCo functions: what becomes a scene, and that nothing changes for the script."""

import gc
import math
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.messages import SceneRestored
from stroboscope.engine import debugger
from stroboscope.engine.instrument import adopted_scenes
from stroboscope.engine.instrument.wrapping import WRAPPED_NAMES
from stroboscope.engine.runtime import current_runtime

MJCF = """
<mujoco model="{name}"><option timestep="{timestep}" integrator="{integrator}"/>
  <worldbody>
    <body><joint name="hinge" axis="0 1 0" damping="0.05"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03"/>
    </body>
    <body pos="0 0 1"><freejoint/><geom size="0.1"/></body>
    <geom type="plane" size="5 5 0.1"/>
  </worldbody>
  <actuator><motor name="drive" joint="hinge"/></actuator>
  <keyframe><key qpos="0.3 0 0 1 1 0 0 0"/></keyframe>
</mujoco>
"""

# Its contacts need more memory than it allows.
STACK = """
<mujoco><size memory="60K"/><worldbody><geom type="plane" size="2 2 .1"/>
  <replicate count="30" offset="0 0 0.21"><body pos="0 0 0.3"><freejoint/>
  <geom type="box" size=".1 .1 .1"/></body></replicate></worldbody></mujoco>
"""


def make(
    name: str = "pendulum", timestep: float = 0.002, integrator: str = "Euler"
) -> tuple[mujoco.MjModel, mujoco.MjData]:
    text = MJCF.format(name=name, timestep=timestep, integrator=integrator)
    model = mujoco.MjModel.from_xml_string(text)
    return model, mujoco.MjData(model)


def state(model: mujoco.MjModel, data: mujoco.MjData) -> NDArray[np.float64]:
    full = mujoco.mjtState.mjSTATE_INTEGRATION
    row = np.empty(mujoco.mj_stateSize(model, full))
    mujoco.mj_getState(model, data, row, full)
    return row


@pytest.fixture
def watching() -> Iterator[None]:
    """Wrap MuJoCo, and take the wrapping away again."""
    debugger.watch_all()
    yield
    instrumentation = debugger.the_session().instrumentation
    instrumentation.remove()
    instrumentation.scenes.adopt_unknown = False


@pytest.fixture
def listening(watching: None) -> Iterator[None]:
    """Wrap MuJoCo with a session open that nobody has joined."""
    debugger.listen()
    yield
    debugger.detach()


@pytest.fixture
def client(listening: None) -> Iterator[DebuggerClient]:
    """A client that watches."""
    with DebuggerClient.connect(debugger.get_debug_server().connection_file) as client:
        yield client


def scenes() -> list[physics.Scene]:
    return list(current_runtime().scenes)


# --- wrapping


def test_detached_calls_go_straight_to_mujoco(watching: None) -> None:
    model, data = make()
    mujoco.mj_step(model, data, nstep=3)
    assert data.time == pytest.approx(0.006)
    assert scenes() == []


def test_the_wrapped_functions_look_like_mujocos(watching: None) -> None:
    for name in WRAPPED_NAMES:
        function = getattr(mujoco, name)
        assert function.__name__ == name
        assert function.__module__ == "mujoco"
        assert function.__doc__ == getattr(mujoco._functions, name).__doc__


def test_everything_is_put_back() -> None:
    before = {name: getattr(mujoco, name) for name in WRAPPED_NAMES}
    from_xml_path = mujoco.MjModel.from_xml_path
    debugger.watch_all()
    assert mujoco.mj_step is not before["mj_step"]
    debugger.the_session().instrumentation.remove()
    assert {name: getattr(mujoco, name) for name in WRAPPED_NAMES} == before
    assert mujoco.MjModel.from_xml_path is from_xml_path


def test_a_module_that_holds_the_original_is_pointed_to_the_wrapped_one() -> None:
    import sys

    holder = types.ModuleType("a_user_module")
    holder.advance = mujoco.mj_step  # type: ignore[attr-defined]
    original = mujoco.mj_step
    sys.modules["a_user_module"] = holder
    try:
        debugger.watch_all()
        assert holder.advance is mujoco.mj_step is not original  # type: ignore[attr-defined]
        debugger.the_session().instrumentation.remove()
        assert holder.advance is original  # type: ignore[attr-defined]
    finally:
        del sys.modules["a_user_module"]


# --- what becomes a scene


def test_stepped_data_becomes_a_scene_of_its_model_s_name(listening: None) -> None:
    model, data = make("walker")
    mujoco.mj_step(model, data)
    (scene,) = scenes()
    assert scene.name == "walker"
    assert (scene.model, scene.data) == (model, data)
    assert scene.step_count == scene.physics_step_count == 1


def test_nstep_is_one_step_of_several_physics_steps(listening: None) -> None:
    model, data = make()
    mujoco.mj_step(model, data, nstep=5)
    mujoco.mj_step(model, data, 2)
    (scene,) = scenes()
    assert (scene.step_count, scene.physics_step_count) == (2, 7)


def test_two_halves_are_one_physics_step(listening: None) -> None:
    model, data = make()
    for _ in range(3):
        mujoco.mj_step1(model, data)
        data.ctrl[0] = 0.1
        mujoco.mj_step2(model, data)
    (scene,) = scenes()
    assert (scene.step_count, scene.physics_step_count) == (3, 3)


@pytest.fixture
def dm_control_step() -> Callable[..., None]:
    """``dm_control_step(model, data, nstep)``: what ``Physics.step`` of dm_control does."""

    def step(
        model: mujoco.MjModel, data: mujoco.MjData, nstep: int = 1, *, fails: bool = False
    ) -> None:
        mujoco.mj_step2(model, data)
        if fails:
            raise ValueError(nstep)
        if nstep > 1:
            mujoco.mj_step(model, data, nstep - 1)
        mujoco.mj_step1(model, data)

    names = {"__name__": "dm_control.mujoco.engine", "mujoco": mujoco, "ValueError": ValueError}
    theirs = types.FunctionType(step.__code__, names, argdefs=step.__defaults__)
    theirs.__kwdefaults__ = step.__kwdefaults__
    return theirs


def test_a_control_step_of_dm_control_is_one_step(
    listening: None, dm_control_step: Callable[..., None]
) -> None:
    model, data = make()
    dm_control_step(model, data, 5)
    (scene,) = scenes()
    assert (scene.step_count, scene.physics_step_count) == (1, 5)
    dm_control_step(model, data)
    assert (scene.step_count, scene.physics_step_count) == (2, 6)
    with pytest.raises(ValueError, match="3"):
        dm_control_step(model, data, 3, fails=True)
    mujoco.mj_forward(model, data)
    assert (scene.step_count, scene.physics_step_count) == (3, 7)
    with pytest.raises(ValueError, match="3"):
        dm_control_step(model, data, 3, fails=True)
    dm_control_step(model, data, 4)
    assert (scene.step_count, scene.physics_step_count) == (5, 12)


def test_a_single_step_is_a_whole_control_step_of_dm_control(
    watching: None, dm_control_step: Callable[..., None], wait_until: Callable[..., None]
) -> None:
    model, data = make()
    twin_model, twin = make()
    debugger.get_debug_server().start()
    file = debugger.get_debug_server().connection_file
    end = threading.Event()

    def loop() -> None:
        mujoco.mj_step1(model, data)  # as a reset of dm_control does
        while not end.is_set():
            dm_control_step(model, data, 5)

    with DebuggerClient.connect(file) as client:
        thread = threading.Thread(target=loop)
        thread.start()
        assert client.wait_until(lambda c: any(s.activity == "parked" for s in c.scenes()), 60)
        (scene,) = client.scenes()
        client.step(scene.scene_id, 3)
        (scene,) = client.scenes()
        assert (scene.step_count, scene.physics_step_count) == (3, 15)
        client.physics_step(scene.scene_id, 2)
        (scene,) = client.scenes()
        assert (scene.step_count, scene.physics_step_count) == (3, 17)
        # In the middle of a step: the rest of it is abandoned.
        client.restore_initial(scene.scene_id)
        client.step(scene.scene_id, 2)
        (scene,) = client.scenes()
        assert (scene.step_count, scene.physics_step_count) == (2, 10)
        mujoco._functions.mj_step(twin_model, twin, 10)
        assert np.array_equal(data.qpos, twin.qpos)
        end.set()
    thread.join(60)
    assert not thread.is_alive()


def test_data_that_the_script_shows_by_itself_gets_no_second_scene(listening: None) -> None:
    model, data = make()
    scene = physics.create_scene("mine", model, data=data)
    for _ in range(3):
        mujoco.mj_step(model, data)
        scene.sync()
    assert scenes() == [scene]
    assert (scene.step_count, scene.physics_step_count) == (3, 3)
    assert current_runtime().host.unseen_scenes == 0
    physics.destroy_scene(scene)
    mujoco.mj_step(model, data)
    (other,) = scenes()
    assert (other.data, other.step_count) == (data, 1)


def test_data_that_the_script_shows_and_steps_by_mujoco_alone_is_paused_and_stepped(
    watching: None,
) -> None:
    model, data = make()
    twin_model, twin = make()
    debugger.get_debug_server().start()
    end, made = threading.Event(), []

    def loop() -> None:
        made.append(debugger.watch(model, data))
        while not end.is_set():
            mujoco.mj_step(model, data)

    with DebuggerClient.connect(debugger.get_debug_server().connection_file) as client:
        thread = threading.Thread(target=loop)
        thread.start()
        assert client.wait_until(lambda c: any(s.activity == "parked" for s in c.scenes()), 60)
        (scene,) = client.scenes()
        client.step(scene.scene_id, 3)
        (scene,) = client.scenes()
        assert (scene.step_count, scene.physics_step_count) == (3, 3)
        mujoco._functions.mj_step(twin_model, twin, 3)
        assert np.array_equal(data.qpos, twin.qpos)
        end.set()
    thread.join(60)
    assert not thread.is_alive()
    assert scenes() == made


def test_data_that_the_script_steps_through_its_scene_is_left_to_it(listening: None) -> None:
    model, data = make()
    scene = debugger.watch(model, data)
    mujoco.mj_step(model, data, 2)
    assert (scene.step_count, scene.physics_step_count) == (1, 2)
    scene.step()
    mujoco.mj_step(model, data)
    assert (scene.step_count, scene.physics_step_count) == (2, 3)


def test_forward_and_reset_make_no_scene(listening: None) -> None:
    model, data = make()
    mujoco.mj_forward(model, data)
    mujoco.mj_resetData(model, data)
    mujoco.mj_step1(model, data)
    assert scenes() == []


def test_the_file_that_a_model_came_from_is_known(
    listening: None, model_path: Callable[[str], object]
) -> None:
    path = model_path("humanoid")
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data)
    (scene,) = scenes()
    assert scene.world.source.origin == str(path)


def test_a_reset_is_an_episode_and_never_a_stop(client: DebuggerClient) -> None:
    model, data = make()
    mujoco.mj_step(model, data, 4)
    (scene,) = scenes()
    assert client.wait_until(lambda c: len(c.scenes()) == 1, 60)
    for reset in (
        lambda: mujoco.mj_resetData(model, data),
        lambda: mujoco.mj_resetDataKeyframe(model, data, 0),
        lambda: mujoco.mj_resetDataDebug(model, data, 0),
    ):
        mujoco.mj_step(model, data)
        assert scene.step_count > 0
        reset()
        assert (scene.step_count, scene.physics_step_count) == (0, 0)
    mujoco.mj_step(model, data)
    assert scene.total_steps == 5

    def episodes(client: DebuggerClient) -> int:
        # Resets that come faster than they can be told are told together.
        return sum(e.count for e in client.events() if isinstance(e, SceneRestored))

    assert client.wait_until(lambda c: episodes(c) == 3, 60)


def test_dropped_data_ends_its_scene(client: DebuggerClient) -> None:
    model, data = make("one")
    other_model, other_data = make("two")
    mujoco.mj_step(model, data)
    mujoco.mj_step(other_model, other_data)
    assert client.wait_until(lambda c: len(c.scenes()) == 2, 60)
    del data
    gc.collect()
    assert client.wait_until(lambda c: [s.name for s in c.scenes()] == ["two"], 60)
    mujoco.mj_step(other_model, other_data)
    fresh = mujoco.MjData(model)
    mujoco.mj_step(model, fresh)
    assert [scene.name for scene in scenes()] == ["two", "one"]


def test_beyond_the_limit_data_runs_free_and_is_counted(
    client: DebuggerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adopted_scenes, "MAX_SCENES", 3)
    model, _ = make()
    everything = [mujoco.MjData(model) for _ in range(5)]
    for _ in range(4):
        for data in everything:
            mujoco.mj_step(model, data, 2)
    assert len(scenes()) == 3
    assert client.wait_until(lambda c: c.session_status.free_running_scenes == 2, 60)
    assert [data.time for data in everything] == [everything[0].time] * 5
    # One of the others gets the room that another leaves.
    del everything[0], data
    gc.collect()
    for data in everything:
        mujoco.mj_step(model, data)
    assert len(scenes()) == 3
    assert client.wait_until(lambda c: c.session_status.free_running_scenes == 1, 60)


def test_data_that_is_stepped_on_changing_threads_keeps_its_scene(listening: None) -> None:
    model, data = make()
    mujoco.mj_step(model, data)
    (scene,) = scenes()
    for _ in range(3):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(mujoco.mj_step, model, data).result()
    mujoco.mj_step(model, data)
    assert scenes() == [scene]
    assert scene.step_count == 5
    assert scene.owner is threading.current_thread()


def test_another_model_for_the_same_data_is_another_scene(listening: None) -> None:
    model, data = make("first")
    mujoco.mj_step(model, data)
    second = mujoco.MjModel.from_xml_string(
        MJCF.format(name="second", timestep=0.004, integrator="Euler")
    )
    mujoco.mj_step(second, data)
    assert [scene.name for scene in scenes()] == ["second"]
    assert data.time == pytest.approx(0.006)


def test_what_is_watched_by_hand_is_not_made_twice(listening: None) -> None:
    model, data = make()
    environment = types.SimpleNamespace(model=model, data=data)
    scene = debugger.watch(environment, name="mine")
    mujoco.mj_step(model, data)
    assert scenes() == [scene]
    assert (scene.name, scene.step_count) == ("mine", 1)
    assert debugger.watch(environment) is scene


def test_watching_one_environment_leaves_other_data_alone() -> None:
    model, data = make()
    scratch = mujoco.MjData(model)
    scene = debugger.watch(
        types.SimpleNamespace(unwrapped=types.SimpleNamespace(model=model, data=data))
    )
    debugger.listen()
    try:
        mujoco.mj_step(model, data)
        mujoco.mj_step(model, scratch)
        assert scenes() == [scene]
        assert scene.step_count == 1
        rebuilt = mujoco.MjData(model)
        scene.rebind(model, rebuilt)
        del data
        gc.collect()
        mujoco.mj_step(model, rebuilt, nstep=2)
        assert scenes() == [scene]
        assert scene.physics_step_count == 2
    finally:
        debugger.detach()
        debugger.the_session().instrumentation.remove()


def test_what_has_no_simulation_can_t_be_watched() -> None:
    with pytest.raises(TypeError, match="there is no MuJoCo simulation in object"):
        debugger.watch(object())
    with pytest.raises(TypeError, match="watch them one by one"):
        debugger.watch(types.SimpleNamespace(envs=[1, 2]))


# --- nothing changes for the script


def run_loop(model: mujoco.MjModel, data: mujoco.MjData, loop: str) -> NDArray[np.float64]:
    """Step with every kind of call; return the states on the way, shape (n, size)."""
    rows = []
    for k in range(60):
        data.ctrl[0] = math.sin(0.3 * k)
        if loop == "nstep":
            mujoco.mj_step(model, data, nstep=1 + k % 4)
        elif loop == "halves":
            mujoco.mj_step1(model, data)
            data.ctrl[0] += 0.1
            mujoco.mj_step2(model, data)
        elif loop == "dm_control":
            mujoco.mj_step2(model, data)
            mujoco.mj_step(model, data, 2)
            mujoco.mj_step1(model, data)
        if k == 30:
            mujoco.mj_resetDataKeyframe(model, data, 0)
            mujoco.mj_forward(model, data)
        rows.append(state(model, data))
        rows[-1] = np.concatenate([rows[-1], data.xpos.ravel(), data.sensordata])
    return np.array(rows)


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
@pytest.mark.parametrize("loop", ["nstep", "halves", "dm_control"])
def test_trajectories_are_bit_identical(loop: str, integrator: str) -> None:
    bare = run_loop(*make(integrator=integrator), loop)
    debugger.watch_all()
    debugger.listen()
    try:
        unwatched = run_loop(*make(integrator=integrator), loop)
        with DebuggerClient.connect(debugger.get_debug_server().connection_file) as client:
            model, data = make(integrator=integrator)
            watched = run_loop(model, data, loop)
            assert client.wait_until(lambda c: len(c.scenes()) == 1, 60)
    finally:
        debugger.detach()
        instrumentation = debugger.the_session().instrumentation
        instrumentation.remove()
        instrumentation.scenes.adopt_unknown = False
    assert np.array_equal(bare, unwatched, equal_nan=True)
    assert np.array_equal(bare, watched, equal_nan=True)


def test_an_error_of_mujoco_reaches_the_script_as_it_is(listening: None) -> None:
    model = mujoco.MjModel.from_xml_string(STACK)
    data = mujoco.MjData(model)
    with pytest.raises(mujoco.FatalError):
        mujoco.mj_step(model, data, nstep=500)


def test_a_script_goes_on_when_the_engine_is_shut_down_around_it(listening: None) -> None:
    model, data = make()
    mujoco.mj_step(model, data)
    physics.shutdown()
    mujoco.mj_step(model, data, nstep=3)
    mujoco.mj_resetData(model, data)
    mujoco.mj_forward(model, data)
    mujoco.mj_step(model, data)
    assert data.time == pytest.approx(0.002)


def test_calls_inside_a_step_are_part_of_it(listening: None) -> None:
    model, data = make()
    calls = []

    def control(m: mujoco.MjModel, d: mujoco.MjData) -> None:
        calls.append(d.time)
        if len(calls) % 2:
            mujoco.mj_forward(m, d)  # calls this function again

    mujoco.set_mjcb_control(control)
    try:
        mujoco.mj_step(model, data, nstep=3)
    finally:
        mujoco.set_mjcb_control(None)
    assert len(calls) == 6
    assert len(scenes()) == 1


def test_one_thread_may_step_many_data_while_others_step_theirs(client: DebuggerClient) -> None:
    def work(number: int) -> float:
        model, first = make(f"scene {number}")
        second = mujoco.MjData(model)
        for _ in range(50):
            mujoco.mj_step(model, first)
            mujoco.mj_step(model, second)
        return float(first.time + second.time)

    with ThreadPoolExecutor(4) as pool:
        times = list(pool.map(work, range(8)))
    assert times == [times[0]] * 8


def test_a_session_that_is_opened_anew_shows_what_is_stepped_then(watching: None) -> None:
    model, data = make()
    for _ in range(2):
        debugger.listen()
        mujoco.mj_step(model, data)
        (scene,) = scenes()
        with DebuggerClient.connect(debugger.get_debug_server().connection_file) as client:
            assert [s.name for s in client.scenes()] == [scene.name]
        debugger.detach()
        mujoco.mj_step(model, data)
    assert data.time == pytest.approx(0.008)
