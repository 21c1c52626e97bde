"""What bodies do, in the executed frame and in NOW: computed on a copy, never on live data."""

import copy
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.frames.bodies import momenta

Scene = physics.Scene
Make = Callable[..., Scene]
Drive = Callable[..., NDArray[np.float64]]
Arrays = dict[str, NDArray[np.generic]]
BOTH = frozenset({Topic.BODIES, Topic.ENERGY})
INTEGRATORS = [
    i for i in physics.Integrator if f"mjINT_{i.upper()}" in mujoco.mjtIntegrator.__members__
]


def executed(scene: Scene) -> tuple[Arrays, Arrays]:
    """Take a step; return BODIES and ENERGY of its executed frame."""
    backend = scene.link.backend
    backend.begin_frame(BOTH)
    scene.step()
    arrays = backend.end_frame(BOTH).arrays
    return dict(arrays[Topic.BODIES]), dict(arrays[Topic.ENERGY])


def evaluated(scene: Scene) -> mujoco.MjData:
    """Return other data, evaluated at the state that ``scene`` stands at, lazy parts too."""
    data = copy.copy(scene.data)
    mujoco.mj_forward(scene.model, data)
    mujoco.mj_subtreeVel(scene.model, data)
    mujoco.mj_rnePostConstraint(scene.model, data)
    return data


def test_c26_the_floor_carries_the_ball_although_the_live_array_is_zero(
    case_model: Callable[..., Path],
) -> None:
    scene = physics.create_scene("Ball", case_model("C26"))
    for _ in range(1000):
        scene.step()
    for bodies in (
        executed(scene)[0],
        scene.link.backend.frame_now(BOTH).arrays[Topic.BODIES],
    ):
        force = bodies["contact_force"]
        assert force[1] == pytest.approx([0, 0, 9.81, 0, 0, 0], rel=2e-3, abs=1e-9)
        assert force[0, :3] == pytest.approx([0, 0, -9.81], rel=2e-3, abs=1e-9)
        assert bodies["acceleration"][1] == pytest.approx(np.zeros(6), abs=1e-4)
    assert not scene.data.cfrc_ext.any(), "the live data was written"
    assert not scene.data.cacc.any()


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_all_are_mujocos_own_numbers_of_the_state_that_the_step_began_with(
    make_scene: Make, drive: Drive, integrator: physics.Integrator
) -> None:
    scene = make_scene(options=physics.SceneOptions(integrator=integrator))
    drive(scene, 130)
    scene.data.xfrc_applied[3, :3] = (4.0, 5.0, 6.0)
    reference = evaluated(scene)
    bodies, energy = executed(scene)
    model = scene.model
    for name in ("xipos", "subtree_com", "subtree_linvel", "subtree_angmom", "xfrc_applied"):
        np.testing.assert_allclose(bodies[name], getattr(reference, name), atol=1e-9, err_msg=name)
    for body in range(1, model.nbody):
        expected = np.zeros(6)
        kind = int(mujoco.mjtObj.mjOBJ_XBODY)
        mujoco.mj_objectAcceleration(model, reference, kind, body, expected, 0)
        # MuJoCo counts from free fall: a body at rest has +9.81.
        np.testing.assert_allclose(
            bodies["acceleration"][body, :3], expected[3:] + model.opt.gravity, atol=1e-7
        )
        np.testing.assert_allclose(bodies["acceleration"][body, 3:], expected[:3], atol=1e-7)
    total = model.body_subtreemass[0]
    np.testing.assert_allclose(energy["momentum"], total * reference.subtree_linvel[0], atol=1e-9)
    np.testing.assert_allclose(energy["angular_momentum"], reference.subtree_angmom[0], atol=1e-9)
    np.testing.assert_allclose(energy["com"], reference.subtree_com[0], atol=1e-12)
    # Contacts alone: what cfrc_ext holds beside the applied force, about the tree's centre.
    force = reference.cfrc_ext[:, 3:] - reference.xfrc_applied[:, :3]
    np.testing.assert_allclose(bodies["contact_force"][1:, :3], force[1:], atol=1e-6)


def test_momenta_of_the_channels_are_those_of_the_frames(make_scene: Make, drive: Drive) -> None:
    scene = make_scene()
    drive(scene, 50)
    source = scene.link.backend.signal_source(("momentum", "angular_momentum"))
    row = np.empty(source.width)
    for _ in range(5):
        source.before(row)
        _, energy = executed(scene)
        source.after(row)
        np.testing.assert_allclose(row[:3], energy["momentum"], atol=1e-10)
        np.testing.assert_allclose(row[3:], energy["angular_momentum"], atol=1e-10)
    assert np.abs(row).max() > 0.1
    assert momenta(scene.model, scene.data)[0] == pytest.approx(row[:3])


SLEEPERS = """
<mujoco><option timestep="0.002"><flag sleep="enable"/></option><worldbody>
  <geom type="plane" size="5 5 0.1"/>
  <body name="s0" pos="0 0 0.10"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
  <body name="s1" pos="0.5 0 0.9"><freejoint/><geom type="box" size="0.1 0.12 0.1"/></body>
</worldbody></mujoco>
"""
HAS_SLEEP = "mjENBL_SLEEP" in mujoco.mjtEnableBit.__members__


@pytest.mark.skipif(not HAS_SLEEP, reason="this MuJoCo has no sleep")
def test_who_sleeps_and_in_which_island_is_told_and_sleepers_stand_still() -> None:
    scene = physics.create_scene("Sleepers", SLEEPERS)
    seen: set[tuple[int, ...]] = set()
    for _ in range(1500):
        bodies, energy = executed(scene)
        seen.add(tuple(bodies["awake"].tolist()))
        for body in np.flatnonzero(bodies["awake"] == 0).tolist():
            assert not bodies["subtree_linvel"][body].any()
            assert not bodies["acceleration"][body].any()
            assert bodies["island"][body] == -1
    assert seen >= {(1, 1, 1), (1, 0, 0)}
    assert np.abs(energy["momentum"]).max() == 0.0


@pytest.mark.parametrize("integrator", [physics.Integrator.EULER, physics.Integrator.RK4])
@pytest.mark.skipif(not HAS_SLEEP, reason="this MuJoCo has no sleep")
def test_a_sleeping_scene_that_is_looked_at_all_along_stays_bit_identical(
    integrator: physics.Integrator, state_of: Callable[[Scene], NDArray[np.float64]]
) -> None:
    options = physics.SceneOptions(integrator=integrator)
    undisturbed = physics.create_scene("Alone", SLEEPERS, options=options)
    looked_at = physics.create_scene("Watched", SLEEPERS, options=options)
    topics = frozenset(Topic) - {Topic.SIGNALS, Topic.LOG}
    for k in range(900):
        undisturbed.step()
        backend = looked_at.link.backend
        looks = k % 3 == 0
        if looks:
            backend.begin_frame(topics)
        looked_at.step()
        if looks:
            backend.end_frame(topics)
            backend.frame_now(topics)
        if k % 100 == 0:
            backend.findings()
        assert np.array_equal(state_of(undisturbed), state_of(looked_at)), k
        assert np.array_equal(undisturbed.data.tree_asleep, looked_at.data.tree_asleep), k


def test_frames_leave_a_scene_with_callbacks_bit_identical_and_call_none_of_them(
    make_scene: Make, state_of: Callable[[Scene], NDArray[np.float64]]
) -> None:
    counts = {"control": 0, "passive": 0}

    def control(_model: object, data: mujoco.MjData) -> None:
        counts["control"] += 1
        data.ctrl[:] = np.sin(counts["control"])

    def passive(_model: object, data: mujoco.MjData) -> None:
        counts["passive"] += 1
        data.qfrc_passive[:] -= 0.01 * data.qvel

    def run(scene: Scene, *, looked_at: bool) -> NDArray[np.float64]:
        counts.update(control=0, passive=0)
        topics = frozenset(Topic) - {Topic.SIGNALS, Topic.LOG}
        backend = scene.link.backend
        states = []
        for _ in range(120):
            if looked_at:
                backend.begin_frame(topics)
            scene.step()
            if looked_at:
                arrays = backend.end_frame(topics).arrays
                assert np.isfinite(arrays[Topic.BODIES]["acceleration"]).all()
                backend.frame_now(topics)
            states.append(state_of(scene))
        assert counts == {"control": 120, "passive": 120}
        return np.array(states)

    first, second = make_scene(), make_scene()
    try:
        mujoco.set_mjcb_control(control)
        mujoco.set_mjcb_passive(passive)
        alone = run(first, looked_at=False)
        assert np.array_equal(alone, run(second, looked_at=True))
    finally:
        mujoco.set_mjcb_control(None)
        mujoco.set_mjcb_passive(None)
