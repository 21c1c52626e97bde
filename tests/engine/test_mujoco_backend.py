"""What the host asks of a scene: clock, edits, initial state, assets, and what the script logs."""

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host, HostListener
from stroboscope.debugger_protocol.messages import EditField, LogEntry, PlaybackMode
from stroboscope.engine.runtime import current_runtime
from stroboscope.engine.signal_channels import ENGINE_CHANNELS

Scene = physics.Scene
Make = Callable[..., Scene]
StateOf = Callable[[Scene], NDArray[np.float64]]


@pytest.fixture
def host() -> Iterator[Host]:
    """A host that a client is attached to, in fast forward."""
    physics.initialize()
    host = current_runtime().host
    host.listener = HostListener()
    host.attach(PlaybackMode.FAST_FORWARD)
    yield host
    host.detach("the test is over")


def test_the_clock_tells_state_and_totals(make_scene: Make) -> None:
    scene = make_scene()
    scene.step(nstep=3)
    handle = scene.capture_state()
    scene.step()
    scene.restore_state(handle)
    clock = scene.link.backend.clock()
    assert clock.time == pytest.approx(0.015)
    assert (clock.step_count, clock.physics_step_count) == (1, 3)
    assert (clock.total_steps, clock.axis) == (2, 4)


def test_an_edit_writes_exactly_the_values_given(make_scene: Make) -> None:
    scene = make_scene("arm")
    backend = scene.link.backend
    before = scene.data.qpos.copy()
    backend.edit_state(EditField.QPOS, 2, (0.25, -0.5))
    assert scene.data.qpos[2:4].tolist() == [0.25, -0.5]
    before[2:4] = (0.25, -0.5)
    assert np.array_equal(before, scene.data.qpos)
    backend.edit_state(EditField.CTRL, 0, (1.0,))
    backend.edit_state(EditField.QVEL, scene.model.nv - 1, (2.0,))
    assert (scene.ctrl[0], scene.data.qvel[-1]) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("index", "values", "message"),
    [
        (0, (), "qpos has"),
        (-1, (1.0,), "qpos has"),
        (15, (1.0, 2.0), "qpos has 16"),
        (1000, (1.0,), "qpos has"),
        (0, (1.0, float("nan")), "finite"),
        (0, (float("inf"),), "finite"),
        (0, (1.0, -1e11), r"at most 1e\+10: .*; -1e\+11 is none"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused_and_changes_nothing(
    make_scene: Make,
    state_of: StateOf,
    index: int,
    values: tuple[float, ...],
    message: str,
) -> None:
    scene = make_scene("arm")
    before = state_of(scene)
    with pytest.raises(CommandError, match=message):
        scene.link.backend.edit_state(EditField.QPOS, index, values)
    assert np.array_equal(before, state_of(scene))


def test_an_activation_can_not_be_edited_where_there_is_none(make_scene: Make) -> None:
    with pytest.raises(CommandError, match="act has 0"):
        make_scene("arm").link.backend.edit_state(EditField.ACT, 0, (1.0,))


def test_the_initial_state_comes_back_and_one_of_another_model_is_refused(
    make_scene: Make, state_of: StateOf
) -> None:
    scene, other = make_scene("arm"), make_scene("humanoid")
    scene.reset(keyframe="home")
    initial, state = scene.link.backend.capture_initial(), state_of(scene)
    scene.step(nstep=20)
    scene.link.backend.restore_initial(initial)
    assert np.array_equal(state, state_of(scene))
    with pytest.raises(CommandError, match="another model"):
        other.link.backend.restore_initial(initial)


def test_a_restore_that_no_longer_fits_leaves_everything_as_it_was(
    make_scene: Make, state_of: StateOf
) -> None:
    scene = make_scene("arm")
    initial = bytearray(scene.link.backend.capture_initial())
    scene.step()
    before = state_of(scene)
    initial[-1] ^= 1
    with pytest.raises(CommandError, match="checksum"):
        scene.link.backend.restore_initial(bytes(initial))
    assert np.array_equal(before, state_of(scene))


def test_describing_and_assets_work_on_another_thread_while_the_scene_steps(
    make_scene: Make,
) -> None:
    scene = make_scene("humanoid")
    found: list[object] = []

    def server() -> None:
        for _ in range(5):
            description = scene.link.backend.describe(1, "humanoid")
            for texture in description.textures:
                found.append(scene.link.backend.asset(texture.digest))

    thread = threading.Thread(target=server)
    thread.start()
    while thread.is_alive():
        scene.step()
    thread.join()
    assert found
    assert all(found)


# --- what the script logs


def test_logged_values_are_kept_at_their_instant_with_names(make_scene: Make, host: Host) -> None:
    scene = make_scene()
    for k in range(3):
        scene.step()
        scene.log("reward", k * 0.5)
        scene.log({"obs": np.arange(3) + k, "done": k == 2})
    channels = scene.link.user_channels
    assert set(channels) == {"reward", "obs", "done"}
    read = channels["reward"].read(0, limit=10)
    assert read.values[:, 0].tolist() == [0.0, 0.5, 1.0]
    assert read.axis.tolist() == [1, 2, 3]
    assert channels["done"].read(0, limit=10).values[:, 0].tolist() == [0.0, 0.0, 1.0]
    scene.log("pose", [1.0, 2.0], names=["x", "y"])
    assert scene.link.user_channels["pose"].names == ("x", "y")


def test_a_value_of_another_width_is_announced_and_does_not_stop_the_script(
    make_scene: Make, host: Host
) -> None:
    scene = make_scene()
    scene.log("obs", [1.0, 2.0])
    scene.log("obs", [1.0, 2.0, 3.0])
    texts = [e.text for e in host.take_events() if isinstance(e, LogEntry)]
    assert any("'obs' has 2 values" in text for text in texts)


def test_text_is_an_event_in_the_log(make_scene: Make, host: Host) -> None:
    scene = make_scene()
    scene.log("gripper", "closed")
    texts = [e.text for e in host.take_events() if isinstance(e, LogEntry)]
    assert any("gripper: closed" in text for text in texts)


@pytest.mark.parametrize("attached", [True, False])
def test_what_can_not_be_logged_raises_also_when_nobody_is_attached(
    make_scene: Make, host: Host, attached: bool
) -> None:
    scene = make_scene()
    if not attached:
        host.detach("nobody is there")
    for wrong in (None, object(), b"a", {"nested": 1}, [[1.0], [1.0, 2.0]]):
        with pytest.raises((TypeError, ValueError), match="log"):
            scene.log("x", wrong)
    for wrong in ([], np.zeros((2, 2))):
        with pytest.raises(ValueError, match="vector"):
            scene.log("x", wrong)
    with pytest.raises(TypeError, match="name"):
        scene.log("", 1.0)
    with pytest.raises(ValueError, match="2 values but 1 names"):
        scene.log("x", [1, 2], names=["a"])
    with pytest.raises(TypeError, match="mapping"):
        scene.log({"x": 1.0}, 2.0)
    scene.log("x", 1.0)
    assert bool(scene.link.user_channels) is attached


@pytest.mark.parametrize("attached", [True, False])
def test_names_that_could_not_be_subscribed_are_refused_with_and_without_a_debugger(
    make_scene: Make, host: Host, attached: bool
) -> None:
    scene = make_scene()
    if not attached:
        host.detach("nobody is there")
    for name in ("é" * 129, "caf\udce9"):
        with pytest.raises(ValueError, match="channel's name"):
            scene.log(name, 1.0)
        with pytest.raises(ValueError, match="channel's name"):
            scene.log(name, "text")
        with pytest.raises(ValueError, match="channel's name"):
            scene.log("x", [1.0], names=[name])
    for labels in ("ab", [1, 2]):
        with pytest.raises(TypeError, match="list of strings"):
            scene.log("x", [1.0, 2.0], names=labels)
    scene.log("é" * 128, 1.0)


@pytest.mark.parametrize("wrong", [b"12", ["1", "2"], np.datetime64("2020-01-01"), 10**400, 1j])
def test_only_numbers_are_taken_for_numbers(make_scene: Make, host: Host, wrong: object) -> None:
    scene = make_scene()
    with pytest.raises(TypeError, match="a number"):
        scene.log("x", wrong)


def test_what_a_script_logs_under_an_engine_channels_name_stays_apart(
    make_scene: Make, host: Host
) -> None:
    scene = make_scene()
    scene.log("qpos", 1.0)
    assert set(scene.link.user_channels) == {"qpos (script)"}
    assert set(scene.world.channels) <= ENGINE_CHANNELS


def test_thousands_of_channels_and_wide_vectors_stay_bounded(make_scene: Make, host: Host) -> None:
    scene = make_scene()
    for k in range(3000):
        scene.log(f"channel {k}", float(k))
    scene.log("wide", np.zeros(65_536))
    rings = scene.link.user_channels.values()
    assert len(rings) == 3001
    assert sum(ring.values.nbytes + ring.time.nbytes for ring in rings) < 64 << 20
    with pytest.raises(ValueError, match="up to 65536"):
        scene.log("wider", np.zeros(65_537))


def test_channels_beyond_the_limit_are_said_once_and_do_not_stop_the_script(
    make_scene: Make, host: Host
) -> None:
    scene = make_scene()
    for k in range(host.limits.channels + 50):
        scene.log(f"step {k}", 1.0)
    assert len(scene.link.user_channels) == host.limits.channels
    entries = [e.text for e in host.take_events() if isinstance(e, LogEntry)]
    assert sum("at most" in text for text in entries) <= 1


def test_a_wrong_width_is_said_once_not_at_every_step(make_scene: Make, host: Host) -> None:
    scene = make_scene()
    scene.log("obs", [1.0, 2.0])
    for _ in range(50):
        scene.log("obs", [1.0, 2.0, 3.0])
    entries = [e.text for e in host.take_events() if isinstance(e, LogEntry)]
    assert sum("'obs' has 2 values" in text for text in entries) == 1


def test_a_text_of_megabytes_is_cut(make_scene: Make, host: Host) -> None:
    scene = make_scene()
    scene.log("dump", "x" * 5_000_000)
    entries = [e.text for e in host.take_events() if isinstance(e, LogEntry)]
    assert max(map(len, entries)) <= host.limits.log_text_bytes


def test_a_script_that_pauses_itself_stands_there_until_it_is_played(
    make_scene: Make, host: Host, wait_until: Callable[..., None]
) -> None:
    done: list[int] = []

    def loop() -> None:
        scene = make_scene()
        scene.step()
        scene.pause("the arm is stuck")
        done.append(scene.total_steps)

    thread = threading.Thread(target=loop)
    thread.start()
    wait_until(lambda: any(link.owner.parked_in for link in host.links.values()))
    (link,) = host.links.values()
    (hold,) = link.holds.values()
    assert "the arm is stuck" in hold
    assert link.hold_location.startswith("test_mujoco_backend.py:")
    assert done == []
    host.play()
    thread.join(60)
    assert done == [1]


def test_pausing_is_nothing_when_nobody_is_attached(make_scene: Make) -> None:
    scene = make_scene()
    scene.pause("never mind")
    scene.update_debugger()
    scene.step()
    assert scene.total_steps == 1
