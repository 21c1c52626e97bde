"""What scripts hand over by mistake is refused at once: nothing changes, no client suffers."""

import math
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import find_session

Make = Callable[..., physics.Scene]
StateOf = Callable[[physics.Scene], NDArray[np.float64]]

DEADLINE_S = 60.0
WRONG_COUNTS = (None, "x", math.nan, 1.5, -1, 2**63, 10**30, np.array([1]), True)
WRONG_TIMES = (None, "x", math.nan, math.inf, 10**400, 1j, np.array([1.0, 2.0]))


@pytest.mark.parametrize("field", ["step_count", "physics_step_count"])
@pytest.mark.parametrize("value", WRONG_COUNTS, ids=repr)
def test_a_state_with_an_impossible_step_count_is_refused_and_nothing_changes(
    make_scene: Make, state_of: StateOf, field: str, value: object
) -> None:
    scene = make_scene("arm")
    for _ in range(5):
        scene.step()
    state, before = scene.get_state(), state_of(scene)
    state.qpos[0] += 0.25
    setattr(state, field, value)
    with pytest.raises(physics.StateMismatchError, match=f"{field} must be a whole number"):
        scene.reset(state)
    assert state_of(scene).tobytes() == before.tobytes()
    assert (scene.step_count, scene.physics_step_count) == (5, 5)


@pytest.mark.parametrize("value", WRONG_TIMES, ids=lambda value: repr(value)[:12])
def test_a_state_with_an_impossible_time_is_refused_and_nothing_changes(
    make_scene: Make, state_of: StateOf, value: object
) -> None:
    scene = make_scene("arm")
    scene.step()
    state, before = scene.get_state(), state_of(scene)
    state.qpos[0] += 0.25
    state.time = value  # type: ignore[assignment]
    with pytest.raises(physics.StateError, match="time"):
        scene.reset(state)
    assert state_of(scene).tobytes() == before.tobytes()


@pytest.mark.parametrize("field", ["step_count", "physics_step_count", "time"])
@pytest.mark.parametrize(
    "value",
    [
        None,
        "x",
        1.5,
        np.zeros(2),
        np.full(3, np.nan),
        np.full(3, 2**63, np.uint64),
        np.zeros((3, 1)),
    ],
    ids=["None", "text", "one number", "two", "nan", "huge", "a column"],
)
def test_a_state_of_many_environments_with_wrong_counts_is_refused_and_nothing_changes(
    model_path: Callable[[str], Path], field: str, value: object
) -> None:
    scene = physics.create_scene("Arms", model_path("arm"), n_envs=3)
    for _ in range(5):
        scene.step()
    state, before = scene.get_state(), scene.environments.state.tobytes()
    state.qpos[:] += 0.25
    setattr(state, field, value)
    if field == "time" and isinstance(value, np.ndarray) and value.dtype == np.uint64:
        pytest.skip("a large time is a time")
    with pytest.raises(physics.StateError):
        scene.reset(state)
    assert scene.environments.state.tobytes() == before
    assert scene.step_count.tolist() == scene.physics_step_count.tolist() == [5, 5, 5]


def test_whole_numbers_of_numpy_are_step_counts_like_any_other(make_scene: Make) -> None:
    scene = make_scene("arm")
    state = scene.get_state()
    state.step_count = np.int32(7)  # type: ignore[assignment]
    scene.reset(state)
    assert type(scene.step_count) is int
    assert scene.step_count == scene.checkpoint().step_count == 7


def test_a_state_is_compared_with_states_only(make_scene: Make) -> None:
    state = make_scene("arm").get_state()
    with pytest.raises(TypeError, match="not None"):
        state.differences(None)  # type: ignore[arg-type]


Wrong = tuple[Callable[[physics.Scene, Any], object], type[Exception]]


def _candidates(scene: physics.Scene) -> Any:
    return np.zeros((2, 3, scene.model.nu))


def _rollout(**arguments: Any) -> Callable[[physics.Scene, Any], object]:
    return lambda scene, _: physics.rollout(scene.checkpoint(), _candidates(scene), **arguments)


WRONG: dict[str, Wrong] = {
    "the name of rollouts": (_rollout(name=3), TypeError),
    "one text for all names": (_rollout(names="ab"), TypeError),
    "a number for a name": (_rollout(names=["a", 2]), TypeError),
    "what is noted": (lambda _, made: made.note(3, [1, 2]), TypeError),
    "a note": (lambda scene, _: scene.checkpoint("a", note=5), TypeError),
    "an expression": (lambda scene, _: scene.break_when(None), TypeError),
    "bytes as an expression": (lambda scene, _: scene.break_when(b"time > 1"), TypeError),
    "a condition's name": (lambda scene, _: scene.break_when("time > 1e9", name=3), TypeError),
    "hits that are a half": (lambda scene, _: scene.break_when("time > 1e9", hits=1.5), TypeError),
    "hits as text": (lambda scene, _: scene.break_when("time > 1e9", hits="3"), TypeError),
    "no hits": (lambda scene, _: scene.break_when("time > 1e9", hits=0), ValueError),
    "memory that is nan": (lambda scene, _: scene.keep_history(max_bytes=math.nan), TypeError),
    "memory with a fraction": (lambda scene, _: scene.keep_history(max_bytes=1.5), TypeError),
    "memory without end": (lambda scene, _: scene.keep_history(max_bytes=10**30), ValueError),
    "a step count": (lambda scene, _: _reset_with(scene, math.nan), physics.StateMismatchError),
}


def test_more_controls_than_there_is_memory_for_are_refused_before_any_is_copied(
    make_scene: Make,
) -> None:
    scene = make_scene("arm")
    start, nu = scene.checkpoint(), scene.model.nu
    with pytest.raises(
        ValueError, match=r"shape \(1000000, 1000000, \d+\) would take .* GiB, this"
    ):
        physics.rollout(start, np.broadcast_to(0.0, (10**6, 10**6, nu)))
    with pytest.raises(ValueError, match=r"of 1,000,000 physics steps would take .* GiB, this"):
        physics.rollout(start, np.zeros((100, 1000, nu)), nstep=10**6)


def test_controls_with_a_gradient_are_refused_in_words(make_scene: Make) -> None:
    class Tensor:
        def __array__(self, *_: object, **__: object) -> NDArray[np.float64]:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    scene = make_scene("arm")
    with pytest.raises(ValueError, match="must be an array of numbers"):
        physics.rollout(scene.checkpoint(), Tensor())  # type: ignore[arg-type]


def _reset_with(scene: physics.Scene, count: Any) -> None:
    state = scene.get_state()
    state.step_count = count
    scene.reset(state)


@pytest.fixture
def watched(make_scene: Make) -> tuple[DebuggerClient, physics.Scene]:
    """A client that has everything of a scene told, and the scene."""
    scene = make_scene("arm")
    physics.debugger.listen()
    client = DebuggerClient.connect(find_session(), timeout=DEADLINE_S)
    client.request_control()
    client.fast_forward()
    assert client.wait_until(lambda c: len(c.scenes()) == 1, DEADLINE_S)
    return client, scene


def _told(client: DebuggerClient, scene: physics.Scene, *, rollouts: int = 0) -> None:
    """Step until the client has been told of the history, and of a checkpoint made now."""
    scene.checkpoint("the last news")
    name = "the last news"

    def has_heard() -> bool:
        (told,) = client.scenes()  # raises when the connection has ended
        history = client.history(scene.scene_id)
        return (
            any(each.name == name for each in client.checkpoints(scene.scene_id))
            and history is not None
            and told.total_steps > 0
            and len(client.rollouts(scene.scene_id)) >= rollouts
        )

    end = time.monotonic() + DEADLINE_S
    while not has_heard():
        assert time.monotonic() < end, "nothing was told"
        scene.step()


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_value_raises_in_the_script_and_costs_no_client_its_connection(
    watched: tuple[DebuggerClient, physics.Scene], what: str
) -> None:
    client, scene = watched
    call, error = WRONG[what]
    with client:
        made = physics.rollout(scene.checkpoint(), _candidates(scene))
        with pytest.raises(error):
            call(scene, made)
        _told(client, scene, rollouts=2)
        with DebuggerClient.connect(find_session(), observe=True, timeout=DEADLINE_S) as another:
            assert len(another.scenes()) == 1


def test_texts_of_numpy_are_texts_for_clients_too(
    watched: tuple[DebuggerClient, physics.Scene],
) -> None:
    client, scene = watched
    text = np.array(["left knee"])[0]
    with client:
        made = physics.rollout(
            scene.checkpoint(), _candidates(scene), name=text, names=np.array(["a", "b"])
        )
        made.note(text, [1.0, 2.0])
        scene.break_when("time > 1e9", name=text)
        scene.checkpoint(text, note=text)
        scene.log(text, [1.0, 2.0], names=np.array(["u", "v"]))
        scene.log(np.array(["an event"])[0], text)
        _told(client, scene, rollouts=2)
        assert [each.group for each in client.rollouts(scene.scene_id)] == ["left knee"] * 2
        assert client.conditions(scene.scene_id)[0].name == "left knee"


@pytest.mark.parametrize(
    ("reason", "shown"),
    [(ValueError("the knee is past its limit"), "the knee is past its limit"), (5, "5")],
    ids=["an exception", "a number"],
)
def test_a_scene_pauses_for_any_reason(
    watched: tuple[DebuggerClient, physics.Scene], reason: Any, shown: str
) -> None:
    client, scene = watched
    seen: list[str] = []

    def let_go() -> None:
        client.wait_until(lambda c: c.scenes()[0].held, DEADLINE_S)
        seen.append(client.scenes()[0].hold_reason)
        client.fast_forward()

    with client:
        other = threading.Thread(target=let_go)
        other.start()
        scene.pause(reason)
        other.join()
        assert shown in seen[0]
        _told(client, scene)


def test_a_reason_longer_than_a_message_is_cut(
    watched: tuple[DebuggerClient, physics.Scene],
) -> None:
    client, scene = watched
    seen: list[int] = []

    def let_go() -> None:
        client.wait_until(lambda c: c.scenes()[0].held, DEADLINE_S)
        seen.append(len(client.scenes()[0].hold_reason))
        client.fast_forward()

    with client:
        other = threading.Thread(target=let_go)
        other.start()
        scene.pause("x" * 20_000_000)
        other.join()
        assert 1000 < seen[0] < 100_000
