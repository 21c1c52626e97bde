"""Why a dof accelerates: the sources' shares sum to qacc, and each is its source's own."""

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.topics import AccelerationSource, Topic

Scene = physics.Scene
Make = Callable[..., Scene]
Arrays = dict[str, NDArray[np.generic]]
Source = AccelerationSource

ONLY = frozenset({Topic.ACCELERATION})
INTEGRATORS = [
    i for i in physics.Integrator if f"mjINT_{i.upper()}" in mujoco.mjtIntegrator.__members__
]
# One of every source but a callback: springs, dampers, a clamped servo, gravity compensation by
# actuators and as a passive force, fluid, tendons with limits and friction, an equality.
EVERYTHING = """
<mujoco><option timestep=".002" wind="1 0 0" density="1.2" viscosity="1e-5" cone="{cone}"/>
<worldbody><geom type="plane" size="5 5 .1"/><site name="hook" pos="0 0 1"/>
  <body name="upper" pos="0 0 .5"><joint name="a" axis="0 1 0" stiffness="3" damping=".2"
    frictionloss=".1" limited="true" range="-30 30" actuatorfrcrange="-1 1"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    <body name="lower" pos=".3 0 0" gravcomp=".5"><joint name="b" axis="0 1 0" damping=".1"
      actuatorgravcomp="true"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
      <site name="hand" pos=".3 0 0"/></body></body>
  <body name="ball" pos="0 .5 .1" gravcomp=".1"><freejoint/><geom size=".1"/><site name="eye"/>
  </body></worldbody>
<tendon><spatial name="rope" stiffness="20" damping="1" range="0 .4" limited="true"
    springlength=".2 .3" frictionloss=".05"><site site="hook"/><site site="hand"/></spatial>
  <fixed name="cable" stiffness="2" damping=".3"><joint joint="a" coef="1"/>
    <joint joint="b" coef="-1"/></fixed></tendon>
<equality><connect site1="eye" site2="hand"/></equality>
<actuator><position name="servo" joint="a" kp="50"/><motor name="b" joint="b" gear="2"/>
  <motor name="pull" tendon="cable"/><motor name="help" joint="a"/></actuator></mujoco>
"""


def acceleration(scene: Scene) -> Arrays:
    """Take a step and return what its executed frame says about accelerations."""
    backend = scene.link.backend
    backend.begin_frame(ONLY)
    scene.step()
    return dict(backend.end_frame(ONLY).arrays[Topic.ACCELERATION])


def of(arrays: Arrays, source: Source) -> NDArray[np.float64]:
    """Return the rows of a source, (n, nv) [qacc]."""
    rows: NDArray[np.float64] = arrays["qacc"][arrays["kind"] == list(Source).index(source)]
    return rows


def indices(arrays: Arrays, source: Source) -> list[int]:
    return arrays["index"][arrays["kind"] == list(Source).index(source)].tolist()


def check_sum(arrays: Arrays, qacc: NDArray[np.float64]) -> None:
    np.testing.assert_array_equal(arrays["total"], qacc)
    error = np.abs(arrays["qacc"].sum(axis=0) - qacc).max(initial=0.0)
    assert error <= 1e-6 * max(np.abs(qacc).max(initial=0.0), 1e-9)


def unexplained(arrays: Arrays) -> float:
    rest = of(arrays, Source.REST)
    return float(np.abs(rest).max(initial=0.0) / np.abs(arrays["total"]).max())


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_the_shares_of_all_sources_sum_to_the_acceleration(
    integrator: physics.Integrator, cone: str
) -> None:
    options = physics.SceneOptions(integrator=integrator)
    scene = physics.create_scene("All", EVERYTHING.format(cone=cone), options=options)
    scene.data.xfrc_applied[-1] = (1, 2, 3, 0.1, 0.2, 0.3)
    scene.data.qfrc_applied[-1] = 0.3
    seen: set[int] = set()
    rng = np.random.default_rng(0)
    for _ in range(120):
        scene.ctrl[:] = rng.uniform(-1, 1, scene.model.nu)
        executed = acceleration(scene)
        if integrator != "RK4":  # its live qacc belongs to the last stage
            check_sum(executed, np.array(scene.data.qacc))
        check_sum(executed, executed["total"])
        seen |= set(executed["kind"].tolist())
        if integrator != "discrete":
            # A tolerance of the solver, no more.
            assert unexplained(executed) < 1e-3
    told = {list(Source)[kind] for kind in seen}
    assert told >= set(Source) - {Source.CALLBACK, Source.REST, Source.LIMIT}


def test_now_predicts_the_shares_that_the_step_then_has() -> None:
    scene = physics.create_scene("All", EVERYTHING.format(cone="elliptic"))
    for k in range(60):
        scene.ctrl[:] = np.sin(k)
        now = scene.link.backend.frame_now(ONLY).arrays[Topic.ACCELERATION]
        for name, values in acceleration(scene).items():
            np.testing.assert_array_equal(now[name], values, name)


def test_each_source_pushes_what_it_is_known_to_push() -> None:
    scene = physics.create_scene(
        "Known",
        """<mujoco><worldbody>
        <body name="cart" pos="0 0 1"><joint name="x" type="slide" axis="1 0 0" damping="4"
          stiffness="10"/><geom size=".1" mass="2"/></body>
        <body name="ball" pos="3 0 1"><freejoint/><geom size=".1" mass="3"/></body></worldbody>
        <actuator><motor name="push" joint="x" gear="5"/><motor name="idle" joint="x"/></actuator>
        </mujoco>""",
    )
    scene.data.qpos[0], scene.data.qvel[0] = 0.5, 0.25
    scene.ctrl[0] = 0.8
    scene.data.qfrc_applied[0] = 7.0
    scene.data.xfrc_applied[2, :3] = (6.0, 0.0, 0.0)
    arrays = acceleration(scene)
    assert of(arrays, Source.ACTUATOR)[:, 0] == pytest.approx([4.0 / 2.0])
    assert indices(arrays, Source.ACTUATOR) == [0], "what does nothing is left out"
    assert of(arrays, Source.SPRING)[:, 0] == pytest.approx([-5.0 / 2.0])
    assert of(arrays, Source.DAMPER)[:, 0] == pytest.approx([-1.0 / 2.0])
    assert of(arrays, Source.APPLIED)[:, 0] == pytest.approx([7.0 / 2.0])
    assert of(arrays, Source.BODY_FORCE)[0, 1:4] == pytest.approx([2.0, 0.0, 0.0])
    assert indices(arrays, Source.BODY_FORCE) == [2]
    assert of(arrays, Source.GRAVITY)[0] == pytest.approx([0, 0, 0, -9.81, 0, 0, 0], abs=1e-12)
    assert len(of(arrays, Source.REST)) == len(of(arrays, Source.CORIOLIS)) == 0


def test_a_joints_limit_of_actuator_forces_shortens_the_shares_of_its_actuators() -> None:
    scene = physics.create_scene(
        "Clamped",
        """<mujoco><option gravity="0 0 0"/><worldbody><body>
        <joint name="x" type="slide" axis="1 0 0" actuatorfrcrange="-3 3"/>
        <geom size=".1" mass="1"/></body></worldbody>
        <actuator><motor joint="x"/><motor joint="x"/></actuator></mujoco>""",
    )
    scene.ctrl[:] = (4.0, 8.0)
    arrays = acceleration(scene)
    assert of(arrays, Source.ACTUATOR)[:, 0] == pytest.approx([1.0, 2.0])
    assert unexplained(arrays) == 0.0


def test_contacts_are_told_one_by_one_and_carry_the_weight() -> None:
    scene = physics.create_scene(
        "Resting",
        """<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
        <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/></body>
        </worldbody></mujoco>""",
    )
    for _ in range(1000):
        scene.step()
    arrays = acceleration(scene)
    contacts = of(arrays, Source.CONTACT)
    assert indices(arrays, Source.CONTACT) == [0, 1, 2, 3]
    assert contacts[:, 2].sum() == pytest.approx(9.81, rel=1e-6)
    assert contacts[:, 2] == pytest.approx([9.81 / 4] * 4, rel=1e-3)


def test_what_a_callback_of_the_script_adds_is_a_row_of_its_own() -> None:
    scene = physics.create_scene(
        "Pushed",
        """<mujoco><worldbody><body><joint type="slide" axis="1 0 0" damping="1"/>
        <geom size=".1" mass="2"/></body></worldbody></mujoco>""",
    )
    scene.data.qvel[0] = 1.0

    def push(_model: object, data: mujoco.MjData) -> None:
        data.qfrc_passive[0] += 6.0

    try:
        mujoco.set_mjcb_passive(push)
        arrays = acceleration(scene)
        assert of(arrays, Source.CALLBACK)[:, 0] == pytest.approx([3.0])
        assert of(arrays, Source.DAMPER)[:, 0] == pytest.approx([-0.5])
        check_sum(arrays, np.array(scene.data.qacc))
        now = scene.link.backend.frame_now(ONLY)
        assert Topic.ACCELERATION not in now.arrays
        assert "passive" in now.notes[0]
    finally:
        mujoco.set_mjcb_passive(None)


def test_a_control_callbacks_forces_are_those_of_its_actuator() -> None:
    scene = physics.create_scene(
        "Controlled",
        """<mujoco><worldbody><body><joint name="x" type="slide" axis="1 0 0"/>
        <geom size=".1" mass="2"/></body></worldbody>
        <actuator><motor joint="x"/></actuator></mujoco>""",
    )

    def control(_model: object, data: mujoco.MjData) -> None:
        data.ctrl[0] = 8.0

    try:
        mujoco.set_mjcb_control(control)
        arrays = acceleration(scene)
    finally:
        mujoco.set_mjcb_control(None)
    assert of(arrays, Source.ACTUATOR)[:, 0] == pytest.approx([4.0])
    assert unexplained(arrays) == 0.0


def test_a_body_at_a_joint_limit_and_a_taut_tendon_are_told_by_index() -> None:
    scene = physics.create_scene(
        "Limits",
        """<mujoco><worldbody>
        <body pos="0 0 1"><joint name="free" type="slide" axis="1 0 0"/><geom size=".05"/></body>
        <body pos="0 0 2"><joint name="stop" type="slide" axis="0 0 1" limited="true"
          range="-.1 .1"/><geom size=".05" mass="1"/></body>
        <body pos="1 0 2"><joint name="hung" type="slide" axis="0 0 1"/><geom size=".05" mass="1"/>
        </body></worldbody>
        <tendon><fixed name="leash" limited="true" range="-.1 .1"><joint joint="hung" coef="1"/>
        </fixed></tendon></mujoco>""",
    )
    for _ in range(1500):
        scene.step()
    arrays = acceleration(scene)
    assert indices(arrays, Source.LIMIT) == [1]
    assert of(arrays, Source.LIMIT)[0] == pytest.approx([0, 9.81, 0], abs=1e-3)
    assert indices(arrays, Source.TENDON) == [0]
    assert of(arrays, Source.TENDON)[0] == pytest.approx([0, 0, 9.81], abs=1e-3)


@pytest.mark.skipif(
    "mjENBL_SLEEP" not in mujoco.mjtEnableBit.__members__, reason="this MuJoCo has no sleep"
)
def test_what_sleeps_is_not_accelerated_by_forces_of_when_it_fell_asleep() -> None:
    scene = physics.create_scene(
        "Asleep",
        """<mujoco><option><flag sleep="enable"/></option><worldbody>
        <geom type="plane" size="9 9 .1"/>
        <body name="lies" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
        <body name="turns" pos="3 0 1"><joint axis="0 1 0"/>
          <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></worldbody></mujoco>""",
    )
    for _ in range(2000):
        scene.step()
    assert scene.data.ntree_awake < scene.model.ntree
    arrays = acceleration(scene)
    check_sum(arrays, np.append(np.zeros(6), scene.data.qacc[6]))
    assert not arrays["qacc"][:, :6].any()
    assert unexplained(arrays) == 0.0


def test_of_very_many_sources_the_weakest_of_a_kind_are_one_row() -> None:
    boxes = "".join(
        f'<body pos="{0.3 * (i % 12)} {0.3 * (i // 12)} .1"><freejoint/>'
        '<geom type="box" size=".1 .1 .1"/></body>'
        for i in range(100)
    )
    scene = physics.create_scene(
        "Many",
        '<mujoco><worldbody><geom type="plane" size="9 9 .1"/>' + boxes + "</worldbody></mujoco>",
    )
    for _ in range(20):
        scene.step()
    arrays = acceleration(scene)
    assert len(arrays["kind"]) <= 260
    assert indices(arrays, Source.CONTACT).count(-1) == 1
    check_sum(arrays, np.array(scene.data.qacc))


def test_of_a_large_model_a_frame_stays_small_and_sums() -> None:
    names = range(1500)
    bodies = "".join(
        f'<body pos="{0.4 * (i % 40)} {0.4 * (i // 40)} .09"><joint name="x{i}" damping="1" '
        f'type="slide" axis="0 0 1" stiffness="{i}"/><joint name="y{i}" axis="0 1 0" '
        f'frictionloss=".1"/><geom size=".1" pos=".01 0 0"/></body>'
        for i in names
    )
    motors = "".join(f'<motor joint="y{i}" ctrlrange="-1 1"/>' for i in names)
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><size memory="100M"/><worldbody><geom type="plane" size="50 50 .1"/>'
        f"{bodies}</worldbody><actuator>{motors}</actuator></mujoco>"
    )
    scene = physics.create_scene("Large", model)
    scene.ctrl[:] = np.linspace(0.1, 1.0, len(names))
    scene.data.qvel[:] = 0.1
    arrays = acceleration(scene)
    assert sum(array.nbytes for array in arrays.values()) < 8 << 20
    check_sum(arrays, np.array(scene.data.qacc))
    for source in (Source.ACTUATOR, Source.CONTACT, Source.FRICTION, Source.DAMPER):
        assert indices(arrays, source).count(-1) == 1
    expected = {
        Source.ACTUATOR: scene.data.qfrc_actuator,
        Source.DAMPER: scene.data.qfrc_damper,
        Source.SPRING: scene.data.qfrc_spring,
    }
    for source, force in expected.items():
        chosen = arrays["kind"] == list(Source).index(source)
        np.testing.assert_allclose(arrays["qfrc"][chosen].sum(axis=0), force, atol=1e-9)


@pytest.mark.parametrize("model", ["humanoid", "arm"])
def test_real_models_are_explained_to_the_last_digits(
    model: str, make_scene: Make, drive: Callable[..., object]
) -> None:
    scene = make_scene(model)
    drive(scene, 100)
    reference = mujoco.MjData(scene.model)
    reference.qpos[:] = scene.data.qpos
    mujoco.mj_forward(scene.model, reference)
    inertia = scene.world.adapter.full_inertia(scene.model, reference)
    arrays = acceleration(scene)
    check_sum(arrays, np.array(scene.data.qacc))
    # qfrc is the force, qacc what it does: M qacc = qfrc.
    size = np.abs(arrays["qfrc"]).max()
    np.testing.assert_allclose(arrays["qacc"] @ inertia, arrays["qfrc"], atol=1e-9 * size)
