"""Signals: one row per physics step, every value of the step that the row is about."""

from collections.abc import Callable, Iterator

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host, HostListener
from stroboscope.debugger_protocol.host.scene_playback import Interest
from stroboscope.debugger_protocol.messages import LogEntry, PlaybackMode
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.live_memory import count_place, gather, iterations_reader, stretches
from stroboscope.engine.runtime import current_runtime

Scene = physics.Scene
Make = Callable[..., Scene]
Drive = Callable[..., NDArray[np.float64]]


def rows(scene: Scene, channels: list[str], steps: int) -> dict[str, NDArray[np.float64]]:
    """Step with random controls and return each channel's rows, (steps, width)."""
    source = scene.link.backend.signal_source(channels)
    table = np.full((steps, source.width), -1.0)
    rng = np.random.default_rng(0)
    for k in range(steps):
        scene.ctrl[:] = rng.uniform(-1, 1, scene.model.nu)
        source.before(table[k])
        scene.step()
        source.after(table[k])
    return {name: table[:, where] for name, where in source.columns.items()}


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
def test_every_channel_is_what_a_frame_of_the_same_step_says(
    make_scene: Make, drive: Drive, integrator: str
) -> None:
    scene = make_scene(options=physics.SceneOptions(integrator=physics.Integrator(integrator)))
    drive(scene, 125)
    backend = scene.link.backend
    channels = sorted(scene.world.channels)
    source = backend.signal_source(channels)
    row = np.empty(source.width)
    topics = frozenset(
        {Topic.STATE, Topic.SENSORS, Topic.ENERGY, Topic.CONTACTS, Topic.CONSTRAINTS, Topic.SOLVER}
    )
    for _ in range(3):
        backend.begin_frame(topics)
        source.before(row)
        scene.step()
        source.after(row)
        arrays = backend.end_frame(topics).arrays
        value = {name: row[where] for name, where in source.columns.items()}
        for name, values in arrays[Topic.STATE].items():
            if name in value:
                np.testing.assert_array_equal(value[name], values, name)
        np.testing.assert_array_equal(value["sensordata"], arrays[Topic.SENSORS]["sensordata"])
        kinetic = arrays[Topic.ENERGY]["kinetic"][0]
        potential = arrays[Topic.ENERGY]["potential"][0]
        assert value["energy.kinetic"][0] == kinetic
        assert value["energy.total"][0] == kinetic + potential
        contacts = arrays[Topic.CONTACTS]
        assert value["contact.count"][0] == len(contacts["dist"]) > 0
        assert value["contact.force"][0] == pytest.approx(contacts["force"][:, 0].sum())
        assert value["contact.depth"][0] == max(0.0, -contacts["dist"].min())
        assert value["constraint.count"][0] == len(arrays[Topic.CONSTRAINTS]["pos"])
        assert value["solver.iterations"][0] == arrays[Topic.SOLVER]["niter"].max()


def test_inputs_are_those_of_the_steps_start_and_nothing_stays_unwritten(
    make_scene: Make,
) -> None:
    scene = make_scene("arm")
    scene.reset(keyframe="home")
    start = scene.data.qpos.copy()
    table = rows(scene, ["qpos", "ctrl", "actuator_force", "contact.depth"], 5)
    np.testing.assert_array_equal(table["qpos"][0], start)
    assert (table["ctrl"][1] != table["ctrl"][0]).all()
    assert table["contact.depth"].min() >= 0.0


def test_channels_may_be_asked_for_in_any_order_and_twice(make_scene: Make) -> None:
    source = make_scene().link.backend.signal_source(["qacc", "contact.count", "qacc", "qpos"])
    assert list(source.columns) == ["qacc", "contact.count", "qpos"]
    assert source.width == 27 + 1 + 28


def test_an_unknown_channel_is_refused_with_those_there_are(make_scene: Make) -> None:
    with pytest.raises(CommandError, match=r"no channel 'qqq'.*energy.kinetic"):
        make_scene().link.backend.signal_source(["qpos", "qqq"])


def test_runge_kutta_channels_that_would_call_script_callbacks_are_not_known(
    make_scene: Make,
) -> None:
    scene = make_scene(options=physics.SceneOptions(integrator=physics.Integrator.RK4))
    calls: list[int] = []

    def passive(_model: object, _data: object) -> None:
        calls.append(1)

    source = scene.link.backend.signal_source(["qpos", "qacc"])
    row = np.zeros(source.width)
    try:
        mujoco.set_mjcb_passive(passive)
        source.before(row)
        scene.step()
        count = len(calls)
        source.after(row)
    finally:
        mujoco.set_mjcb_passive(None)
    assert len(calls) == count
    assert np.isnan(row[source.columns["qacc"]]).all()
    assert np.isfinite(row[source.columns["qpos"]]).all()


def test_signals_follow_data_that_was_rebound(make_scene: Make) -> None:
    scene = make_scene("arm")
    table = rows(scene, ["qpos"], 2)
    assert table["qpos"].shape == (2, scene.model.nq)


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_rows_that_were_prepared_hold_what_rows_written_one_by_one_do(
    make_scene: Make, drive: Drive, integrator: str
) -> None:
    scene = make_scene(options=physics.SceneOptions(integrator=physics.Integrator(integrator)))
    drive(scene, 125)
    # How long a step took is told once.
    names = sorted(set(scene.world.channels) - {"timing.step"})
    channels = [*names, "= norm(qvel) + contact.count"]
    one_by_one = scene.link.backend.signal_source(channels)
    prepared = scene.link.backend.signal_source(channels)
    table = np.full((3, one_by_one.width), -1.0)
    expected = np.full_like(table, -2.0)
    before, after = prepared.writers(table)
    for slot in (2, 0, 1):
        before(slot)
        one_by_one.before(expected[slot])
        scene.step()
        after(slot)
        one_by_one.after(expected[slot])
    assert prepared.columns == one_by_one.columns
    np.testing.assert_array_equal(table, expected)


def test_arrays_and_counts_are_read_where_they_lie(make_scene: Make, drive: Drive) -> None:
    scene = make_scene()
    drive(scene, 125)
    data = scene.data
    names = ["qpos", "sensordata", "qacc", "actuator_force"]
    gathered = gather(data, names)
    assert gathered is not None
    table = np.zeros((2, sum(getattr(data, name).size for name in names)))
    gathered.into(table)(1)
    np.testing.assert_array_equal(table[1], np.concatenate([getattr(data, n) for n in names]))
    for channel, value in {"contact.count": data.ncon, "constraint.count": data.nefc}.items():
        place = count_place(data, channel, module=mujoco)
        assert place is not None, channel
        integers, at = place
        assert integers[at] == value > 0, channel
    assert count_place(data, "contact.force", module=mujoco) is None
    read = iterations_reader(data, module=mujoco)
    assert read is not None
    assert read(None) == data.solver_niter[: max(1, data.nisland)].max() > 0
    assert gather(data, []) is None


def test_arrays_that_lie_side_by_side_are_one_stretch(make_scene: Make, drive: Drive) -> None:
    scene = make_scene()
    drive(scene, 10)
    data = scene.data
    nothing = "act"
    assert getattr(data, nothing).size == 0
    names = ["qacc", "qpos", nothing, "qvel"]
    found = stretches(data, names)
    assert found is not None
    whole = np.concatenate([getattr(data, name) for name in names]).tobytes()
    filled = bytearray(len(whole))
    for at, memory in found:
        filled[at : at + len(memory)] = memory
    assert bytes(filled) == whole
    aligned = data.qvel.ctypes.data == data.qpos.ctypes.data + data.qpos.nbytes
    assert len(found) == (2 if aligned else 3)
    assert stretches(data, ["qpos", "efc_type"]) is None  # integers


# --- in fast forward, where a step calls nothing else


@pytest.fixture
def host() -> Iterator[Host]:
    """The engine's host, in fast forward."""
    physics.initialize()
    host = current_runtime().host
    host.listener = HostListener()
    host.attach(PlaybackMode.FAST_FORWARD)
    yield host
    host.detach("the test is over")


@pytest.mark.parametrize("integrator", ["implicitfast", "RK4"])
def test_a_quiet_step_writes_the_row_of_its_own_instant(
    make_scene: Make, host: Host, integrator: str
) -> None:
    options = physics.SceneOptions(integrator=physics.Integrator(integrator))
    scene = make_scene(options=options)
    channels = ("qpos", "ctrl", "qacc", "contact.count", "energy.total", "= norm(qvel)")
    slow = rows(make_scene(options=options), list(channels), 100)
    host.set_interest(scene.link, Interest(channels=channels, signal_interval=0.25))
    rng = np.random.default_rng(0)
    begin = scene.counters.axis
    quiet = 0
    for _ in range(100):
        scene.ctrl[:] = rng.uniform(-1, 1, scene.model.nu)
        quiet += scene.link.monotonic() < scene.link.quiet_until
        scene.step()
    assert quiet > 10
    ring = scene.link.ring
    assert ring is not None
    found = ring.read(0, limit=1000)
    assert found.axis.tolist() == list(range(begin, begin + 100))
    timestep = scene.model.opt.timestep
    np.testing.assert_allclose(found.time, timestep * np.arange(100), atol=1e-12)
    for name, where in ring.columns.items():
        np.testing.assert_array_equal(found.values[:, where], slow[name], err_msg=name)


def test_a_reset_between_quiet_steps_is_in_their_rows(make_scene: Make, host: Host) -> None:
    scene = make_scene()
    host.set_interest(scene.link, Interest(channels=("qpos",), signal_interval=0.25))
    for _ in range(40):
        scene.step()
    start = scene.data.time
    mujoco.mj_resetData(scene.model, scene.data)
    first = scene.data.qpos.copy()
    for _ in range(2):
        scene.step()
    assert scene.link.ring is not None
    found = scene.link.ring.read(0, limit=1000)
    assert found.axis.tolist() == list(range(42))
    assert found.time[-3] == pytest.approx(start - scene.model.opt.timestep)
    assert found.time[-2] == 0.0
    np.testing.assert_array_equal(found.values[-2], first)


@pytest.mark.parametrize("part", ["before", "after"])
def test_signals_that_fail_in_a_quiet_step_are_switched_off_and_told(
    part: str, make_scene: Make, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("what a source may raise")

    scene = make_scene()
    host.set_interest(scene.link, Interest(channels=("qpos",), signal_interval=0.25))
    for _ in range(40):
        scene.step()
    ring = scene.link.ring
    assert ring is not None
    host.take_events()
    monkeypatch.setattr(ring, part, fail)
    for _ in range(40):
        scene.step()
    assert scene.counters.axis == 80
    assert scene.link.ring is None
    texts = [event.text for event in host.take_events() if isinstance(event, LogEntry)]
    assert ["reading signals failed" in text for text in texts] == [True]
