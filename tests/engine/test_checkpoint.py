"""Checkpoints as bytes: exact where they fit, refused with a reason everywhere else."""

import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.engine import hidden_state

Scene = physics.Scene
Make = Callable[..., Scene]
Drive = Callable[..., NDArray[np.float64]]
StateOf = Callable[[Scene], NDArray[np.float64]]

LARGE = """
<mujoco><worldbody><body><joint name="a"/><geom size=".1"/></body>
  <replicate count="30" offset=".3 0 0"><body><freejoint/><geom size=".1"/></body></replicate>
</worldbody><actuator><motor joint="a"/></actuator></mujoco>
"""
SMALL = """
<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="1 1 .1"/>
  <body pos="0 0 .2"><joint name="lift" type="slide" axis="0 0 1"/>
  <geom name="ball" size=".1" mass="1"/></body></worldbody>
  <actuator><motor name="push" joint="lift"/></actuator></mujoco>
"""


def captured(scene: Scene) -> bytes:
    buffer = physics.DynamicArrayUint8()
    scene.capture_state_to_bytes(buffer)
    return bytes(buffer)


def test_a_restored_scene_repeats_300_steps_bit_for_bit(make_scene: Make, drive: Drive) -> None:
    scene = make_scene()
    drive(scene, 200)
    checkpoint = captured(scene)
    first = drive(scene, 300, seed=1)
    scene.restore_state_from_bytes(checkpoint)
    assert scene.step_count == 200
    assert np.array_equal(first, drive(scene, 300, seed=1))


def test_another_scene_on_another_thread_continues_bit_for_bit(
    make_scene: Make, drive: Drive
) -> None:
    scene = make_scene()
    drive(scene, 200)
    checkpoint = captured(scene)
    first = drive(scene, 300, seed=1)

    def elsewhere() -> NDArray[np.float64]:
        other = make_scene()
        other.restore_state_from_bytes(checkpoint)
        assert other.get_total_simulation_time() == pytest.approx(1.0)
        positions = drive(other, 300, seed=1)
        physics.destroy_scene(other)
        return positions

    with ThreadPoolExecutor(1) as executor:
        assert np.array_equal(first, executor.submit(elsewhere).result())


INTEGRATORS = [
    i for i in physics.Integrator if f"mjINT_{i.upper()}" in mujoco.mjtIntegrator.__members__
]


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_every_integrator_continues_bit_for_bit(
    make_scene: Make, drive: Drive, integrator: physics.Integrator
) -> None:
    scene = make_scene(options=physics.SceneOptions(integrator=integrator))
    drive(scene, 100)
    checkpoint = captured(scene)
    first = drive(scene, 50, seed=1)
    scene.restore_state_from_bytes(checkpoint)
    assert np.array_equal(first, drive(scene, 50, seed=1))


PILE = """
<mujoco><option timestep="0.002" solver="CG"/><worldbody>
  <geom type="plane" size="2 2 .1"/>
  <geom type="box" pos="0 .22 .1" size=".24 .02 .1"/>
  <geom type="box" pos="0 -.22 .1" size=".24 .02 .1"/>
  <geom type="box" pos=".22 0 .1" size=".02 .2 .1"/>
  <geom type="box" pos="-.22 0 .1" size=".02 .2 .1"/>
  <body pos="0 0 .04"><joint name="stir" axis="0 0 1" damping=".05" armature=".005"/>
    <geom type="box" size=".17 .01 .03" mass=".3"/></body>
  <replicate count="3" offset="0 0 .07"><replicate count="3" offset=".11 0 0">
    <replicate count="2" offset="0 .11 0"><body pos="-.11 -.11 .12"><freejoint/>
      <geom type="box" size=".03 .03 .03" mass=".05"/></body></replicate></replicate></replicate>
  </worldbody><actuator><motor joint="stir" ctrlrange="-3 3" gear="3"/></actuator></mujoco>
"""


def test_a_checkpoint_among_many_contacts_continues_bit_for_bit(drive: Drive) -> None:
    scene = physics.create_scene("Pile", PILE)
    drive(scene, 150)
    assert scene.data.ncon > 30
    checkpoint = captured(scene)
    first = drive(scene, 80, seed=1)
    fresh = physics.create_scene("Pile", PILE)
    fresh.restore_state_from_bytes(checkpoint)
    assert np.array_equal(first, drive(fresh, 80, seed=1))


SLEEPERS = """
<mujoco><option timestep="0.002"><flag sleep="enable"/></option><worldbody>
  <geom type="plane" size="5 5 .1"/>
  <replicate count="5" offset="0.5 0 0.08"><body pos="0 0 .3"><freejoint/>
    <geom type="box" size=".1 .11 .1"/></body></replicate>
  <body pos="3 0 1"><joint axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body>
  </worldbody></mujoco>
"""


def test_sleeping_islands_continue_bit_for_bit_in_the_same_and_in_a_fresh_scene() -> None:
    if not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleeping islands")
    scene = physics.create_scene("Sleepers", SLEEPERS)
    scene.step(nstep=1100)
    asleep = (scene.data.tree_asleep >= 0).copy()
    assert asleep.sum() == 5, "the boxes were meant to sleep and the pendulum to swing"
    checkpoint = captured(scene)

    def run(target: Scene) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        positions = np.empty((300, target.model.nq))
        for k in range(300):
            if k == 100:
                target.data.xfrc_applied[1, 2] = 30.0  # wakes the first box
            if k == 120:
                target.data.xfrc_applied[1, 2] = 0.0
            target.step()
            positions[k] = target.data.qpos
        return positions, target.data.tree_asleep >= 0

    first, first_asleep = run(scene)
    fresh = physics.create_scene("Sleepers", SLEEPERS)
    for target in (scene, fresh):
        target.restore_state_from_bytes(checkpoint)
        assert np.array_equal(target.data.tree_asleep >= 0, asleep)
        again, again_asleep = run(target)
        assert np.array_equal(first, again)
        assert np.array_equal(first_asleep, again_asleep)


def refused(scene: Scene, state: object, state_of: StateOf) -> str:
    """Return why ``state`` is refused, having checked that nothing has changed."""
    before, counters = state_of(scene), (scene.step_count, scene.total_steps)
    with pytest.raises(physics.StateError) as caught:
        scene.restore_state_from_bytes(state)  # type: ignore[arg-type]
    assert np.array_equal(before, state_of(scene))
    assert counters == (scene.step_count, scene.total_steps)
    return str(caught.value)


def test_corrupting_any_single_byte_is_refused_and_changes_nothing(state_of: StateOf) -> None:
    scene = physics.create_scene("Small", SMALL)
    scene.step(nstep=5)
    checkpoint = captured(scene)
    scene.step(nstep=5)
    for at in range(len(checkpoint)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(checkpoint)
            damaged[at] ^= flip
            refused(scene, damaged, state_of)
    scene.restore_state_from_bytes(checkpoint)


@pytest.mark.parametrize("form", [bytes, bytearray])
def test_damage_anywhere_in_a_large_checkpoint_is_refused(
    form: Callable[[bytearray], bytes], state_of: StateOf
) -> None:
    scene = physics.create_scene("Large", LARGE)
    scene.step(nstep=5)
    checkpoint = captured(scene)
    assert len(checkpoint) > 8000, "such that its body is summed"
    rng = np.random.default_rng(0)
    for at in rng.integers(0, len(checkpoint), 500):
        damaged = bytearray(checkpoint)
        damaged[at] ^= 1 << int(rng.integers(8))
        refused(scene, form(damaged), state_of)
    zeroed = bytearray(checkpoint)
    zeroed[-4000:-3000] = bytes(1000)
    refused(scene, form(zeroed), state_of)
    assert scene.checkpoint().is_equal(physics.Checkpoint.from_bytes(checkpoint))
    scene.step()
    scene.restore(scene.checkpoint().to_bytes())
    scene.restore_state_from_bytes(checkpoint)


def test_truncation_at_every_length_and_trailing_bytes_are_refused(state_of: StateOf) -> None:
    scene = physics.create_scene("Small", SMALL)
    checkpoint = captured(scene)
    scene.step()
    for length in range(len(checkpoint)):
        refused(scene, checkpoint[:length], state_of)
    for tail in (b"\0", b"abc", checkpoint):
        assert "should have" in refused(scene, checkpoint + tail, state_of)
    assert "checkpoint" in refused(scene, b"", state_of)


@pytest.mark.parametrize(
    "change",
    [
        ('mass="1"', 'mass="1.0000001"'),
        ('timestep="0.002"', 'timestep="0.004"'),
        ("</worldbody>", '<geom size=".1" pos="0 0 5"/></worldbody>'),
        ("</worldbody>", '<body><joint/><geom size=".1" mass="1"/></body></worldbody>'),
        ('name="push"', 'name="pull"'),
    ],
    ids=["mass", "timestep", "one more geom", "one more joint", "another name"],
)
def test_another_model_is_refused_and_the_reason_says_so(
    change: tuple[str, str], state_of: StateOf
) -> None:
    checkpoint = captured(physics.create_scene("Small", SMALL))
    assert change[0] in SMALL
    other = physics.create_scene("Other", SMALL.replace(*change))
    assert "another model" in refused(other, checkpoint, state_of)


def test_a_timestep_written_into_the_model_is_noticed(state_of: StateOf) -> None:
    scene = physics.create_scene("Small", SMALL)
    checkpoint = captured(scene)
    scene.model.opt.timestep = 0.001
    assert "0.002" in refused(scene, checkpoint, state_of)


def test_a_model_that_was_declared_changed_takes_no_older_checkpoints(state_of: StateOf) -> None:
    scene = physics.create_scene("Small", SMALL)
    checkpoint = captured(scene)
    scene.model.body_mass[1] *= 2
    scene.model_changed()
    assert "another model" in refused(scene, checkpoint, state_of)
    scene.restore_state_from_bytes(captured(scene))


def with_checksum(state: bytearray) -> bytes:
    state[8:12] = zlib.crc32(memoryview(state)[12:]).to_bytes(4, "little")
    return bytes(state)


def test_another_version_of_the_format_or_of_mujoco_is_refused_by_name(
    state_of: StateOf,
) -> None:
    scene = physics.create_scene("Small", SMALL)
    checkpoint = captured(scene)
    newer = bytearray(checkpoint)
    newer[12] = 99
    assert "format version is 99" in refused(scene, with_checksum(newer), state_of)
    version = mujoco.mj_versionString().encode()
    at = checkpoint.index(version)
    other = bytearray(checkpoint)
    other[at : at + len(version)] = version.replace(b".", b",")
    message = refused(scene, with_checksum(other), state_of)
    assert mujoco.mj_versionString() in message


def test_a_state_that_is_not_finite_is_refused_but_a_bad_control_comes_back(
    state_of: StateOf, caplog: pytest.LogCaptureFixture
) -> None:
    scene = physics.create_scene("Small", SMALL)
    scene.data.ctrl[0] = np.nan
    checkpoint = captured(scene)
    scene.data.ctrl[0] = 0.0
    scene.restore_state_from_bytes(checkpoint)
    assert np.isnan(scene.data.ctrl[0])
    assert "not finite" in caplog.text
    scene.data.ctrl[0] = 0.0
    healthy = state_of(scene)
    scene.data.qvel[0] = np.inf
    diverged = captured(scene)
    scene.data.qvel[0] = 0.0
    with pytest.raises(physics.StateCorruptError, match="not finite"):
        scene.restore_state_from_bytes(diverged)
    assert np.array_equal(healthy, state_of(scene))


def test_huge_but_finite_values_are_restored(state_of: StateOf) -> None:
    scene = physics.create_scene("Small", SMALL)
    scene.data.qvel[0] = 1e200
    checkpoint, state = captured(scene), state_of(scene)
    scene.data.qvel[0] = 0.0
    scene.restore_state_from_bytes(checkpoint)
    assert np.array_equal(state, state_of(scene))


def test_captures_append_and_each_part_can_be_restored(state_of: StateOf) -> None:
    scene = physics.create_scene("Small", SMALL)
    buffer = physics.DynamicArrayUint8(b"head")
    scene.capture_state_to_bytes(buffer)
    start, first = len(buffer), state_of(scene)
    scene.step(nstep=10)
    scene.capture_state_to_bytes(buffer)
    assert bytes(buffer[:4]) == b"head"
    scene.restore_state_from_bytes(bytes(buffer)[4:start])
    assert np.array_equal(first, state_of(scene))
    scene.restore_state_from_bytes(buffer[start:])
    assert scene.physics_step_count == 10


def test_a_failed_capture_leaves_the_buffer_as_it_was() -> None:
    scene = physics.create_scene("Small", SMALL)
    buffer = physics.DynamicArrayUint8(b"keep")
    with memoryview(buffer), pytest.raises(physics.StateError, match="memoryview"):
        scene.capture_state_to_bytes(buffer)
    assert bytes(buffer) == b"keep"
    with pytest.raises(TypeError, match="DynamicArrayUint8"):
        scene.capture_state_to_bytes(b"")  # type: ignore[arg-type]
    physics.destroy_scene(scene)
    with pytest.raises(physics.SceneDestroyedError):
        scene.capture_state_to_bytes(buffer)
    assert bytes(buffer) == b"keep"


@pytest.mark.parametrize("large", [False, True])
def test_the_same_bytes_again_and_others_in_between_are_each_taken_for_what_they_are(
    large: bool, state_of: StateOf, caplog: pytest.LogCaptureFixture
) -> None:
    scene = physics.create_scene("Scene", LARGE if large else SMALL)
    scene.data.ctrl[0] = np.nan
    strange, strange_state = captured(scene), state_of(scene)
    scene.data.ctrl[0] = 0.5
    scene.step(nstep=3)
    plain, plain_state = captured(scene), state_of(scene)
    for state, expected in ((strange, strange_state), (plain, plain_state)) * 2:
        for _ in range(3):
            caplog.clear()
            scene.restore_state_from_bytes(state)
            assert np.array_equal(state_of(scene), expected, equal_nan=True)
            assert ("not finite" in caplog.text) is (state is strange)
    refused(scene, plain[:-1] + b"\7", state_of)
    scene.restore_state_from_bytes(plain)
    scene.model.opt.timestep = 0.001
    assert "0.002" in refused(scene, plain, state_of)
    growing = bytearray(plain)
    scene.model.opt.timestep = 0.002
    scene.restore_state_from_bytes(growing)
    growing[-1] ^= 0xFF
    refused(scene, growing, state_of)


@pytest.mark.parametrize("large", [False, True])
def test_any_bytes_like_is_taken_and_anything_else_is_a_type_error(
    large: bool, state_of: StateOf
) -> None:
    scene = physics.create_scene("Scene", LARGE if large else SMALL)
    checkpoint = captured(scene)
    scattered = np.zeros((len(checkpoint), 2), dtype=np.uint8)
    scattered[:, 0] = np.frombuffer(checkpoint, dtype=np.uint8)
    for form in (
        checkpoint,
        bytearray(checkpoint),
        memoryview(checkpoint),
        physics.DynamicArrayUint8(checkpoint),
        np.frombuffer(checkpoint, dtype=np.uint8),
        np.frombuffer(checkpoint, dtype=np.float64),
        memoryview(b"x" + checkpoint)[1:],
        scattered[:, 0],
    ):
        scene.step()
        scene.restore_state_from_bytes(form)
        assert scene.physics_step_count == 0
    for wrong in (None, 7, "text", [1, 2], object()):
        with pytest.raises(TypeError, match="bytes"):
            scene.restore_state_from_bytes(wrong)  # type: ignore[arg-type]


def test_the_same_model_from_file_string_spec_or_compiled_takes_the_same_checkpoint(
    tmp_path: Path,
) -> None:
    file = tmp_path / "small.xml"
    file.write_text(SMALL)
    checkpoint = captured(physics.create_scene("String", SMALL))
    for model in (
        file,
        str(file),
        mujoco.MjSpec.from_string(SMALL),
        mujoco.MjModel.from_xml_string(SMALL),
        mujoco.MjModel.from_xml_path(str(file)),
    ):
        physics.create_scene("Same", model).restore_state_from_bytes(checkpoint)


FALLING_CLOTH = """
<mujoco><option timestep="0.002" integrator="discrete" solver="CG"><flag ipc="enable"/></option>
  <size memory="20M"/><worldbody><geom type="plane" size="3 3 .1"/>
  <geom type="sphere" size=".15" pos="0 0 .15"/>
  <body name="cloth" pos="0 0 .45"><flexcomp name="cloth" type="grid" count="6 6 1" dim="2"
    spacing=".06 .06 .06" mass=".3" radius=".01"><elasticity young="1e4" poisson=".2"
    thickness=".01" damping=".01" elastic2d="both"/></flexcomp></body></worldbody></mujoco>
"""


def test_what_ipc_contacts_of_flexes_remember_continues_bit_for_bit_in_a_fresh_scene() -> None:
    if not hasattr(mujoco.mjtEnableBit, "mjENBL_IPC"):
        pytest.skip("this MuJoCo has no ipc contacts")
    scene = physics.create_scene("Cloth", FALLING_CLOTH)
    scene.step(nstep=150)
    assert scene.data.flexvert_lambda.any(), "the cloth was meant to touch the ball"
    checkpoint = scene.checkpoint()
    assert checkpoint.exactness.is_exact
    row = np.empty(mujoco.mj_stateSize(scene.model, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(scene.model, scene.data, row, mujoco.mjtState.mjSTATE_INTEGRATION)
    bare = mujoco.MjData(scene.model)
    mujoco.mj_setState(scene.model, bare, row, mujoco.mjtState.mjSTATE_INTEGRATION)
    scene.step(nstep=100)
    mujoco.mj_step(scene.model, bare, 100)
    assert not np.array_equal(scene.data.qpos, bare.qpos), "a row alone was meant to drift"
    fresh = physics.create_scene("Fresh", FALLING_CLOTH)
    assert fresh.restore(checkpoint).is_exact
    fresh.step(nstep=100)
    assert np.array_equal(scene.data.qpos, fresh.data.qpos)


def test_captures_of_two_threads_do_not_disturb_each_other(make_scene: Make) -> None:
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            scene = make_scene("arm")
            rng = np.random.default_rng(seed)
            for _ in range(50):
                scene.ctrl[:] = rng.uniform(-1, 1, scene.model.nu)
                scene.step(nstep=2)
                checkpoint, qpos = captured(scene), scene.data.qpos.copy()
                scene.step()
                scene.restore_state_from_bytes(checkpoint)
                assert np.array_equal(scene.data.qpos, qpos)
            physics.destroy_scene(scene)
        except BaseException as error:  # noqa: BLE001 - reported by the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []


PLUGGED = """
<mujoco><extension><plugin plugin="mujoco.pid"><instance name="gains"><config key="kp" value="8"/>
  </instance></plugin></extension>
  <worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
  <actuator><plugin joint="j" plugin="mujoco.pid" instance="gains"/></actuator></mujoco>
"""


def test_a_plugin_that_is_not_known_to_hide_nothing_makes_checkpoints_approximate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = physics.create_scene("Plugged", PLUGGED)
    assert scene.checkpoint().exactness.is_exact, "MuJoCo's own keep all in their state"
    assert scene.link.backend.describe(1, "Plugged").notes == ()
    monkeypatch.setattr(hidden_state, "_TRUSTED_PLUGINS", ("somebody.else.",))
    doubtful = physics.create_scene("Doubtful", PLUGGED)
    checkpoint = doubtful.checkpoint()
    assert str(checkpoint.exactness).startswith("approximate(the plugin mujoco.pid may keep state")
    again = physics.Checkpoint.from_bytes(captured(doubtful))
    assert again.exactness == checkpoint.exactness == doubtful.restore(again)
    (note,) = doubtful.link.backend.describe(2, "Doubtful").notes
    assert "approximate: the plugin mujoco.pid" in note
