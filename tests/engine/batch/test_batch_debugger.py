"""A batched scene in the debugger: a real client looks at one environment of a running batch."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient, Frame
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer
from stroboscope.debugger_protocol.messages import OwnerActivity, PlaybackMode
from stroboscope.debugger_protocol.time_messages import GhostRef, GhostSource, StopReason
from stroboscope.debugger_protocol.topics import Instant, Topic

pytest.importorskip("mujoco.batch")

FULL = mujoco.mjtState.mjSTATE_INTEGRATION
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
COUNT, NQ = 6, 8
DEADLINE_S = 30.0
Row = NDArray[np.float64]


class Herd:
    """A batched scene that a thread of its own steps; ``before`` runs before every step."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.scene: Any = None
        self.before: Callable[[physics.BatchScene], None] = lambda scene: None
        self.error: BaseException | None = None
        self.over = False
        self.rows: list[Row] = []
        """All rows before each step, as the script has seen them."""
        self._made = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._made.wait(60)
        assert self.error is None, self.error

    def _run(self) -> None:
        try:
            self.scene = scene = physics.create_scene("herd", MODEL, n_envs=COUNT)
            scene.qvel[:, 6] = np.linspace(-1, 1, COUNT)
            scene.qvel[:, 0] = np.linspace(0, 1, COUNT)
            self._made.set()
            while not self.over:
                scene.ctrl[:, 0] = np.sin(10 * scene.time + np.arange(COUNT))
                self.before(scene)
                self.rows.append(scene.environments.state.copy())
                scene.step()
        except physics.SceneDestroyedError:
            return
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            self.error = error
        finally:
            self._made.set()

    @property
    def id(self) -> int:
        return int(self.scene.link.scene_id)

    def state(self) -> Row:
        """All rows as they stand, while the scene is parked."""
        state: Row = self.scene.environments.state.copy()
        return state

    def end(self) -> None:
        self.over = True
        self.host.detach("the test is over")
        self._thread.join(20)
        assert self.error is None, self.error


@pytest.fixture
def herd(host: Host) -> Iterator[tuple[DebuggerClient, Herd]]:
    """A client that has paused a herd before its first step."""
    host.attach(PlaybackMode.PAUSED)
    made = Herd(host)
    server = DebugServer(host)
    server.start()
    try:
        with DebuggerClient.connect(server.connection_file) as client:
            client.pause()
            assert client.wait_until(
                lambda c: [s.activity for s in c.scenes()] == [OwnerActivity.PARKED], DEADLINE_S
            )
            yield client, made
            made.over = True
    finally:
        server.stop()
        made.end()


def executed(row: Row) -> mujoco.MjData:
    """What plain MuJoCo computes in the step that begins with a row."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, row, FULL)
    mujoco.mj_step(model, data)
    return data


class Frames:
    """All frames that a client gets, in any order."""

    def __init__(self, client: DebuggerClient) -> None:
        self._client = client
        self._frames: list[Frame] = []

    def one(
        self, topic: Topic, instant: Instant, accept: Callable[[Frame], bool] = lambda _: True
    ) -> Frame:
        """Return, and forget, a frame that is accepted; wait for it if need be."""
        while True:
            for frame in self._frames:
                if (frame.topic, frame.instant) == (topic, instant) and accept(frame):
                    self._frames = [each for each in self._frames if each is not frame]
                    return frame
            new = self._client.next_frame(DEADLINE_S)
            assert new is not None, f"no such frame of {topic} at {instant}"
            self._frames.append(new)


def test_the_selected_environment_is_described_shown_and_plotted(
    herd: tuple[DebuggerClient, Herd],
) -> None:
    client, batch = herd
    assert [body.name for body in client.description(batch.id).bodies][1:] == ["box", "flap"]
    frames = Frames(client)
    client.subscribe(batch.id, [Topic.STATE, Topic.CONTACTS], max_rate_hz=1000)
    client.select_environments(batch.id, 4)
    client.step(batch.id, 120)
    row = batch.rows[119][4]
    data = executed(row)
    frame = frames.one(Topic.STATE, Instant.EXECUTED, lambda f: f.axis == 119)
    assert frame.arrays["qpos"].tobytes() == row[1 : 1 + NQ].tobytes()
    assert frame.arrays["qacc"].tobytes() == data.qacc.tobytes()
    frame = frames.one(Topic.STATE, Instant.NOW, lambda f: f.axis == 120)
    assert frame.arrays["qpos"].tobytes() == batch.state()[4, 1 : 1 + NQ].tobytes()
    told = client.environments(batch.id)
    assert told is not None
    assert (told.count, told.selected, told.shown) == (COUNT, 4, (4,))
    client.subscribe(batch.id, [Topic.SIGNALS], ["qpos", "qfrc_actuator", "contact.count"])
    client.step(batch.id, 30)
    seen: dict[int, Row] = {}
    while len(seen) < 30:
        frame = frames.one(Topic.SIGNALS, Instant.EXECUTED)
        for place, axis in enumerate(frame.arrays["axis"].tolist()):
            seen[axis] = frame.arrays["qfrc_actuator"][place]
            assert frame.arrays["qpos"][place].tobytes() == (
                batch.rows[axis][4, 1 : 1 + NQ].tobytes()
            )
    for axis, force in seen.items():
        assert force.tobytes() == executed(batch.rows[axis][4]).qfrc_actuator.tobytes()


def test_being_watched_changes_no_bit_of_any_environment(
    herd: tuple[DebuggerClient, Herd],
) -> None:
    client, batch = herd
    client.subscribe(batch.id, list(Topic), ["qpos", "energy.total"], max_rate_hz=1000)
    client.select_environments(batch.id, 2, shown=range(COUNT))
    client.step(batch.id, 100)
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    for env in range(COUNT):
        mujoco.mj_setState(model, data, batch.rows[0][env], FULL)
        for step in range(100):
            data.ctrl[0] = np.sin(10 * data.time + env)
            mujoco.mj_step(model, data)
            assert data.qpos.tobytes() == (
                batch.rows[step + 1][env, 1 : 1 + NQ].tobytes()
                if step < 99
                else batch.state()[env, 1 : 1 + NQ].tobytes()
            )


def test_the_environments_shown_have_their_poses_and_no_others(
    herd: tuple[DebuggerClient, Herd],
) -> None:
    client, batch = herd
    frames = Frames(client)
    client.subscribe(batch.id, [Topic.ENVIRONMENTS], max_rate_hz=1000)
    client.select_environments(batch.id, 1, shown=[5, 1, 3])
    client.step(batch.id, 10)
    frame = frames.one(Topic.ENVIRONMENTS, Instant.NOW, lambda f: f.axis == 10)
    assert frame.arrays["env"].tolist() == [5, 1, 3]
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    for place, env in enumerate((5, 1, 3)):
        mujoco.mj_setState(model, data, batch.state()[env], FULL)
        mujoco.mj_kinematics(model, data)
        assert frame.arrays["xpos"][place].tobytes() == data.xpos.tobytes()
        assert frame.arrays["xquat"][place].tobytes() == data.xquat.tobytes()
    client.step_back(batch.id, 4)
    frame = frames.one(Topic.ENVIRONMENTS, Instant.PAST, lambda f: f.axis == 6)
    mujoco.mj_setState(model, data, batch.rows[6][3], FULL)
    mujoco.mj_kinematics(model, data)
    assert frame.arrays["xpos"][2].tobytes() == data.xpos.tobytes()
    with pytest.raises(CommandError, match="there is no environment 6"):
        client.select_environments(batch.id, 6)


def test_the_past_of_every_environment_is_looked_at_and_gone_on_from(
    herd: tuple[DebuggerClient, Herd],
) -> None:
    client, batch = herd
    frames = Frames(client)
    client.subscribe(batch.id, [Topic.STATE], max_rate_hz=1000)
    client.step(batch.id, 50)
    client.goto(batch.id, axis=20)
    for env in (0, 3, 5):
        client.select_environments(batch.id, env)
        row = batch.rows[20][env]
        frame = frames.one(
            Topic.STATE,
            Instant.PAST,
            lambda f, row=row: f.arrays["qpos"].tobytes() == row[1 : 1 + NQ].tobytes(),
        )
        assert frame.axis == 20
        assert frame.arrays["qacc"].tobytes() == executed(row).qacc.tobytes()
    made = client.resimulate(batch.id, axis=10, steps=30)
    rows = client.read_rows(batch.id, ["qpos"], rollout_id=made)
    for at, qpos in zip(rows["axis"], rows["qpos"], strict=True):
        assert qpos.tobytes() == batch.rows[10 + at][5, 1 : 1 + NQ].tobytes()
    client.goto(batch.id, axis=20)
    segment = client.continue_from_here(batch.id)
    assert segment.begin == 50
    assert batch.state().tobytes() == batch.rows[20].tobytes()
    assert (batch.scene.environments.counters.step_counts() == 20).all()
    client.step(batch.id, 5)
    # The step is done before the script comes round to the next one.
    assert client.wait_until(lambda _: len(batch.rows) == 50 + 1 + 5, DEADLINE_S)
    assert batch.rows[-1][:, 1].tobytes() == batch.rows[25][:, 1].tobytes()
    client.goto(batch.id, axis=52)
    with pytest.raises(CommandError, match="can't be replayed"):
        client.continue_from_here(batch.id, with_script=False)


def test_a_time_a_step_and_an_episode_of_an_environment_are_found(
    herd: tuple[DebuggerClient, Herd],
) -> None:
    client, batch = herd
    client.step(batch.id, 20)
    client.select_environments(batch.id, 3)
    timestep = mujoco.MjModel.from_xml_string(MODEL).opt.timestep
    for where in ({"time": 7 * timestep}, {"step": 7}, {"step": 7, "episode": 0}):
        client.goto(batch.id, axis=2)
        client.goto(batch.id, **where)
        history = client.history(batch.id)
        assert history is not None
        assert (history.view, history.view_step) == (7, 7), where
    client.goto(batch.id, episode=0)
    assert (history := client.history(batch.id)) is not None
    assert history.view == 0


def test_an_environment_that_blows_up_stops_the_scene_and_is_shown(
    herd: tuple[DebuggerClient, Herd],
) -> None:
    client, batch = herd
    client.step(batch.id, 10)
    # The step is done before the script comes round and prepares the next one.
    assert client.wait_until(lambda _: len(batch.rows) == 11, DEADLINE_S)

    def ruin(scene: physics.BatchScene) -> None:
        scene.qvel[4, 6] = np.nan
        batch.before = lambda _: None

    batch.before = ruin
    client.step(batch.id)  # the open step was prepared already
    with pytest.raises(CommandError, match="environment 4"):
        client.step(batch.id, 5)
    assert client.wait_until(lambda c: len(c.stops(batch.id)) == 1, DEADLINE_S)
    stop = client.stops(batch.id)[0]
    assert (stop.env, stop.joint, stop.dof, stop.held) == (4, "elbow", 6, True)
    assert stop.message.startswith("environment 4: ")
    assert client.wait_until(
        lambda c: (
            (e := c.environments(batch.id)) is not None and (e.selected, e.failed) == (4, (4,))
        ),
        DEADLINE_S,
    )
    before = batch.rows[stop.axis]
    after = batch.state()
    assert after[4].tobytes() == before[4].tobytes()  # put back, evidence and all
    for env in set(range(COUNT)) - {4}:
        assert after[env, 1 : 1 + NQ].tobytes() == executed(before[env]).qpos.tobytes()
    # It goes on, unguarded, when it is let go on.
    client.step(batch.id, 2)
    assert len(client.stops(batch.id)) == 1
    assert np.isfinite(batch.state()).all()  # MuJoCo has reset it


def test_a_stop_that_is_only_marked_lets_the_scene_go_on(
    herd: tuple[DebuggerClient, Herd],
) -> None:
    client, batch = herd
    client.set_stop_rules(batch.id, mark_only=True)

    def ruin(scene: physics.BatchScene) -> None:
        if scene.total_steps == 7:
            scene.ctrl[1] = np.nan

    batch.before = ruin
    client.step(batch.id, 20)
    assert client.wait_until(lambda c: len(c.stops(batch.id)) == 1, DEADLINE_S)
    stop = client.stops(batch.id)[0]
    assert (stop.env, stop.held, stop.reason) == (1, False, StopReason.BAD_INPUT)
    assert stop.actuator == "elbow"
    assert client.wait_until(lambda c: c.environments(batch.id).failed == (1,), DEADLINE_S)


def test_a_reset_of_an_environment_is_no_stop_and_clears_its_failure(
    herd: tuple[DebuggerClient, Herd],
) -> None:
    client, batch = herd
    client.set_stop_rules(batch.id, mark_only=True)

    def episodes(scene: physics.BatchScene) -> None:
        if scene.total_steps == 3:
            scene.qvel[2, 6] = np.inf
        if scene.total_steps and scene.total_steps % 5 == 0:
            scene.reset(envs_idx=[0, 2])

    batch.before = episodes
    client.step(batch.id, 30)
    assert len(client.stops(batch.id)) == 1
    assert client.wait_until(lambda c: c.environments(batch.id).failed_count == 0, DEADLINE_S)

    def has_told_all(client: DebuggerClient) -> bool:
        history = client.history(batch.id)
        return bool(history and history.segments and history.segments[-1].begin == 30)

    assert client.wait_until(has_told_all, DEADLINE_S)
    history = client.history(batch.id)
    assert history is not None
    kinds = [segment.kind for segment in history.segments]
    assert kinds[0] == "begin"
    assert set(kinds[1:]) == {"episode"}
    assert [s.begin for s in history.segments if s.kind == "episode"] == [5, 10, 15, 20, 25, 30]
    assert history.segments[-1].episode == 6
    client.select_environments(batch.id, 1)
    assert client.wait_until(lambda c: len(c.history(batch.id).segments) == 1, DEADLINE_S)


def test_clients_edit_override_restore_and_fork_environments(
    herd: tuple[DebuggerClient, Herd],
) -> None:
    client, batch = herd
    client.select_environments(batch.id, 3)
    kept = client.checkpoint(batch.id, "all of them")
    begin = batch.state()
    client.edit_state(batch.id, "qpos", 2, [1.25])
    assert batch.state()[:, 3].tolist() == [0.4, 0.4, 0.4, 1.25, 0.4, 0.4]
    client.edit_option(batch.id, "gravity", 0.0, 0.0, 0.0)
    gravity = batch.scene.environments.expanded["opt.gravity"]
    assert gravity[:, 2].tolist() == [-9.81, -9.81, -9.81, 0.0, -9.81, -9.81]
    client.override_control(batch.id, 0, 0.75)
    client.step(batch.id, 3)
    model = mujoco.MjModel.from_xml_string(MODEL)
    model.opt.gravity[:] = 0.0
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, batch.rows[2][3], FULL)
    assert data.ctrl[0] == np.sin(10 * data.time + 3)  # the script finds its own
    data.ctrl[0] = 0.75
    mujoco.mj_step(model, data)
    assert batch.state()[3, 1 : 1 + NQ].tobytes() == data.qpos.tobytes()
    client.override_control(batch.id, 0, None)
    client.fork(batch.id, 3, [0, 1])
    after = batch.state()
    assert after[0].tobytes() == after[1].tobytes() == after[3].tobytes()
    client.show_ghosts(
        batch.id, [GhostRef(source=GhostSource.ENVIRONMENT, number=5, scene_id=batch.id)]
    )
    compared = client.compare(
        batch.id,
        GhostRef(source=GhostSource.ENVIRONMENT, number=3, scene_id=batch.id),
        GhostRef(source=GhostSource.ENVIRONMENT, number=5, scene_id=batch.id),
    )
    assert compared.differences
    client.restore(batch.id, kept)
    stays = (
        "gravity stays (0, 0, 0) m/s²: it was (0, 0, -9.81) m/s² then in environment 0 (+2 more)"
    )
    assert client.edits(batch.id)[-1].text == f"checkpoint 'all of them' was restored; {stays}"
    client.restore_initial(batch.id)
    assert client.edits(batch.id)[-1].text == f"the initial state was restored; {stays}"
    assert batch.state()[:, 1 : 1 + NQ].tobytes() == begin[:, 1 : 1 + NQ].tobytes()


def test_what_a_script_draws_is_shown_and_its_pause_holds_the_scene(
    herd: tuple[DebuggerClient, Herd],
) -> None:
    client, batch = herd
    frames = Frames(client)
    client.subscribe(batch.id, [Topic.DRAWING], max_rate_hz=1000)

    def draw(scene: physics.BatchScene) -> None:
        scene.debug_draw.sphere((0, 0, 1), 0.1)
        if scene.total_steps == 4:
            scene.pause("look at this")

    batch.before = draw
    client.step(batch.id, 3)
    frame = frames.one(Topic.DRAWING, Instant.NOW, lambda f: f.axis == 3)
    assert frame.arrays["kind"].tolist() == [2]
    client.fast_forward()

    def is_held(client: DebuggerClient) -> bool:
        scene = client.scenes()[0]
        return scene.total_steps == 4 and scene.activity == OwnerActivity.PARKED

    assert client.wait_until(is_held, DEADLINE_S)
    assert batch.scene.counters.total_steps == 4


def test_a_condition_of_a_client_holds_the_scene_and_selects_the_environment(
    herd: tuple[DebuggerClient, Herd],
) -> None:
    client, batch = herd
    client.break_when(batch.id, "time > 0.0225", name="late")
    assert client.wait_until(lambda c: len(c.conditions(batch.id)) == 1, DEADLINE_S)
    assert client.conditions(batch.id)[0].where == "in every environment"

    def fork(scene: physics.BatchScene) -> None:
        if scene.total_steps == 4:
            scene.reset(envs_idx=[0, 1, 2, 4])  # 3 and 5 come first

    batch.before = fork
    with pytest.raises(CommandError, match="environment 3: “late: time > "):
        client.step(batch.id, 100)
    assert client.wait_until(lambda c: len(c.stops(batch.id)) == 1, DEADLINE_S)
    stop = client.stops(batch.id)[0]
    assert (stop.env, stop.reason, stop.held) == (3, StopReason.CONDITION, True)
    assert stop.message.endswith("so it did in environment 5")
    assert client.wait_until(lambda c: c.environments(batch.id).selected == 3, DEADLINE_S)
    assert client.environments(batch.id).failed == ()
    assert batch.state()[3, 0] == batch.rows[stop.axis][3, 0] + 0.002  # the step is complete
    assert client.wait_until(lambda c: c.conditions(batch.id)[0].hit_count == 2, DEADLINE_S)
    client.step(batch.id, 2)
    with pytest.raises(CommandError, match="environment 0: "):
        client.step(batch.id, 100)
    # What needs the data of a step, and is only marked.
    made = client.break_when(batch.id, "contact.count > 0", log_only=True)
    client.edit_condition(client.conditions(batch.id)[0].condition_id, enabled=False)
    client.select_environments(batch.id, 4)
    client.step(batch.id, 200)
    assert client.wait_until(lambda c: c.stops(batch.id)[-1].condition_id == made, DEADLINE_S)
    marked = client.stops(batch.id)[-1]
    assert (marked.env, marked.held) == (4, False)
    assert executed(batch.rows[marked.axis][4]).ncon > 0
    assert executed(batch.rows[marked.axis - 1][4]).ncon == 0


def test_a_condition_of_a_client_is_looked_at_where_the_client_says(
    herd: tuple[DebuggerClient, Herd],
) -> None:
    client, batch = herd
    client.break_when(batch.id, "time > 0.007", envs_idx=[4, 2])
    client.break_when(batch.id, "contact.count > 99", envs_idx=[5])  # needs the data of a step
    assert client.wait_until(lambda c: len(c.conditions(batch.id)) == 2, DEADLINE_S)
    where = [each.where for each in client.conditions(batch.id)]
    assert where == ["in environments 4 and 2", "in environment 5"]
    with pytest.raises(CommandError, match="environment 4: “time > "):
        client.step(batch.id, 100)
    assert client.wait_until(lambda c: len(c.stops(batch.id)) == 1, DEADLINE_S)
    stop = client.stops(batch.id)[0]
    assert stop.env == 4
    assert stop.message.endswith("so it did in environment 2")
    assert client.wait_until(lambda c: c.conditions(batch.id)[0].hit_count == 2, DEADLINE_S)


def test_a_condition_waits_for_what_the_script_logs(herd: tuple[DebuggerClient, Herd]) -> None:
    client, batch = herd

    def log(scene: physics.BatchScene) -> None:
        scene.log("reward", float(scene.total_steps))

    batch.before = log
    client.step(batch.id, 2)
    client.break_when(batch.id, "reward > 6.5")
    with pytest.raises(CommandError, match="reward"):
        client.step(batch.id, 50)
    assert client.wait_until(lambda c: len(c.stops(batch.id)) == 1, DEADLINE_S)
    assert client.stops(batch.id)[0].axis == 7


def test_a_script_that_asks_for_it_is_stopped_without_a_debugger() -> None:
    scene = physics.create_scene("herd", MODEL, n_envs=3)
    scene.raise_on_stop = True
    for _ in range(5):
        scene.step()
    scene.qvel[1, 6] = np.nan
    before = scene.environments.state[1].copy()
    with pytest.raises(physics.SimulationStopped, match=r"environment 1: .*elbow") as caught:
        scene.step()
    assert caught.value.event.env == 1
    assert scene.last_stop is not None
    assert scene.last_stop.joint == "elbow"
    assert scene.failed_environments == (1,)
    assert scene.environments.state[1].tobytes() == before.tobytes()
    assert scene.time.tolist() == pytest.approx([0.012, 0.01, 0.012])
    scene.reset(envs_idx=1)
    scene.step()
    assert scene.failed_environments == ()
    scene.qvel[2, 2] = 1e7  # at the time 0 of its episode, a reset looks like an ordinary step
    scene.reset(envs_idx=2)
    scene.qvel[2, 6] = np.inf
    with pytest.raises(physics.SimulationStopped, match="environment 2"):
        scene.step()


def test_a_history_keeps_within_its_bytes_and_the_selected_environment_longer() -> None:
    scene = physics.create_scene("herd", MODEL, n_envs=20)
    matrix = scene.environments.state.nbytes
    scene.keep_history(max_bytes=40 * matrix)
    rows = []
    for _ in range(200):
        rows.append(scene.environments.state.copy())
        scene.step()
    history = scene.batch_history
    assert history.nbytes <= 40 * matrix
    assert history.first == 200 - 30
    assert history.first_of(3) == history.first
    assert history.first_of(0) == 0
    for axis in range(200):
        row = history.row(0, axis)
        assert row is not None
        assert row.tobytes() == rows[axis][0].tobytes()
    assert history.row(3, 100) is None
    assert history.row(3, 180).tobytes() == rows[180][3].tobytes()
