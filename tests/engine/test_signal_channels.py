"""Signals: one row per physics step, every value of the step that the row is about."""

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.topics import Topic

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
