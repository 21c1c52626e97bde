"""The past of environments whose model fields a script writes into: looked at as it was then."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from samples import few

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import GhostRef, GhostSource
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco.batch")

MODEL = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .4"><freejoint/><geom type="box" size=".1 .15 .2"/>
      <body pos=".1 0 0"><joint name="elbow" axis="0 1 0" damping=".2"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></body>
  </worldbody>
  <actuator><position joint="elbow" kp="3"/></actuator>
</mujoco>
"""
READ = ("actuator_force", "qfrc_bias", "qfrc_passive")
DERIVED = frozenset({Topic.STATE, Topic.POSE})
FIELDS = ("actuator_biasprm", "actuator_gainprm", "body_mass", "opt.gravity", "dof_damping")
COUNT = 3


class Herd:
    """Steps a batch, and notes what follows from every environment's row by a step of its own."""

    def __init__(self, **history: Any) -> None:
        self.scene = physics.create_scene("herd", MODEL, n_envs=COUNT)
        self.scene.keep_history(True, **history)
        self.seen: dict[tuple[int, int], dict[str, NDArray[np.float64]]] = {}
        self._random = np.random.default_rng(0)
        self._model = mujoco.MjModel.from_xml_string(MODEL)
        self._data = mujoco.MjData(self._model)

    def step(self, count: int) -> None:
        scene, envs = self.scene, self.scene.environments
        for _ in range(count):
            scene.ctrl[:] = self._random.uniform(-1, 1, scene.ctrl.shape)
            for env in range(COUNT):
                model, data = envs.batch.get_model(env), self._data
                mujoco.mj_setState(model, data, envs.state[env], envs.adapter.integration)
                mujoco.mj_forward(model, data)
                found = {name: getattr(data, name).copy() for name in (*READ, "xpos")}
                self.seen[env, scene.counters.axis] = found
            scene.step()

    def check(self, env: int, axes: Any, *, notes: tuple[str, ...] = ("",)) -> None:
        self.scene.selected.select(env)
        machine = self.scene.backend.time_machine()
        for axis in axes:
            past = machine.look_at(axis, DERIVED)
            assert past.note.startswith(notes), past.note
            then, arrays = self.seen[env, axis], past.frames.arrays
            for name in READ:
                assert arrays[Topic.STATE][name].tobytes() == then[name].tobytes(), (axis, name)
            assert arrays[Topic.POSE]["xpos"].tobytes() == then["xpos"].tobytes(), axis

    def read(self, env: int) -> NDArray[np.float64]:
        self.scene.selected.select(env)
        last = self.scene.counters.axis - 1
        machine = self.scene.backend.time_machine()
        pieces = machine.read_rows(0, ["actuator_force"], first=0, last=last, max_rows=10_000)
        return np.concatenate([piece["values"] for piece in pieces])


def test_what_follows_from_an_environments_row_is_computed_with_its_model_of_then() -> None:
    herd = Herd()
    herd.step(20)
    gains = herd.scene.expand("actuator_biasprm")
    gains[0] *= 10.0
    herd.step(5)
    gains[0] /= 5.0
    gains[1, 0, 1] = -7.0
    herd.scene.expand("opt.gravity")[2, 2] = -3.0
    now = gains.copy()
    for env in range(COUNT):
        herd.check(env, range(25))
    herd.step(5)
    for env in range(COUNT):
        herd.check(env, range(30))
        then = np.array([herd.seen[env, axis]["actuator_force"] for axis in range(30)])
        assert herd.read(env).tobytes() == then.tobytes()
    assert gains.tobytes() == now.tobytes()
    begins = [each.begin for each in herd.scene.selected.history.segments.told()]
    assert begins == [0, 25]  # of environment 2, whose gravity it was


@pytest.mark.parametrize("seed", few(range(6), 1))
def test_whatever_a_script_randomises_when_every_row_is_seen_as_it_was(seed: int) -> None:
    random = np.random.default_rng(seed)
    herd = Herd(max_bytes=64 << 10)
    scene = herd.scene
    for _ in range(40):
        for _ in range(random.integers(3)):
            values = scene.expand(FIELDS[random.integers(len(FIELDS))])
            env = random.integers(COUNT)
            values[env] *= random.uniform(0.8, 1.25)
        if random.integers(3) == 0:
            scene.reset(envs_idx=[int(random.integers(COUNT))])
        if random.integers(6) == 0:
            scene.selected.select(int(random.integers(COUNT)))
        herd.step(int(random.integers(1, 6)))
    for env in range(COUNT):
        scene.selected.select(env)
        first = scene.batch_history.first_of(env)
        herd.check(env, range(first, scene.counters.axis, 3))
    assert scene.batch_history.first_of(0) > 0


def test_of_fields_that_no_row_can_carry_and_of_forgotten_ones_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stroboscope.engine.batch.field_notes._MOST_BYTES", 4000)
    herd = Herd()
    herd.step(10)
    herd.scene.expand("geom_condim")[1] = 1
    herd.step(10)
    machine = herd.scene.backend.time_machine()

    def note(env: int, axis: int) -> str:
        herd.scene.selected.select(env)
        return machine.look_at(axis, DERIVED).note

    assert note(1, 5).startswith("approximate: geom_condim had other values then")
    assert (note(1, 12), note(0, 5)) == ("", "")
    for _ in range(10):
        herd.scene.expand("body_mass")[:] *= 1.01
        herd.step(1)
    assert note(0, 5).startswith("approximate: what the model's fields were then is not remembered")
    assert note(0, 29) == ""


def test_a_batchs_history_that_is_saved_has_the_model_of_every_frame(tmp_path: Path) -> None:
    herd = Herd()
    herd.step(10)
    herd.scene.expand("actuator_gainprm")[1] *= 2.0
    herd.step(10)
    herd.scene.reset(envs_idx=[1])
    herd.scene.expand("body_mass")[1] *= 1.5
    herd.step(10)
    path = herd.scene.save_history(tmp_path / "past")
    with physics.load_trajectory(path, scene="herd[1]") as trajectory:
        assert trajectory.verify().exit_code == 0, str(trajectory.verify())
        for frame in (0, 9, 10, 19, 20, 29):
            trajectory.seek(frame)
            scene = trajectory.scene
            mujoco.mj_forward(scene.model, scene.data)
            then = herd.seen[1, frame]
            assert scene.data.actuator_force.tobytes() == then["actuator_force"].tobytes(), frame
            assert scene.data.qfrc_bias.tobytes() == then["qfrc_bias"].tobytes(), frame


def test_a_what_if_of_an_environment_begins_with_its_model_of_then() -> None:
    herd = Herd()
    herd.step(20)
    herd.scene.expand("actuator_gainprm")[1] *= 2.0
    herd.step(20)
    herd.scene.selected.select(1)
    machine = herd.scene.backend.time_machine()
    for axis, steps in ((5, 15), (25, 15)):
        for _ in machine.resimulate(axis, steps=0, edits=(), name="again"):
            pass
        made = machine.rollouts()[-1]
        assert (made.reproducible, made.steps) == ("", steps), made


def test_other_environments_in_the_past_stand_with_their_own_model_of_then() -> None:
    herd = Herd()
    herd.scene.selected.shown = (0, 1, 2)
    places = herd.scene.expand("body_pos")
    herd.step(5)
    places[2, 2, 1] += 5.0
    herd.step(5)
    machine = herd.scene.backend.time_machine()
    for axis in (2, 7):
        past = machine.look_at(axis, frozenset({Topic.POSE, Topic.ENVIRONMENTS}))
        poses = past.frames.arrays[Topic.ENVIRONMENTS]["xpos"]
        for env in range(COUNT):
            assert poses[env].tobytes() == herd.seen[env, axis]["xpos"].tobytes(), (axis, env)


def test_a_ghost_of_another_environment_stands_with_its_own_model() -> None:
    herd = Herd()
    places = herd.scene.expand("body_pos")
    places[1, 2, 1] += 5.0
    herd.step(3)
    ref = GhostRef(source=GhostSource.ENVIRONMENT, number=1, scene_id=herd.scene.scene_id)
    machine = herd.scene.backend.time_machine()
    there = machine.ghost_pose(ref, time=0.0)["xpos"]
    herd.scene.selected.select(1)
    assert there.tobytes() == machine.ghost_pose(ref, time=0.0)["xpos"].tobytes()
    herd.scene.selected.select(0)
    assert herd.scene.selected.world.model.body_pos[2, 1] == 0.0


def test_rows_of_two_environments_are_never_mixed() -> None:
    herd = Herd()
    herd.step(30)
    machine = herd.scene.backend.time_machine()
    pieces = machine.read_rows(0, ["qpos"], first=0, last=29, max_rows=100)
    herd.scene.selected.select(2)
    with pytest.raises(CommandError, match="another environment was selected"):
        list(pieces)


@pytest.mark.parametrize("field", ["opt.integrator", "opt.disableflags", "geom_condim"])
def test_files_have_whole_numbers_that_environments_have_of_their_own(
    field: str, tmp_path: Path
) -> None:
    herd = Herd()
    values = herd.scene.expand(field)
    values[1] = 0 if field == "opt.integrator" else values[1] + 3 * (field == "opt.disableflags")
    recording = herd.scene.start_recording(tmp_path / "run")
    herd.step(3)
    recording.stop()
    checkpoint = herd.scene.save_checkpoint(tmp_path / "kept")
    with physics.load_trajectory(recording.path, scene=1) as trajectory:
        assert trajectory.verify().exit_code == 0
    there = physics.load_checkpoint(checkpoint)
    assert there.expand(field).tolist() == values.tolist()
    assert there.expand(field).dtype == values.dtype


def test_a_row_of_environments_as_a_checkpoint_has_their_fields_and_timesteps_of_then() -> None:
    herd = Herd()
    scene = herd.scene
    gains, timesteps = scene.expand("actuator_biasprm"), scene.expand("opt.timestep")
    herd.step(5)
    then, short = gains.copy(), timesteps.copy()
    gains[0] *= 10.0
    timesteps[1] *= 2.0
    herd.step(5)
    scene.expand("geom_condim")[2] = 1
    herd.step(5)
    machine = scene.backend.time_machine()
    early, late = (physics.BatchCheckpoint.from_bytes(machine.state_at(a)) for a in (2, 12))
    assert early.fields["actuator_biasprm"].tobytes() == then.tobytes()
    assert early.fields["opt.timestep"].tobytes() == short.tobytes()
    assert late.fields["actuator_biasprm"].tobytes() == gains.tobytes()
    assert [early.env(1).timestep, late.env(1).timestep] == [0.002, 0.004]
    with pytest.raises(physics.StateMismatchError, match="taken with a timestep of"):
        scene.restore(early)
    reason = scene.restore(early, with_model=True).reason
    assert "geom_condim had other values then, which are not remembered" in reason
    assert gains.tobytes() == then.tobytes()
    assert scene.restore(late, with_model=True).is_exact


def test_a_saved_batch_tells_where_the_script_has_written_into_its_states(tmp_path: Path) -> None:
    herd = Herd()
    scene = herd.scene
    qpos, qvel = (scene.bind(name) for name in ("qpos", "qvel"))
    herd.step(5)
    qvel[1, 2] = 0.5
    herd.step(3)
    qpos[1, [0, 1]] = qpos[1, [1, 0]]  # swapped
    herd.step(5)
    for _ in range(4):  # every state is set
        qvel[2] *= 0.5
        herd.step(1)
    scene.reset(envs_idx=[0])
    qvel[0, 2] = -0.5  # which is how the episode begins
    herd.step(4)
    qvel[0] *= 0.5  # where it stands
    path = scene.save_history(tmp_path / "herd")
    told = {}
    for env in range(COUNT):
        with physics.load_trajectory(path, scene=f"herd[{env}]") as trajectory:
            found = trajectory.verify()
            assert found.exit_code == 0, str(found)
            told[env] = [axis for axis in found.changes if axis]
    assert told == {0: [21], 1: [5, 8], 2: [13, 14, 15, 16]}
    machine = scene.backend.time_machine()
    scene.selected.select(1)
    segments = machine.history().segments
    assert [(each.begin, each.kind.value) for each in segments] == [
        (0, "begin"), (5, "edit"), (8, "edit"),
    ]  # fmt: skip
    assert [each.physics_step for each in segments] == [0, 5, 8]
    for _ in machine.resimulate(5, steps=0, edits=(), name=""):
        pass
    (trial,) = machine.rollouts()
    assert (trial.steps, trial.reproducible) == (3, "")


@pytest.mark.parametrize("way", ["saved", "exact", "minimal", "flight"])
def test_a_file_says_of_which_frames_of_an_environment_it_lacks_the_models(
    way: str, tmp_path: Path
) -> None:
    herd = Herd()
    scene, path = herd.scene, tmp_path / "kept"
    recording = None
    if way != "saved":
        wanted: dict[str, Any] = {"keep_last": 5} if way == "flight" else {"mode": way}
        recording = scene.start_recording(physics.TrajectoryFile(path, **wanted))
    herd.step(10)
    scene.expand("geom_condim")[1] = 1
    herd.step(10)
    scene.reset(envs_idx=[1])
    herd.step(10)
    if recording is None:
        path = scene.save_history(path)
    else:
        recording.stop()
        path = recording.path
    for env, silent in ((0, range(30)), (1, range(10))):
        with physics.load_trajectory(path, scene=env) as trajectory:
            machine = trajectory.scene.backend.time_machine()
            told = [machine.look_at(axis, DERIVED).note for axis in range(30)]
        for axis, note in enumerate(told):
            assert (note in {"", "verified"}) is (axis in silent), (env, axis, note)
            assert axis in silent or "geom_condim" in note


def test_the_frame_of_the_last_step_is_of_the_models_that_it_was_taken_with() -> None:
    """It is made again where somebody begins to look after fields were written."""
    herd = Herd()
    scene = herd.scene
    topics = DERIVED | {Topic.ENVIRONMENTS}

    def check() -> None:
        for env in range(COUNT):
            scene.select_environment(env, range(COUNT))
            clock, frames = scene.backend.frame_last_executed(topics)
            then = herd.seen[env, clock.axis]
            for name in READ:
                assert frames.arrays[Topic.STATE][name].tobytes() == then[name].tobytes(), name
            shown = np.array([herd.seen[each, clock.axis]["xpos"] for each in range(COUNT)])
            assert frames.arrays[Topic.ENVIRONMENTS]["xpos"].tobytes() == shown.tobytes()

    herd.step(5)
    scene.expand("body_mass")[0] *= 3
    scene.expand("body_pos")[1, 2] += 0.1
    scene.select_environment(2)
    scene.backend.edit_option("gravity", (0.0, 0.0, -1.0))
    check()
    herd.step(1)
    check()
    scene.fork(0, [1])
    check()


TOUCHING = """
<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .2"><freejoint/><geom size=".1"/></body></worldbody></mujoco>
"""


def test_states_of_environments_are_compared_with_the_model_of_each() -> None:
    """The ball of environment 1 is so large from the second step on that it touches the floor."""
    scene = physics.create_scene("herd", TOUCHING, n_envs=3)
    scene.keep_history(True)
    before = scene.checkpoint("before").to_bytes()
    scene.step()
    scene.expand("geom_size")[1, 1, 0] = scene.expand("geom_rbound")[1, 1] = 0.25
    after = scene.checkpoint("after").to_bytes()
    scene.step()
    machine = scene.backend.time_machine()
    number = int(scene.link.scene_id)

    class Kept:
        def checkpoint(self, ref: GhostRef) -> bytes:
            return before if ref.number == 0 else after

    machine.keeper = Kept()

    def first(one: tuple[GhostSource, int], two: tuple[GhostSource, int]) -> int:
        refs = [GhostRef(source=source, number=n, scene_id=number) for source, n in (one, two)]
        told = machine.compare(*refs, tolerance=1e-9)
        return int(told.first_contacts)

    env, row, kept = GhostSource.ENVIRONMENT, GhostSource.ROW, GhostSource.CHECKPOINT
    for selected in (0, 1):
        scene.select_environment(selected)
        assert first((env, 0), (env, 1)) == 0
        assert first((env, 0), (env, 2)) == -1
        assert first((row, 0), (row, 1)) == (0 if selected == 1 else -1)
        assert first((row, 1), (env, 0)) == (0 if selected == 1 else -1)
        assert first((kept, 0), (kept, 1)) == (0 if selected == 1 else -1)
