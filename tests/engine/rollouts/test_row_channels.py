"""Channels read from rows: those that were there, bit for bit, and nothing that was not."""

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.expressions import expression_channel
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.rollouts import row_channels
from stroboscope.engine.rollouts.finished import FinishedScene, read_stored
from stroboscope.engine.rollouts.row_channels import RowChannels, thinned
from stroboscope.engine.rollouts.stored import StoredRollout
from stroboscope.engine.rollouts.stored_rows import StoredRows
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.signal_channels import MujocoSignalSource

Make = Callable[..., physics.Scene]
StateOf = Callable[[physics.Scene], NDArray[np.float64]]
Array = NDArray[np.float64]

NO_ROWS: Array = np.empty((0, 0))
CHANNELS = (
    "qpos",
    "qvel",
    "ctrl",
    "energy.potential",
    "energy.total",
    "contact.force",
    "contact.depth",
    "sensordata",
    "qacc",
)


def live(scene: physics.Scene, state_of: StateOf, steps: int) -> tuple[Array, Array]:
    """Step a scene; return its rows, and what its channels were while it ran."""
    world = scene.world
    names = [name for name in CHANNELS if name in world.channels]
    source = MujocoSignalSource(
        names,
        table=world.channels,
        model=world.model,
        live=world.live,
        frames=world.frames,
        adapter=world.adapter,
    )
    rng = np.random.default_rng(5)
    rows, values = [], np.empty((steps, source.width))
    for step in range(steps):
        scene.ctrl[:] = rng.uniform(-1.0, 1.0, scene.model.nu)
        rows.append(state_of(scene))
        source.before(values[step])
        scene.step()
        source.after(values[step])
    in_order = np.concatenate([np.r_[source.columns[name]] for name in names])
    return np.array(rows), values[:, in_order]


def stored(scene: physics.Scene, rows: Array, *, steps_of_script: int = 0) -> StoredRollout:
    return StoredRollout(
        name="one",
        rows=rows,
        timestep=float(scene.model.opt.timestep),
        make_model=lambda: scene.model,
        digest=scene.world.codec.digest,
        steps_of_script=steps_of_script,
    )


def reader(scene: physics.Scene, rows: Array, *channels: str, told: int = 0) -> RowChannels:
    """Return what reads channels of rows, of which the first ``told`` tell their model."""
    adapter = load_mujoco()
    source = StoredRows(stored(scene, rows, steps_of_script=told), adapter=adapter)
    return RowChannels(source, channels, table=scene.world.channels, adapter=adapter)


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
@pytest.mark.parametrize("model", ["humanoid", "arm"])
def test_recomputed_channels_are_bit_for_bit_what_they_were(
    make_scene: Make, state_of: StateOf, model: str, integrator: str
) -> None:
    scene = make_scene(model, options=physics.SceneOptions(integrator=integrator))
    rows, values = live(scene, state_of, 150)
    names = [name for name in CHANNELS if name in scene.world.channels]
    for told in (0, len(rows) - 1):  # without and with a look at where each step leads
        read = reader(scene, rows, *names, told=told)
        again = [read.values(step) for step in range(len(rows))]
        assert all(
            one is not None and one.tobytes() == values[k].tobytes() for k, one in enumerate(again)
        )


def test_what_was_stepped_with_another_model_is_not_computed(
    make_scene: Make, state_of: StateOf
) -> None:
    scene = make_scene("humanoid")
    rows, _ = live(scene, state_of, 30)
    scene.model.actuator_gear[3, 0] *= 2.0
    told = reader(scene, rows, "qpos", "qacc", told=20)
    untold = reader(scene, rows, "qpos", "qacc")
    of_rows = reader(scene, rows, "qpos", told=20)
    assert [told.values(step) is None for step in range(30)] == [True] * 20 + [False] * 10
    assert all(untold.values(step) is not None for step in range(30))
    assert all(of_rows.values(step) is not None for step in range(30))


def test_the_time_and_the_order_asked_for(make_scene: Make, state_of: StateOf) -> None:
    scene = make_scene("arm")
    rows, _ = live(scene, state_of, 5)
    read = reader(scene, rows, "ctrl", "time", "qpos", "time")
    assert read.widths == (scene.model.nu, 1, scene.model.nq, 1)
    values = read.values(3)
    assert values is not None
    assert values[scene.model.nu] == values[-1] == rows[3, 0]
    part = RowLayout(scene.model, adapter=load_mujoco()).parts["ctrl"]
    assert values[: scene.model.nu].tolist() == rows[3, part].tolist()


def test_expressions_over_bodies_and_channels_are_read(make_scene: Make, state_of: StateOf) -> None:
    scene = make_scene("humanoid")
    rows, _ = live(scene, state_of, 30)
    body = mujoco.mj_id2name(scene.model, int(mujoco.mjtObj.mjOBJ_BODY), 1)
    asked = (expression_channel(f"xpos['{body}']['z']"), expression_channel("max(abs(qvel))"))
    values = reader(scene, rows, *asked).values(20)
    assert values is not None
    height, speed = values
    data = mujoco.MjData(scene.model)
    mujoco.mj_setState(scene.model, data, rows[20], int(mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_kinematics(scene.model, data)
    assert height == data.xpos[1, 2]
    assert speed == np.abs(data.qvel).max()


@pytest.mark.parametrize(
    ("channels", "words"),
    [
        (("timing.step",), "no part of a row"),
        (("=timing.step * 2",), "no part of a row"),
        (("reward",), "no channel 'reward'"),
        (("=reward + 1",), "reward"),
        ((), "at least one channel"),
    ],
)
def test_what_does_not_follow_from_rows_is_refused(
    make_scene: Make, channels: tuple[str, ...], words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        reader(make_scene("arm"), NO_ROWS, *channels)


def test_the_script_s_callbacks_are_not_called(make_scene: Make) -> None:
    scene = make_scene("arm")
    mujoco.set_mjcb_passive(lambda model, data: None)
    try:
        with pytest.raises(CommandError, match=r"callbacks \(passive\)"):
            reader(scene, NO_ROWS, "qacc")
        reader(scene, NO_ROWS, "qpos", "energy.total")
    finally:
        mujoco.set_mjcb_passive(None)


def test_rows_of_sleepers_give_positions_and_energies_and_refuse_the_rest() -> None:
    if not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleep")
    scene = physics.create_scene(
        "sleeper",
        '<mujoco><option><flag sleep="enable"/></option><worldbody><body><freejoint/>'
        '<geom size=".1"/></body></worldbody></mujoco>',
    )
    reader(scene, NO_ROWS, "qpos", "energy.total")
    with pytest.raises(CommandError, match="which bodies slept"):
        reader(scene, NO_ROWS, "qacc")


def test_a_rollout_is_read_evenly_thinned_and_in_pieces(
    make_scene: Make, state_of: StateOf
) -> None:
    scene = make_scene("arm")
    rows, _ = live(scene, state_of, 101)
    pieces = list(
        read_stored(
            stored(scene, rows),
            ("qpos", "time"),
            first=10,
            last=90,
            max_rows=21,
            adapter=load_mujoco(),
        )
    )
    piece = {name: np.concatenate([each[name] for each in pieces]) for name in pieces[0]}
    assert piece["axis"].tolist() == list(range(10, 91, 4))
    assert piece["time"].tolist() == rows[10:91:4, 0].tolist()
    assert pieces[0]["widths"].tolist() == [scene.model.nq, 1]
    assert piece["values"].shape == (21, scene.model.nq + 1)
    everything = FinishedScene(stored(scene, rows), adapter=load_mujoco())
    axes = [
        piece["axis"] for piece in everything.read_rows(("qpos",), first=0, last=-1, max_rows=500)
    ]
    assert np.concatenate(axes).tolist() == list(range(101))


def test_pieces_are_small_and_make_up_the_whole(
    make_scene: Make, state_of: StateOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = make_scene("humanoid")
    rows, _ = live(scene, state_of, 2)
    read = reader(scene, np.tile(rows, (2000, 1)), "qpos", "contact.force")
    pieces = list(read.pieces(np.arange(2000)))
    assert len(pieces) > 2  # each is some ten milliseconds of computing
    assert np.concatenate([piece["axis"] for piece in pieces]).tolist() == list(range(2000))
    monkeypatch.setattr(row_channels, "_PIECE_S", 1e9)
    pieces = list(read.pieces(np.arange(4000)))
    sizes = [sum(piece[name].nbytes for name in ("axis", "time", "values")) for piece in pieces]
    assert all(0.9 * 2**20 < size <= 2**20 for size in sizes[:-1])
    assert sum(len(piece["axis"]) for piece in pieces) == 4000
    assert [len(piece["axis"]) for piece in read.pieces(np.arange(0))] == [0]


def test_thinning_keeps_the_first_and_the_last() -> None:
    assert thinned(5, 10).tolist() == [0, 1, 2, 3, 4]
    assert thinned(1000, 3).tolist() == [0, 500, 999]
    assert thinned(7, 1).tolist() == [0]
    assert thinned(0, 5).tolist() == []
