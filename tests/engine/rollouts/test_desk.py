"""What a scene's time machine does with rollouts: kept, dropped, shown, what is left at the end."""

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.time_machine import FinishedRun, Keeper
from stroboscope.debugger_protocol.time_messages import EditKind, GhostRef, GhostSource, WhatIf
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.rollouts.desk import RolloutDesk
from stroboscope.engine.rollouts.resimulation import edited_model
from stroboscope.engine.rollouts.row_source import RecordedRows
from stroboscope.engine.rollouts.store import RolloutStore
from stroboscope.engine.rollouts.stored import StoredRollout
from stroboscope.engine.runtime import current_runtime

Make = Callable[..., physics.Scene]
Drive = Callable[..., NDArray[np.float64]]
StateOf = Callable[[physics.Scene], NDArray[np.float64]]
Array = NDArray[np.float64]


class Kept(Keeper):
    """What the host would keep: one checkpoint, one scene that has ended."""

    def __init__(self, state: bytes = b"", run: FinishedRun | None = None) -> None:
        self.state = state
        self.run = run

    def checkpoint(self, ghost: GhostRef) -> bytes:
        return self.state

    def row(self, ghost: GhostRef) -> bytes:
        return self.state

    def finished(self, rollout_id: int) -> FinishedRun:
        assert self.run is not None
        return self.run


def no_row(axis: int) -> Array:
    raise AssertionError(axis)


def recorded(scene: physics.Scene, state_of: StateOf, steps: int) -> Array:
    rng = np.random.default_rng(2)
    rows = []
    for _ in range(steps):
        scene.ctrl[:] = rng.uniform(-1.0, 1.0, scene.model.nu)
        rows.append(state_of(scene))
        scene.step()
    return np.array([*rows, state_of(scene)])


def stored(rows: Array, scene: physics.Scene, name: str = "one") -> StoredRollout:
    return StoredRollout(
        name=name,
        rows=rows,
        timestep=float(scene.model.opt.timestep),
        make_model=lambda: scene.model,
        digest=scene.world.codec.digest,
    )


def placed(scene: physics.Scene, row: Array) -> tuple[Array, Array]:
    data = mujoco.MjData(scene.model)
    mujoco.mj_setState(scene.model, data, row, int(mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_kinematics(scene.model, data)
    return data.xpos.copy(), data.xquat.copy()


def test_the_newest_rollouts_stay_and_the_oldest_make_room(
    make_scene: Make, state_of: StateOf
) -> None:
    scene = make_scene("arm")
    store = RolloutStore(most=3)
    ids = [store.add(stored(state_of(scene)[None], scene, f"{i}")) for i in range(5)]
    assert [info.name for info in store.infos()] == ["2", "3", "4"]
    assert store.dropped == 2
    store.drop(ids[3])
    assert [info.name for info in store.infos()] == ["2", "4"]
    for gone in (ids[0], ids[3], 10_000_000):
        with pytest.raises(CommandError, match=f"no rollout {gone}"):
            store.get(gone)
        with pytest.raises(CommandError, match=f"no rollout {gone}"):
            store.drop(gone)
    store.note(ids[0], "cost", 1.0)  # dropped meanwhile: nobody's mistake
    store.clear()
    assert store.infos() == ()
    assert store.nbytes == 0


class Shared:
    """Bytes that somebody else has most of."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.used = 0

    def share(self, key: int, wanted: int) -> int:
        return min(wanted, self.total)

    def uses(self, key: int, used: int) -> None:
        self.used = used

    def forget(self, key: int) -> None:
        self.used = -1


def test_rollouts_keep_to_the_memory_that_is_shared(make_scene: Make) -> None:
    scene = make_scene("arm")
    shared = Shared(100_000)
    store = RolloutStore(budget=shared)
    for index in range(10):
        store.add(stored(np.zeros((20, 200)), scene, f"{index}"))  # 32,000 bytes
        assert shared.used == store.nbytes <= 100_000
    assert [info.name for info in store.infos()] == ["7", "8", "9"]
    kept = store.infos()
    assert not store.add(stored(np.zeros((100, 200)), scene, "too large"))
    assert store.infos() == kept
    assert store.dropped == 8
    assert shared.used == store.nbytes
    store.clear()
    assert shared.used == -1


def test_a_destroyed_scene_gives_all_its_memory_back(
    make_scene: Make, drive: Drive, host: Host
) -> None:
    host.attach(PlaybackMode.FAST_FORWARD)
    scene = make_scene("arm")
    drive(scene, 50)
    physics.rollout(scene.checkpoint(), np.zeros((3, 20, scene.model.nu)))
    budget = current_runtime().history_budget
    assert budget.used >= scene.rollouts.nbytes > 0
    physics.destroy_scene(scene)
    assert budget.used == 0
    assert len(host.finished.told.rollouts) == 1


def test_ids_are_not_given_twice_among_scenes(make_scene: Make, state_of: StateOf) -> None:
    scenes = [make_scene("arm"), make_scene("arm")]
    ids = [each.rollouts.add(stored(state_of(each)[None], each)) for each in scenes * 2]
    assert len(set(ids)) == 4


def test_a_re_simulation_becomes_the_newest_rollout(make_scene: Make, state_of: StateOf) -> None:
    scene = make_scene("arm")
    rows = recorded(scene, state_of, 40)
    timestep = float(scene.model.opt.timestep)
    source = RecordedRows(scene.model, rows, timesteps=timestep, adapter=load_mujoco())
    desk = RolloutDesk(scene, scene.rollouts)
    list(desk.resimulate(source, 10, steps=0, edits=(), name="again"))
    edit = WhatIf(kind=EditKind.MODEL, name="dof_damping", values=(9.0,))
    list(desk.resimulate(source, 10, steps=20, edits=(edit,), name=""))
    first, second = scene.rollouts.infos()
    assert (first.name, first.steps, first.from_axis) == ("again", 30, 10)
    assert first.reproducible == ""
    assert first.edits == ()
    assert second.edits[0].startswith("dof_damping of ")
    assert {"energy drift [J]", "max penetration [m]", "max |qvel|"} <= set(dict(second.numbers))
    beginning = desk.resimulate(source, 10, steps=0, edits=(), name="third")
    next(beginning)
    beginning.close()  # type: ignore[attr-defined]
    assert len(scene.rollouts.infos()) == 2


def test_ghosts_stand_where_their_rows_say(make_scene: Make, state_of: StateOf) -> None:
    scene = make_scene("arm")
    rows = recorded(scene, state_of, 30)
    number = scene.rollouts.add(stored(rows, scene))
    desk = RolloutDesk(scene, scene.rollouts)
    rollout = GhostRef(source=GhostSource.ROLLOUT, number=number, scene_id=scene.scene_id)
    timestep = float(scene.model.opt.timestep)
    for time, expected in (
        (-5.0, 0),
        (0.0, 0),
        (12 * timestep, 12),
        (12.9 * timestep, 12),
        (1e6, 30),
    ):
        pose = desk.ghost_pose(rollout, time=time, keeper=None, row_at=no_row)
        xpos, xquat = placed(scene, rows[expected])
        assert np.array_equal(pose["xpos"], xpos)
        assert np.array_equal(pose["xquat"], xquat)
        assert pose["time"].tolist() == [rows[expected, 0]]
    row = GhostRef(source=GhostSource.ROW, number=17, scene_id=scene.scene_id)
    pose = desk.ghost_pose(row, time=0.0, keeper=None, row_at=lambda axis: rows[axis])
    assert np.array_equal(pose["xpos"], placed(scene, rows[17])[0])
    before = state_of(scene)
    checkpoint = GhostRef(source=GhostSource.CHECKPOINT, number=1, scene_id=99)
    pose = desk.ghost_pose(
        checkpoint, time=0.0, keeper=Kept(scene.checkpoint().to_bytes()), row_at=no_row
    )
    assert np.array_equal(pose["xpos"], placed(scene, rows[30])[0])
    assert np.array_equal(state_of(scene), before)


def test_an_edited_body_stands_where_its_own_model_says(
    make_scene: Make, state_of: StateOf
) -> None:
    scene = make_scene("arm")
    rows = recorded(scene, state_of, 5)
    source = RecordedRows(scene.model, rows, timesteps=0.002, adapter=load_mujoco())
    desk = RolloutDesk(scene, scene.rollouts)
    moved = WhatIf(kind=EditKind.MODEL, name="body_pos", index=3, values=(0.0, 0.0, 5.0))
    list(desk.resimulate(source, 0, steps=0, edits=(moved,), name=""))
    number = scene.rollouts.infos()[0].rollout_id
    ghost = GhostRef(source=GhostSource.ROLLOUT, number=number, scene_id=scene.scene_id)
    pose = desk.ghost_pose(ghost, time=0.0, keeper=None, row_at=no_row)
    assert pose["xpos"][1].tolist() == [0.0, 0.0, 5.0]
    assert placed(scene, rows[0])[0][1, 2] != 5.0


def test_checkpoints_of_another_model_are_refused_and_say_how_it_differs(
    make_scene: Make,
) -> None:
    scene, other = make_scene("arm"), make_scene("humanoid")
    desk = RolloutDesk(scene, scene.rollouts)
    ghost = GhostRef(source=GhostSource.CHECKPOINT, number=1, scene_id=other.scene_id)
    with pytest.raises(CommandError, match=r"another model: .* here, .* there"):
        desk.ghost_pose(ghost, time=0.0, keeper=Kept(other.checkpoint().to_bytes()), row_at=no_row)


def test_a_scene_that_has_ended_is_left_as_a_rollout(
    make_scene: Make, host: Host, state_of: StateOf
) -> None:
    host.attach(PlaybackMode.FAST_FORWARD)
    ended, next_one = make_scene("arm"), make_scene("arm")
    for reward in (1.0, 2.0, 6.0):
        ended.log("reward", reward)
    rows = recorded(ended, state_of, 25)
    desk = RolloutDesk(ended, ended.rollouts)
    left = desk.finished(
        rows,
        model=ended.model,
        timesteps=np.full(25, ended.model.opt.timestep),
        steps_of_script=25,
        unsure=frozenset(),
        name="episode 1",
        outcome="ended",
    )
    physics.destroy_scene(ended)
    numbers = dict(left.info.numbers)
    assert (numbers["reward (mean)"], numbers["reward (sum)"]) == (3.0, 9.0)
    assert (left.info.name, left.info.steps) == ("episode 1", 25)
    assert left.nbytes > rows.nbytes
    pieces = list(left.read_rows(("qpos", "energy.total"), first=0, last=25, max_rows=100))
    assert np.array_equal(
        np.concatenate([piece["values"] for piece in pieces])[:, : next_one.model.nq],
        rows[:, 1 : 1 + next_one.model.nq],
    )
    # The next scene of the same model can show it and be compared with it.
    desk = RolloutDesk(next_one, next_one.rollouts)
    ghost = GhostRef(source=GhostSource.ROLLOUT, number=1, scene_id=0)
    keeper = Kept(run=left)
    pose = desk.ghost_pose(ghost, time=1e9, keeper=keeper, row_at=no_row)
    assert np.array_equal(pose["xpos"], placed(next_one, rows[-1])[0])
    mine = next_one.rollouts.add(stored(recorded(next_one, state_of, 25), next_one))
    compared = desk.compare(
        ghost,
        GhostRef(source=GhostSource.ROLLOUT, number=mine, scene_id=next_one.scene_id),
        tolerance=0.0,
        keeper=keeper,
        row_at=no_row,
    )
    assert compared.first_bit == -1


def test_a_state_is_compared_with_a_rollout_at_its_time(
    make_scene: Make, state_of: StateOf
) -> None:
    scene = make_scene("arm")
    rows = recorded(scene, state_of, 20)
    number = scene.rollouts.add(stored(rows, scene))
    desk = RolloutDesk(scene, scene.rollouts)
    compared = desk.compare(
        GhostRef(source=GhostSource.ROW, number=8, scene_id=scene.scene_id),
        GhostRef(source=GhostSource.ROLLOUT, number=number, scene_id=scene.scene_id),
        tolerance=0.0,
        keeper=None,
        row_at=lambda axis: rows[axis],
    )
    assert compared.differences == ()


def test_rollouts_of_other_living_scenes_are_refused(make_scene: Make, state_of: StateOf) -> None:
    scene = make_scene("arm")
    desk = RolloutDesk(scene, scene.rollouts)
    ghost = GhostRef(source=GhostSource.ROLLOUT, number=1, scene_id=scene.scene_id + 1)
    with pytest.raises(CommandError, match="another scene's"):
        desk.ghost_pose(ghost, time=0.0, keeper=None, row_at=no_row)
    unknown = GhostRef(source=GhostSource.ROLLOUT, number=12345678, scene_id=scene.scene_id)
    with pytest.raises(CommandError, match="no rollout 12345678"):
        desk.ghost_pose(unknown, time=0.0, keeper=None, row_at=no_row)


def test_a_checkpoint_stands_with_the_places_of_its_own_moment(make_scene: Make) -> None:
    scene = make_scene("arm")
    ghost = GhostRef(source=GhostSource.CHECKPOINT, number=1, scene_id=scene.scene_id)
    machine = scene.backend.time_machine()

    def stands(state: bytes) -> list[float]:
        machine.keeper = Kept(state)
        found: list[float] = machine.ghost_pose(ghost, time=0.0)["xpos"][1].tolist()
        return found

    first = scene.model.body_pos[1].tolist()
    named = [scene.backend.capture_checkpoint("first")]
    nameless = scene.checkpoint().to_bytes()
    assert stands(nameless) == first
    scene.model.body_pos[1] = (0.0, 0.0, 5.0)
    named.append(scene.checkpoint("moved").to_bytes())
    assert [stands(state) for state in named] == [first, [0.0, 0.0, 5.0]]
    with pytest.raises(CommandError, match=r"can't be placed: it has no name, .*\(body_pos\)"):
        stands(nameless)
    scene.model.body_pos[1] = first
    assert [stands(state) for state in named] == [first, [0.0, 0.0, 5.0]]
    with pytest.raises(CommandError, match="can't be placed: it has no name"):
        stands(nameless)
    other = make_scene("arm")
    row = GhostRef(source=GhostSource.CHECKPOINT, number=1, scene_id=other.scene_id)
    machine = other.backend.time_machine()
    machine.keeper = Kept(named[1])
    assert machine.ghost_pose(row, time=0.0)["xpos"][1].tolist() == [0.0, 0.0, 5.0]


def test_ghosts_of_several_trials_of_a_large_model_make_none_of_their_models_again(
    make_scene: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stroboscope.engine.rollouts.desk._LARGE_MODEL", 1)
    scene = make_scene("arm")
    scene.keep_history(True)
    for _ in range(5):
        scene.step()
    machine = scene.backend.time_machine()
    made = []
    monkeypatch.setattr(
        "stroboscope.engine.rollouts.desk.edited_model",
        lambda *given, **more: made.append(given) or edited_model(*given, **more),
    )
    for height in (2.0, 3.0, 4.0):
        edit = WhatIf(kind=EditKind.MODEL, name="body_pos", index=5, values=(height,))
        for _ in machine.resimulate(1, steps=2, edits=(edit,), name=""):
            pass
    ids = [info.rollout_id for info in machine.rollouts()]
    made.clear()
    for _ in range(3):
        for number, height in zip(ids, (2.0, 3.0, 4.0), strict=True):
            ghost = GhostRef(source=GhostSource.ROLLOUT, number=number, scene_id=scene.scene_id)
            assert machine.ghost_pose(ghost, time=0.0)["xpos"][1, 2] == height
    assert len(made) <= len(ids)
