"""The history of a scene: every row there was, thinned out where it is old, and gone back to."""

import sys
import time
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from histories import DERIVED, machine, same
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.time_messages import SegmentKind
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.runtime import current_runtime

Make = Callable[..., physics.Scene]
StateOf = Callable[[physics.Scene], NDArray[np.float64]]
Rows = list[NDArray[np.float64]]

SMALL = 1 << 20


def row_at(scene: physics.Scene, axis: int) -> NDArray[np.float64]:
    """Return the row as whoever compares or plots it gets it."""
    found: NDArray[np.float64] = machine(scene)._past.row(axis)
    return found


# --- rows


def test_every_row_is_there_to_the_bit_with_its_clock(make_scene: Make, record: Any) -> None:
    scene = make_scene()
    scene.keep_history()
    rows = record(scene, 400)
    state = machine(scene).history()
    assert (state.first, state.dense, state.live, state.rows) == (0, 0, 400, 400)
    for axis in (0, 1, 147, 148, 399):
        assert row_at(scene, axis).tobytes() == rows[axis].tobytes()
        clock = machine(scene).look_at(axis, frozenset()).clock
        assert (clock.axis, clock.physics_step_count, clock.step_count) == (axis, axis, axis)
        assert clock.time == rows[axis][0]


def test_old_rows_are_thinned_out_and_stepped_to_again_to_the_bit(
    make_scene: Make, record: Any, state_of: StateOf
) -> None:
    scene = make_scene()
    scene.keep_history(max_bytes=4 * SMALL)
    rows = record(scene, 1500)
    scene.reset()
    rows += record(scene, 1500, seed=1)
    live = state_of(scene)
    state = machine(scene).history()
    assert state.used_bytes <= 4 * SMALL
    assert state.first == 0
    assert 1000 < state.dense < 3000
    notes = set()
    for axis in range(0, 3000, 13):
        notes.add(machine(scene).look_at(axis, frozenset({Topic.POSE})).note)
        assert row_at(scene, axis).tobytes() == rows[axis].tobytes(), axis
    assert notes == {"", "verified"}
    assert np.array_equal(live, state_of(scene))
    assert scene.model.opt.timestep == 0.005


def test_what_the_scripts_callback_does_is_not_made_up(make_scene: Make, record: Any) -> None:
    scene = make_scene()
    scene.keep_history(max_bytes=4 * SMALL)
    rows = record(scene, 3000)
    calls: list[float] = []
    mujoco.set_mjcb_control(lambda model, data: calls.append(data.time))
    try:
        axis = next(a for a in range(1, 1000) if scene.history.ring.row(a) is None)
        past = machine(scene).look_at(axis, frozenset({Topic.POSE}))
        assert past.note.startswith("not reproducible: script callback (control)")
        assert past.clock.axis < axis
        assert past.clock.time == rows[past.clock.axis][0]
        with pytest.raises(CommandError, match="can't be had"):
            machine(scene).continue_from(axis)
    finally:
        mujoco.set_mjcb_control(None)
    assert not calls


def test_beyond_all_limits_the_oldest_rows_go(make_scene: Make, record: Any) -> None:
    scene = make_scene()
    scene.keep_history(max_bytes=SMALL // 2)
    record(scene, 3000)
    state = machine(scene).history()
    assert 0 < state.first < state.dense < 2960
    assert state.used_bytes <= SMALL
    assert state.segments[0].begin <= state.first
    with pytest.raises(CommandError, match="is not remembered: rows from"):
        machine(scene).look_at(state.first - 1, frozenset())


@pytest.mark.parametrize("option", ["Euler", "RK4", "implicit", "implicitfast"])
def test_derived_values_of_the_past_are_those_of_the_executed_step(
    make_scene: Make, option: str
) -> None:
    scene = make_scene(options=physics.SceneOptions(integrator=option))
    scene.keep_history()
    backend = scene.link.backend
    random = np.random.default_rng(1)
    executed = []
    for _ in range(150):
        scene.ctrl[:] = random.uniform(-1, 1, scene.model.nu)
        backend.begin_frame(DERIVED)
        scene.step()
        executed.append(backend.end_frame(DERIVED))
    for axis in range(0, 150, 7):
        same(executed[axis], machine(scene).look_at(axis, DERIVED).frames)


def test_several_physics_steps_of_one_step_have_a_row_each(
    make_scene: Make, record: Any, host: Host
) -> None:
    scene = make_scene()
    scene.keep_history()
    record(scene, 10, nstep=5)
    host.attach(PlaybackMode.FAST_FORWARD)
    record(scene, 10, nstep=5)
    scene.step(0.012)  # in three steps of their own length
    time = machine(scene)
    state = time.history()
    assert (state.first, state.live, len(state.segments)) == (0, 103, 1)
    assert time.look_at(57, frozenset()).clock.step_count == 11
    assert time.steps_away(103, -1, physics=False) == 100
    assert time.steps_away(100, -3, physics=False) == 85
    assert time.steps_away(57, -1, physics=False) == 55
    assert time.steps_away(57, 1, physics=False) == 60
    assert time.steps_away(57, 1, physics=True) == 58
    assert time.steps_away(57, 10_000, physics=False) == 103
    assert time.steps_away(57, -10_000, physics=False) == 0
    assert time.steps_between(85, 103) == 4
    assert scene.history.ring.timestep(101) == pytest.approx(0.004)


# --- segments


def test_whatever_replaces_the_state_begins_a_segment(make_scene: Make, record: Any) -> None:
    scene = make_scene()
    scene.keep_history()
    record(scene, 10)
    kept = scene.capture_state()
    record(scene, 5)
    scene.reset()
    record(scene, 5)
    mujoco.mj_resetData(scene.model, scene.data)
    record(scene, 5)
    scene.restore_state(kept)
    record(scene, 5)
    scene.data.qpos[2] += 0.5
    record(scene, 5)
    machine(scene).continue_from(3)
    record(scene, 5)
    segments = machine(scene).history().segments
    kinds = SegmentKind
    assert [s.kind for s in segments] == [
        kinds.BEGIN, kinds.EPISODE, kinds.EPISODE, kinds.RESTORE, kinds.EDIT, kinds.BRANCH
    ]  # fmt: skip
    assert [s.begin for s in segments] == [0, 15, 20, 25, 30, 35]
    assert [s.episode for s in segments] == [0, 1, 2, 2, 2, 0]
    assert [s.parent_axis for s in segments] == [-1, -1, -1, -1, 29, 3]
    assert segments[-1].physics_step == 3
    assert segments[3].time == pytest.approx(0.05)
    scene.reset()
    scene.step()
    assert machine(scene).history().segments[-1].episode == 3


def test_a_script_that_sets_every_state_makes_one_segment_and_all_rows_stay(
    make_scene: Make, state_of: StateOf
) -> None:
    scene = make_scene()
    scene.keep_history()
    rows = []
    for k in range(50):
        scene.data.qpos[0] = 0.01 * k
        rows.append(state_of(scene))
        scene.step()
    assert len(machine(scene).history().segments) == 2
    for axis in range(50):
        assert row_at(scene, axis).tobytes() == rows[axis].tobytes()


def test_inputs_and_looking_begin_no_segment(make_scene: Make, record: Any) -> None:
    scene = make_scene()
    scene.keep_history()
    record(scene, 5)
    scene.data.xfrc_applied[2, :3] = 1.0
    mujoco.mj_forward(scene.model, scene.data)
    record(scene, 5)
    machine(scene).look_at(2, DERIVED)
    record(scene, 5)
    assert len(machine(scene).history().segments) == 1


def test_nothing_is_kept_while_nobody_wants_it(make_scene: Make, record: Any, host: Host) -> None:
    scene = make_scene()
    record(scene, 5)
    assert machine(scene).history().rows == 0
    host.attach(PlaybackMode.FAST_FORWARD)
    record(scene, 5)
    state = machine(scene).history()
    assert (state.keeps, state.first, state.rows) == (True, 5, 5)
    machine(scene).set_history(keep=False, max_bytes=None)
    record(scene, 5)
    assert machine(scene).history().rows == 0
    assert machine(scene).history().used_bytes == 0
    machine(scene).set_history(keep=True, max_bytes=None)
    record(scene, 5)
    assert machine(scene).history().first == 15
    host.detach("enough")
    record(scene, 5)
    host.attach(PlaybackMode.FAST_FORWARD)
    record(scene, 5)
    state = machine(scene).history()
    assert [s.kind for s in state.segments] == [SegmentKind.BEGIN, SegmentKind.BEGIN]
    with pytest.raises(CommandError, match="nobody followed the scene then"):
        machine(scene).look_at(22, frozenset())


# --- finding


def test_rows_are_found_by_step_time_and_episode(make_scene: Make, record: Any) -> None:
    scene = make_scene()
    scene.keep_history()
    for _ in range(3):
        record(scene, 20)
        scene.reset()
    record(scene, 10)
    time = machine(scene)
    assert time.find(step=7, near=70) == 7
    assert time.find(step=7, episode=2, near=70) == 47
    assert time.find(episode=1, near=70) == 20
    assert time.find(time=0.0501, near=25) == 30
    assert time.find(time=0.0499, near=25) == 29
    assert time.find(time=0.05, episode=0, near=70) == 10
    for step in range(20):  # whose times are sums of 0.005: some are a little above, some below
        assert time.find(time=5 * step / 1000, episode=0, near=70) == step
    assert time.find(time=99.0, near=70) == 70
    assert time.find(step=10, episode=3, near=70) == 70
    assert time.find(step=5000, near=70) == 70
    with pytest.raises(CommandError, match="episode 9 is not remembered: 0 to 3 are"):
        time.find(episode=9, near=70)
    with pytest.raises(CommandError, match="has no physics step 25: it has 0 to 19"):
        time.find(step=25, episode=1, near=70)
    with pytest.raises(CommandError, match=r"of episode 1 at or before -0\.5 s"):
        time.find(time=-0.5, episode=1, near=70)


# --- branches


def test_continuing_from_a_row_is_what_would_have_happened(
    make_scene: Make, record: Any, state_of: StateOf
) -> None:
    scene = make_scene()
    scene.keep_history(max_bytes=4 * SMALL)
    rows = record(scene, 3000)
    axis = next(a for a in range(1000) if scene.history.ring.row(a) is None)
    segment = machine(scene).continue_from(axis)
    assert (segment.kind, segment.begin, segment.parent_axis) == (SegmentKind.BRANCH, 3000, axis)
    assert "it has registered none of it" in segment.text
    assert (scene.physics_step_count, scene.total_steps) == (axis, 3000)
    for k in range(50):
        _put_inputs(scene, rows[axis + k])
        assert state_of(scene).tobytes() == rows[axis + k].tobytes()
        scene.step()
    assert machine(scene).history().live == 3050


def test_recorded_inputs_lead_to_where_the_scene_stood(
    make_scene: Make, record: Any, state_of: StateOf
) -> None:
    scene = make_scene()
    scene.keep_history()
    record(scene, 200)
    before = state_of(scene)
    assert list(machine(scene).replay_from(120))[-1] == 1.0
    assert np.array_equal(before, state_of(scene))
    assert (scene.physics_step_count, scene.total_steps) == (200, 280)
    segment = machine(scene).history().segments[-1]
    assert (segment.kind, segment.begin, segment.parent_axis) == (SegmentKind.BRANCH, 200, 120)


def test_a_replay_that_is_given_up_leaves_the_scene_where_it_was(
    make_scene: Make, record: Any, state_of: StateOf
) -> None:
    scene = make_scene()
    scene.keep_history()
    record(scene, 200)
    before = state_of(scene)
    replay = machine(scene).replay_from(20)
    next(replay)
    assert not np.array_equal(before, state_of(scene))
    replay.close()
    assert np.array_equal(before, state_of(scene))
    assert scene.physics_step_count == 200


def _put_inputs(scene: physics.Scene, row: NDArray[np.float64]) -> None:
    mujoco.mj_setState(
        scene.model,
        scene.data,
        row[scene.stepper._inputs],
        scene.stepper._inputs_mask,
    )


# --- models that sleep


DOMINOES = """
<mujoco><option timestep=".005"><flag sleep="enable"/></option><worldbody>
  <geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos="1 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos="2 0 .6"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
</worldbody></mujoco>
"""


@pytest.mark.skipif(
    not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"), reason="this MuJoCo knows no sleep"
)
def test_rows_of_a_partly_sleeping_scene_are_had_from_full_copies(state_of: StateOf) -> None:
    scene = physics.create_scene("boxes", mujoco.MjModel.from_xml_string(DOMINOES))
    scene.keep_history()
    rows, poses = [], []
    for k in range(600):
        if k == 400:
            scene.data.xfrc_applied[1, 0] = 30.0
        if k == 420:
            scene.data.xfrc_applied[1, 0] = 0.0
        rows.append(state_of(scene))
        scene.step()
        poses.append(np.array(scene.data.xpos))
    assert scene.data.ntree_awake < 3
    for axis in range(0, 600, 17):
        past = machine(scene).look_at(axis, frozenset({Topic.POSE}))
        assert past.note in ("", "verified"), (axis, past.note)
        assert row_at(scene, axis).tobytes() == rows[axis].tobytes()
        assert np.array_equal(past.frames.arrays[Topic.POSE]["xpos"], poses[axis])
    machine(scene).continue_from(333)
    for axis in range(333, 400):
        assert state_of(scene).tobytes() == rows[axis].tobytes()
        scene.step()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(
    not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"), reason="this MuJoCo knows no sleep"
)
@pytest.mark.parametrize("at", [300, 320, 341])
def test_a_step_that_is_taken_back_leaves_asleep_what_slept(state_of: StateOf, at: int) -> None:
    runs = []
    for disturbed in (False, True):
        scene = physics.create_scene("boxes", mujoco.MjModel.from_xml_string(DOMINOES))
        scene.keep_history()
        scene.raise_on_stop = True
        for k in range(500):
            scene.data.xfrc_applied[3, 0] = 20.0 if k > at else 0.0
            if disturbed and k == at:
                assert scene.data.ntree_awake < 3
                scene.data.xfrc_applied[3, 0] = np.inf
                with pytest.raises(physics.SimulationStopped):
                    scene.step()
                scene.data.xfrc_applied[3, 0] = 0.0
            scene.step()
        runs.append(state_of(scene))
    assert np.array_equal(*runs)


# --- limits


def test_scenes_share_what_a_process_may_use(make_scene: Make, record: Any) -> None:
    from stroboscope.engine.history.budget import HistoryBudget, HistoryLimits
    from stroboscope.engine.runtime import current_runtime

    physics.initialize()
    current_runtime().history_budget = HistoryBudget(
        HistoryLimits(process_bytes=4 * SMALL, scene_bytes=3 * SMALL)
    )
    scenes = [make_scene("arm") for _ in range(4)]
    for scene in scenes:
        scene.keep_history()
    for _ in range(2):
        for scene in scenes:
            record(scene, 3000)
    used = [machine(scene).history().used_bytes for scene in scenes]
    assert sum(used) <= 5 * SMALL
    assert min(used) > SMALL // 2
    scenes[0].keep_history(False)
    scenes[0].destroy()
    assert current_runtime().history_budget.used < sum(used)


def _grown_bytes(scene: physics.Scene, steps: int) -> int:
    """Return by how much the memory of this process grows over so many steps."""
    import resource

    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    before = resident()
    for k in range(steps):
        if k % 10 == 0:
            scene.ctrl[:] = 0.3 * (-1) ** (k // 10)
        if k % 997 == 0:
            scene.reset()
        scene.step()
    return resident() - before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells the memory")
def test_memory_stays_flat_once_the_history_is_full(make_scene: Make, host: Host) -> None:
    host.attach(PlaybackMode.FAST_FORWARD)
    scene = make_scene("arm")
    scene.history.max_bytes = 4 * SMALL
    _grown_bytes(scene, 40_000)
    assert machine(scene).history().first > 0
    assert _grown_bytes(scene, 40_000) < 2 * SMALL
    assert machine(scene).history().used_bytes <= 4 * SMALL


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells the memory")
def test_memory_stays_flat_for_ten_minutes_of_fast_forward(make_scene: Make, host: Host) -> None:
    host.attach(PlaybackMode.FAST_FORWARD)
    scene = make_scene()
    while machine(scene).history().first <= 0:
        _grown_bytes(scene, 20_000)
    grown, begin = 0, time.monotonic()
    while time.monotonic() < begin + 600.0:
        grown += _grown_bytes(scene, 20_000)
        assert abs(grown) <= 5 * SMALL
        assert machine(scene).history().used_bytes <= 64 * SMALL


def test_steps_that_nobody_followed_are_passed_over_on_the_way_back(
    make_scene: Make, record: Callable[..., Rows]
) -> None:
    physics.initialize()
    host = current_runtime().host
    host.attach(PlaybackMode.FAST_FORWARD)
    scene = make_scene("arm")
    record(scene, 20)
    host.detach("nobody looks")
    record(scene, 100)
    host.attach(PlaybackMode.FAST_FORWARD)
    travel = machine(scene)
    for physical in (False, True):
        assert travel.steps_away(120, -1, physics=physical) == 19
        assert travel.steps_away(120, -1000, physics=physical) == 0
        assert travel.steps_away(19, 1, physics=physical) == 120
        assert travel.steps_away(19, -4, physics=physical) == 15
    assert travel.steps_between(19, 120) == 101
    assert travel.find(step=None, time=scene.data.time / 2, episode=None, near=120) == 19
    assert travel.find(step=None, time=0.01, episode=None, near=120) == 5
    record(scene, 10)
    assert travel.steps_away(120, -1, physics=False) == 19
    assert travel.steps_away(120, -1, physics=True) == 19
    assert travel.steps_away(130, -2, physics=False) == 128
    assert travel.find(step=None, time=0.02, episode=None, near=120) == 10


def test_a_lower_limit_takes_the_oldest_rows_and_goes_on_keeping_the_newest(
    make_scene: Make, record: Callable[..., Rows]
) -> None:
    scene = make_scene("arm")
    scene.keep_history()
    record(scene, 1200)
    scene.keep_history(max_bytes=300_000)
    for _ in range(20):
        record(scene, 37)
        ring = scene.history.ring
        assert ring.nbytes <= 300_000 or ring.first == 0
    assert ring.first > 0
    for _ in range(40):
        record(scene, 7)
        assert ring.dense < ring.next_axis - 40
