"""Batched scenes in the debugger where it gets narrow: failures, full histories."""

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.time_messages import SegmentKind, StopReason

pytest.importorskip("mujoco.batch")

FULL = mujoco.mjtState.mjSTATE_INTEGRATION
DEADLINE_S = 30.0
MODEL = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="box" pos="0 0 .4"><freejoint name="float"/><geom type="box" size=".1 .15 .2"/>
      <body name="flap" pos=".1 0 0"><joint name="elbow" axis="0 1 0" damping=".2"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></body>
  </worldbody>
  <actuator><motor name="elbow" joint="elbow" ctrlrange="-1 1"/></actuator>
</mujoco>
"""
SMALL = """
<mujoco><worldbody><body><joint name="hinge" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
</worldbody><actuator><motor joint="hinge"/></actuator></mujoco>
"""
NARROW = """
<mujoco><size memory="28K"/><worldbody><geom type="plane" size="5 5 .1"/>
  <body pos="0 0 5"><freejoint name="first"/><geom type="box" size=".1 .1 .1"/></body>
  <body pos="1 0 5"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos="2 0 5"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
</worldbody><actuator><motor joint="first" gear="0 0 .1 0 0 0"/></actuator></mujoco>
"""
Rows = NDArray[np.float64]
MakeFlock = Callable[..., tuple[DebuggerClient, Any]]


def stepped(model: mujoco.MjModel, row: Rows) -> Rows:
    """What plain MuJoCo makes of a row in one step."""
    data, after = mujoco.MjData(model), np.empty_like(row)
    mujoco.mj_setState(model, data, row, FULL)
    mujoco.mj_step(model, data)
    mujoco.mj_getState(model, data, after, FULL)
    return after


def test_one_of_64_diverges_again_and_again_while_the_others_go_on_untouched(
    flock: MakeFlock,
) -> None:
    client, batch = flock(MODEL, 64)
    client.set_stop_rules(batch.id, mark_only=True)

    def ruin(scene: physics.BatchScene) -> None:
        if scene.total_steps in (10, 40, 41):
            scene.qvel[37, 6] = np.nan
        if scene.total_steps == 60:
            scene.ctrl[5] = np.nan

    batch.before = ruin
    client.step(batch.id, 100)
    assert client.wait_until(lambda c: c.environments(batch.id).failed == (37, 5), DEADLINE_S)
    stops = client.stops(batch.id)
    assert {stop.env for stop in stops} == {37, 5}
    assert [stop.axis for stop in stops if stop.env == 37][:2] == [10, 40]
    assert all(not stop.held for stop in stops)
    first = stops[0]
    assert (first.joint, first.dof, first.physics_step) == ("elbow", 6, 10)
    model = mujoco.MjModel.from_xml_string(MODEL)
    for env in (0, 36, 38, 63):
        for axis in range(99):
            after = stepped(model, batch.rows[axis][env])
            assert after[1:16].tobytes() == batch.rows[axis + 1][env, 1:16].tobytes()
    assert np.isfinite(batch.state()[37]).all()
    assert client.stop_rules(batch.id).resets == 3
    client.select_environments(batch.id, 37)

    def has_told(client: DebuggerClient) -> bool:
        history = client.history(batch.id)
        return bool(history and len(history.segments) == 6)

    assert client.wait_until(has_told, DEADLINE_S)
    segments = client.history(batch.id).segments
    edit, episode = SegmentKind.EDIT, SegmentKind.EPISODE
    assert [(each.begin, each.kind) for each in segments[1:]] == [
        (10, edit), (11, episode), (40, edit), (41, episode), (42, episode),
    ]  # fmt: skip
    assert [each.time for each in segments if each.kind is episode] == [0.002] * 3
    client.select_environments(batch.id, 36)
    assert client.wait_until(lambda c: len(c.history(batch.id).segments) == 1, DEADLINE_S)


def test_an_environment_without_memory_holds_the_scene_and_play_lets_it_go_on(
    flock: MakeFlock,
) -> None:
    client, batch = flock(NARROW, 4)
    client.step(batch.id, 2)

    def crowd(scene: physics.BatchScene) -> None:
        if scene.total_steps == 4:
            scene.qpos[2, [2, 9, 16]] = 0.05

    batch.before = crowd
    with pytest.raises(CommandError, match="environment 2"):
        client.step(batch.id, 20)
    stop = client.stops(batch.id)[0]
    assert stop.env == 2
    assert stop.reason in (StopReason.FATAL, StopReason.ARENA)
    assert client.wait_until(lambda c: c.environments(batch.id).selected == 2, DEADLINE_S)
    kept = batch.state()
    assert kept[2].tobytes() == batch.rows[stop.axis][2].tobytes()
    # It can't take that step; the others can, and it is told once.
    client.step(batch.id, 3)
    assert batch.state()[2, 0] == kept[2, 0]
    assert batch.state()[0, 0] > kept[0, 0] + 0.005
    assert len(client.stops(batch.id)) == 1
    client.select_environments(batch.id, 2)
    batch.before = lambda scene: (
        scene.reset(envs_idx=2) if scene.total_steps == stop.axis + 6 else None
    )
    client.step(batch.id, 10)
    assert client.wait_until(lambda c: c.environments(batch.id).failed == (), DEADLINE_S)
    assert batch.state()[2, 0] > 0.0


@pytest.mark.parametrize(
    ("model", "count", "matrices", "commands"),
    [(MODEL, 64, 24, 160), (SMALL, 4096, 12, 60)],
    ids=["64", "4096"],
)
def test_random_looks_back_at_the_limit_of_a_history_show_what_has_been(
    flock: MakeFlock, model: str, count: int, matrices: int, commands: int
) -> None:
    compiled = mujoco.MjModel.from_xml_string(model)
    size = mujoco.mj_stateSize(compiled, FULL)
    client, batch = flock(model, count, max_bytes=matrices * count * size * 8)
    history = batch.scene.batch_history
    chance = np.random.default_rng(count)
    nq = compiled.nq

    def reset_some(scene: physics.BatchScene) -> None:
        if scene.total_steps % 17 == 5:
            scene.reset(envs_idx=chance.choice(count, size=count // 3, replace=False))

    batch.before = reset_some
    for _ in range(commands):
        word = str(chance.choice(("step", "step", "step", "select", "look", "look", "continue")))
        env = int(chance.integers(count))
        if word == "step":
            client.step(batch.id, int(chance.integers(1, 9)))
        elif word == "select":
            client.select_environments(batch.id, env)
        else:
            told = client.history(batch.id)
            if told is None or history.is_empty:
                continue
            selected = batch.scene.selected.env
            first, end = history.first_of(selected), history.end_axis()
            axis = int(chance.integers(first, end))
            client.goto(batch.id, axis=axis)
            if word == "continue":
                before = batch.state()
                if axis < history.first:
                    with pytest.raises(CommandError, match="only environment"):
                        client.continue_from_here(batch.id)
                    assert batch.state().tobytes() == before.tobytes()
                else:
                    segment = client.continue_from_here(batch.id)
                    assert segment.kind is SegmentKind.BRANCH
                    assert batch.state().tobytes() == batch.rows[axis].tobytes()
                    # The open step was prepared for another state.
                    batch.rows[segment.begin] = batch.state()
            client.go_live(batch.id)
        assert history.nbytes <= matrices * count * size * 8
        if history.is_empty:
            continue
        selected = batch.scene.selected.env
        read = client.read_rows(batch.id, ["qpos", "ctrl"], first=0)
        assert read["axis"][-1] == history.end_axis() - 1
        assert read["axis"][0] == history.first_of(selected)
        for place, axis in enumerate(read["axis"].tolist()):
            row = batch.rows[axis][selected]
            assert read["qpos"][place].tobytes() == row[1 : 1 + nq].tobytes(), (word, axis)
            assert read["time"][place] == row[0]
    assert history.first > 0


def test_counters_of_every_environment_are_known_for_every_row_that_is_kept(
    flock: MakeFlock,
) -> None:
    client, batch = flock(SMALL, 9)
    chance = np.random.default_rng(4)
    seen: dict[int, tuple[Rows, Rows, Rows]] = {}

    def turn(scene: physics.BatchScene) -> None:
        some = np.flatnonzero(chance.random(9) < 0.2)
        if chance.random() < 0.2:
            scene.reset(envs_idx=some)
        if chance.random() < 0.1:
            scene.fork(int(chance.integers(9)), some)
        seen[scene.counters.axis] = (
            scene.step_count.copy(),
            scene.physics_step_count.copy(),
            scene.batch_history.episodes.copy(),
        )

    batch.before = turn
    client.step(batch.id, 300)
    for axis in range(1, 300):
        for mine, theirs in zip(batch.scene.batch_history.counts_at(axis), seen[axis], strict=True):
            assert mine.tolist() == theirs.tolist(), axis
    for env in range(9):
        segments = batch.scene.batch_history.segments_of(env)
        for axis in range(1, 300, 7):
            found = segments.of(axis)
            assert found is not None
            segment = found.segment
            assert segment.episode == seen[axis][2][env]
            assert segment.physics_step + axis - segment.begin == seen[axis][1][env]


def test_timestep_of_one_environment_is_edited_looked_back_at_and_simulated_again(
    flock: MakeFlock,
) -> None:
    client, batch = flock(MODEL, 5)
    client.step(batch.id, 10)
    client.select_environments(batch.id, 3)
    client.edit_option(batch.id, "timestep", 0.0005)
    client.step(batch.id, 10)
    assert batch.state()[:, 0].tolist() == pytest.approx([0.04] * 3 + [0.025, 0.04])
    made = client.resimulate(batch.id, axis=5, steps=12)
    rows = client.read_rows(batch.id, ["qpos"], rollout_id=made)
    # The recorded steps are run with the timesteps that they had.
    times = [batch.rows[axis][3, 0] for axis in range(5, 10)]
    assert rows["time"][:5].tolist() == times
    assert rows["qpos"][4].tobytes() == batch.rows[9][3, 1:9].tobytes()
    assert client.stops(batch.id) == ()


def test_coming_and_going_changes_nothing_and_the_history_begins_anew(host: Host) -> None:
    scene, free = (physics.create_scene(name, MODEL, n_envs=8) for name in ("seen", "free"))
    scene.qvel[:] = free.qvel[:] = np.random.default_rng(2).normal(size=scene.qvel.shape)
    condition = scene.break_when("time > 0.1", log_only=True)
    rows: list[Rows] = []

    def step(count: int) -> None:
        for _ in range(count):
            rows.append(scene.environments.state.copy())
            assert free.environments.state.tobytes() == rows[-1].tobytes()
            scene.ctrl[:, 0] = free.ctrl[:, 0] = np.sin(len(rows) + np.arange(8))
            rows[-1] = scene.environments.state.copy()
            scene.step()
            free.step()

    free.playback = scene.playback
    for turn in range(6):
        step(7)
        host.attach(PlaybackMode.FAST_FORWARD)
        begin = len(rows)
        scene.select_environment(turn)
        step(12)
        history = scene.batch_history
        assert (history.first, history.end_axis()) == (begin, begin + 12)
        for axis in range(begin, begin + 12):
            matrix = history.matrix(axis)
            assert matrix is not None
            assert matrix.tobytes() == rows[axis].tobytes()
        host.detach("enough seen")
    step(2)
    # Somebody followed steps 45 to 56 only: what is true there at first has become true there.
    assert condition.hit_count == 8 * 4
    assert scene.selected_env == 5
