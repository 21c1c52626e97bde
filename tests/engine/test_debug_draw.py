"""What scripts draw: to which frame it belongs, what is refused, and what it costs."""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.arrays import pack_arrays
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.topics import DrawKind, Instant, Topic
from stroboscope.engine.debug_draw import MAX_ITEMS, MAX_POINTS

DEADLINE_S = 60.0
BALL = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
TOPICS = frozenset({Topic.DRAWING})

Arrays = Mapping[str, NDArray[Any]]
Loop = Callable[[physics.Scene], None]


def now(scene: physics.Scene) -> Arrays:
    """What a client is sent about the state as it stands."""
    return scene.link.backend.frame_now(TOPICS).arrays[Topic.DRAWING]


def radii(arrays: Arrays) -> list[float]:
    return [round(float(x), 3) for x in arrays["size"][:, 0]]


def texts(arrays: Arrays) -> list[str]:
    ends = arrays["text_end"].tolist()
    data = arrays["text"].tobytes()
    return [data[a:b].decode() for a, b in zip([0, *ends[:-1]], ends, strict=True)]


@pytest.fixture
def client() -> Iterator[DebuggerClient]:
    """A client that controls this process's session, which begins paused."""
    server = physics.debugger.get_debug_server()
    server.start()
    with DebuggerClient.connect(server.connection_file) as client:
        yield client
        physics.debugger.detach()


@pytest.fixture
def run_loop() -> Iterator[Callable[..., "Future[None]"]]:
    """``run_loop(loop)``: make a scene on a thread of its own and call ``loop(scene)``."""
    pool = ThreadPoolExecutor(1)

    def run(loop: Loop) -> "Future[None]":
        return pool.submit(lambda: loop(physics.create_scene("drawn", BALL)))

    yield run
    pool.shutdown(wait=False)


def next_drawing(client: DebuggerClient, instant: Instant, axis: int) -> Arrays:
    """Wait for the drawing of the state (NOW) or the step (EXECUTED) at ``axis``."""
    while True:
        frame = client.next_frame(DEADLINE_S)
        assert frame is not None, f"no drawing {instant} at {axis}"
        if (frame.topic, frame.instant, frame.axis) == (Topic.DRAWING, instant, axis):
            return frame.arrays


def before_the_step(scene: physics.Scene) -> None:
    for k in range(1000):
        scene.debug_draw.sphere((0, 0, 1), 1 + k)
        scene.step()


def after_the_step(scene: physics.Scene) -> None:
    scene.debug_draw.sphere((0, 0, 1), 1)
    for k in range(1, 1000):
        scene.step()
        scene.debug_draw.sphere((0, 0, 1), 1 + k)


def in_a_callback(scene: physics.Scene) -> None:
    scene.register_pre_step_callback(lambda s: s.debug_draw.sphere((0, 0, 1), 1 + s.step_count))
    while physics.debugger.is_attached():
        scene.step()


def of_several_physics_steps(scene: physics.Scene) -> None:
    for k in range(1000):
        scene.debug_draw.sphere((0, 0, 1), 1 + k)
        scene.step(nstep=3)


@pytest.mark.parametrize(
    ("loop", "physics_steps"),
    [
        (before_the_step, 1),
        (after_the_step, 1),
        (in_a_callback, 1),
        (of_several_physics_steps, 3),
    ],
)
def test_a_loop_shows_exactly_its_latest_drawing_while_it_is_stepped(
    client: DebuggerClient,
    run_loop: Callable[[Loop], "Future[None]"],
    wait_parked: Callable[..., bool],
    loop: Loop,
    physics_steps: int,
) -> None:
    run_loop(loop)
    assert wait_parked(client)
    (scene,) = client.scenes()
    client.subscribe(scene.scene_id, [Topic.DRAWING, Topic.POSE])
    assert radii(next_drawing(client, Instant.NOW, 0)) == [1.0]
    for k in range(4):
        client.step(scene.scene_id)
        # The step that began with what was drawn for it, and the state that it has led to.
        assert radii(next_drawing(client, Instant.NOW, (k + 1) * physics_steps)) == [2.0 + k]
    client.step(scene.scene_id)
    last = 5 * physics_steps - 1
    assert radii(next_drawing(client, Instant.EXECUTED, last)) == [5.0]


def test_a_loop_of_the_script_s_own_shows_its_latest_drawing_at_sync(
    client: DebuggerClient, wait_parked: Callable[..., bool]
) -> None:
    def work() -> None:
        model = mujoco.MjModel.from_xml_string(BALL)
        data = mujoco.MjData(model)
        scene = physics.create_scene("own loop", model, data=data)
        while physics.debugger.is_attached():
            mujoco.mj_step(model, data)
            scene.debug_draw.sphere((0, 0, 1), 1 + scene.step_count)
            scene.sync()

    pool = ThreadPoolExecutor(1)
    pool.submit(work)
    pool.shutdown(wait=False)
    assert wait_parked(client)
    (scene,) = client.scenes()
    client.subscribe(scene.scene_id, [Topic.DRAWING])
    assert radii(next_drawing(client, Instant.NOW, 1)) == [1.0]
    for k in range(2, 4):
        client.step(scene.scene_id)
        assert radii(next_drawing(client, Instant.NOW, k)) == [float(k)]


def test_after_a_restore_a_parked_step_draws_for_the_state_that_it_has_now(
    client: DebuggerClient,
    run_loop: Callable[[Loop], "Future[None]"],
    wait_parked: Callable[..., bool],
) -> None:
    run_loop(in_a_callback)
    assert wait_parked(client)
    (scene,) = client.scenes()
    client.subscribe(scene.scene_id, [Topic.DRAWING])
    client.step(scene.scene_id, 3)
    assert radii(next_drawing(client, Instant.NOW, 3)) == [4.0]
    client.restore_initial(scene.scene_id)
    while (drawn := radii(next_drawing(client, Instant.NOW, 3))) != [1.0]:
        assert drawn in ([4.0], [])


def test_a_drawing_that_is_not_made_again_is_gone_when_the_next_step_begins(
    client: DebuggerClient,
    run_loop: Callable[[Loop], "Future[None]"],
    wait_parked: Callable[..., bool],
) -> None:
    def loop(scene: physics.Scene) -> None:
        scene.debug_draw.arrow((0, 0, 0), (0, 0, 1))
        while physics.debugger.is_attached():
            scene.step()

    run_loop(loop)
    assert wait_parked(client)
    (scene,) = client.scenes()
    client.subscribe(scene.scene_id, [Topic.DRAWING])
    assert len(next_drawing(client, Instant.NOW, 0)["kind"]) == 1
    client.step(scene.scene_id)
    assert len(next_drawing(client, Instant.NOW, 1)["kind"]) == 0


def test_a_scene_that_is_not_stepped_shows_each_drawing_in_its_turn(
    client: DebuggerClient, run_loop: Callable[[Loop], "Future[None]"]
) -> None:
    again, shown = threading.Event(), threading.Event()

    def loop(scene: physics.Scene) -> None:
        for radius in (1.0, 2.0):
            scene.debug_draw.sphere((0, 0, 0), radius)
            scene.debug_draw.sphere((0, 0, 0), radius + 0.5)
            while not again.is_set():
                scene.update_debugger()
            again.clear()
            shown.set()
        while physics.debugger.is_attached():
            scene.update_debugger()

    run_loop(loop)
    assert client.wait_until(lambda c: bool(c.scenes()), DEADLINE_S)
    client.subscribe(client.scenes()[0].scene_id, [Topic.DRAWING])
    assert radii(next_drawing(client, Instant.NOW, 0)) == [1.0, 1.5]
    again.set()
    assert shown.wait(DEADLINE_S)
    while (drawn := radii(next_drawing(client, Instant.NOW, 0))) != [2.0, 2.5]:
        assert drawn == [1.0, 1.5]


def test_the_end_of_a_loop_is_seen_by_update_debugger_and_sync() -> None:
    scene = physics.create_scene("drawn", BALL)
    scene.link.active = True
    scene.debug_draw.sphere((0, 0, 0), 1)
    scene.counters.add_physics(1)
    scene.counters.add_application_step()
    assert radii(now(scene)) == [1.0], "nothing was drawn since the step has ended"
    scene.debug_draw.sphere((0, 0, 0), 2)
    assert radii(now(scene)) == [2.0]
    executed = scene.debug_draw.at(0)
    assert radii(executed) == [1.0], "what the step began with"


def test_while_nobody_is_attached_only_what_stays_is_kept() -> None:
    scene = physics.create_scene("drawn", BALL)
    draw = scene.debug_draw
    stays = draw.sphere((0, 0, 0), 3, persistent=True)
    for _ in range(2000):
        draw.arrow((0, 0, 0), (1, 0, 0))
        draw.point_cloud(np.zeros((10, 3)))
    assert radii(now(scene)) == [3.0]
    assert draw._now.items == 0
    stays.remove()
    stays.remove()
    assert len(now(scene)["kind"]) == 0
    with pytest.raises(ValueError, match="start must be 3 finite numbers"):
        draw.arrow((0, 0), (1, 0, 0))


@pytest.fixture
def watched() -> physics.Scene:
    """A scene that believes that somebody is attached."""
    scene = physics.create_scene("drawn", BALL)
    scene.link.active = True
    return scene


def test_every_kind_arrives_with_its_numbers(watched: physics.Scene) -> None:
    draw = watched.debug_draw
    draw.arrow((1, 2, 3), np.array([2, 2, 5]), color="red", width=2)
    draw.line([0, 0, 0], (1, 1, 1), color=(0, 1, 0))
    draw.sphere((0, 0, 1), 0.5, color=[0.0, 0.0, 1.0, 0.25])
    draw.box((0, 1, 0), (0.1, 0.2, 0.3), quat=(0, 2, 0, 0))
    draw.frame((0, 0, 0), length=0.4)
    draw.text((0, 0, 2), "grüße")
    draw.text((0, 0, 3), "next")
    arrays = now(watched)
    kinds = list(DrawKind)
    assert [kinds[k] for k in arrays["kind"]] == [
        *("arrow", "line", "sphere", "box", "frame", "text", "text")
    ]
    assert arrays["pos"][0].tolist() == [1, 2, 3]
    assert arrays["size"][0].tolist() == [1, 0, 2], "the vector to the end"
    np.testing.assert_allclose(arrays["rgba"][1], (0, 1, 0, 1))
    np.testing.assert_allclose(arrays["rgba"][2], (0, 0, 1, 0.25))
    np.testing.assert_allclose(arrays["size"][3], (0.1, 0.2, 0.3))
    assert arrays["quat"][3].tolist() == [0, 1, 0, 0], "of length 1"
    assert arrays["quat"][0].tolist() == [1, 0, 0, 0]
    assert arrays["size"][4, 0] == np.float32(0.4)
    assert arrays["width"].tolist() == [2, 0, 0, 0, 0, 0, 0]
    assert texts(arrays)[-2:] == ["grüße", "next"]
    assert {name: array.dtype.str for name, array in arrays.items()} == {
        **dict.fromkeys(("pos", "quat", "size", "rgba", "width"), "<f4"),
        **dict.fromkeys(("kind", "text_end", "left_out"), "<i4"),
        **dict.fromkeys(("point_pos", "point_rgba", "point_size"), "<f4"),
        "text": "|u1",
    }


def test_clouds_of_one_colour_or_of_many(watched: physics.Scene) -> None:
    draw = watched.debug_draw
    points = np.arange(12.0).reshape(4, 3)
    draw.point_cloud(points, color="white", size=5)
    draw.point_cloud(points[:2], color=np.array([[1, 0, 0], [0, 1, 0]]), size=[1, 2])
    draw.point_cloud(np.zeros((0, 3)))
    arrays = now(watched)
    np.testing.assert_array_equal(arrays["point_pos"], np.vstack([points, points[:2]]))
    assert arrays["point_rgba"][4:].tolist() == [[1, 0, 0, 1], [0, 1, 0, 1]]
    assert arrays["point_size"].tolist() == [5, 5, 5, 5, 1, 2]


def test_what_is_persistent_stays_with_its_texts_until_it_is_removed(
    watched: physics.Scene,
) -> None:
    draw = watched.debug_draw
    first = draw.text((0, 0, 0), "stays", persistent=True)
    cloud = draw.point_cloud(np.ones((3, 3)), persistent=True)
    draw.text((0, 0, 0), "goes")
    assert texts(now(watched)) == ["stays", "goes"]
    watched.step()
    watched.step()
    draw.text((0, 0, 0), "new")
    assert texts(now(watched)) == ["stays", "new"]
    assert len(now(watched)["point_pos"]) == 3
    cloud.remove()
    first.remove()
    arrays = now(watched)
    assert (texts(arrays), len(arrays["point_pos"])) == (["new"], 0)
    draw.line((0, 0, 0), (1, 0, 0), persistent=True)
    draw.clear()
    assert len(now(watched)["kind"]) == 0


def test_the_same_drawing_is_made_once(watched: physics.Scene) -> None:
    draw = watched.debug_draw
    draw.point_cloud(np.zeros((1000, 3)), persistent=True)
    first = now(watched)
    watched.step()
    assert now(watched) is first
    draw.sphere((0, 0, 0), 1)
    second = now(watched)
    assert second is not first
    assert now(watched) is second


@pytest.mark.parametrize("replace", ["restore", "reset", "model"])
def test_what_was_drawn_for_a_state_goes_with_it_and_the_rest_stays(
    watched: physics.Scene, replace: str
) -> None:
    draw = watched.debug_draw
    state = watched.capture_state()
    draw.sphere((0, 0, 0), 1, persistent=True)
    draw.sphere((0, 0, 0), 2)
    assert radii(now(watched)) == [1.0, 2.0]
    if replace == "restore":
        watched.restore_state(state)
    elif replace == "reset":
        watched.reset()
    else:
        watched.model_changed()
    assert radii(now(watched)) == [1.0]
    watched.link.active = True
    draw.sphere((0, 0, 0), 3)
    assert radii(now(watched)) == [1.0, 3.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.arrow((0, 0), (1, 1, 1)), r"start must be 3 finite numbers .*\(0, 0\)"),
        (lambda d: d.arrow((0, 0, 0), (1, np.nan, 1)), "end must be 3 finite numbers .*nan"),
        (lambda d: d.line((0, 0, 0), (1e39, 0, 0)), r"end must be 3 finite numbers .*1e\+39"),
        (lambda d: d.line(None, (1, 0, 0)), "start must be 3 finite numbers .*None"),
        (lambda d: d.line((0, 0, 0), np.zeros((3, 3))), "end must be 3 finite numbers"),
        (lambda d: d.line((0, 0, 0), (1, 0, 0), width=-1), "width must be .*0 or more, not -1"),
        (lambda d: d.sphere((0, 0, 0), 0), "radius must be a finite number above 0, not 0"),
        (lambda d: d.sphere((0, 0, 0), 1, color="rot"), "no color 'rot'; use .* or one of red,"),
        (lambda d: d.sphere((0, 0, 0), 1, color=(1, 2, 0)), r"from 0 to 1 .*\(1, 2, 0\)"),
        (lambda d: d.sphere((0, 0, 0), 1, color=(1, 0)), r"color must be .*\(1, 0\)"),
        (lambda d: d.sphere((0, 0, 0), 1, color=(1, 0, np.nan)), "color must be"),
        (lambda d: d.sphere((0, 0, 0), 1, color=(1, 0, 0, 1, 1)), "color must be"),
        (lambda d: d.box((0, 0, 0), (1, -1, 1)), "half_sizes must be a finite number above 0"),
        (lambda d: d.box((0, 0, 0), (1, 1, 1), quat=(0, 0, 0, 0)), "not all 0"),
        (lambda d: d.frame((0, 0, 0), (1, 0, 0)), "quat must be 4 finite numbers"),
        (lambda d: d.text((0, 0, 0), ""), "text must be a string of 1 to 256 bytes"),
        (lambda d: d.text((0, 0, 0), 3), "text must be a string"),
        (lambda d: d.text((0, 0, 0), "x" * 257), "text must be a string of 1 to 256 bytes"),
        (lambda d: d.text((0, 0, 0), "\ud800"), "text must be a string"),
        (lambda d: d.point_cloud(np.zeros((4, 2))), r"shape \(n, 3\), not \(4, 2\)"),
        (lambda d: d.point_cloud([[0, 0, 0], [0, np.inf, 0]]), "point 1 is .*inf"),
        (lambda d: d.point_cloud([["a", 0, 0]]), "points must be an array of numbers"),
        (lambda d: d.point_cloud(np.zeros((2, 3)), color=np.zeros((3, 3))), r"\(2, 3\) or \(2, 4"),
        (lambda d: d.point_cloud(np.zeros((1, 3)), color=[[0, 0, 255]]), "from 0 to 1, not 0 … 2"),
        (lambda d: d.point_cloud(np.zeros((2, 3)), size=[1]), r"shape \(2,\), not \(1,\)"),
        (lambda d: d.point_cloud(np.zeros((2, 3)), size=0), "size must be a finite number above"),
    ],
)
@pytest.mark.parametrize("active", [True, False])
def test_wrong_values_are_told_with_the_right_ones_and_draw_nothing(
    watched: physics.Scene, call: Callable[[Any], Any], message: str, *, active: bool
) -> None:
    watched.link.active = active
    with pytest.raises(ValueError, match=message):
        call(watched.debug_draw)
    arrays = now(watched)
    assert len(arrays["kind"]) == len(arrays["point_pos"]) == 0


def test_another_thread_can_not_draw(watched: physics.Scene) -> None:
    draw = watched.debug_draw
    pool = ThreadPoolExecutor(1)
    for use in (lambda: draw.sphere((0, 0, 0), 1), draw.clear, lambda: watched.debug_draw):
        with pytest.raises(physics.OwnerThreadError, match="drawn"):
            pool.submit(use).result(DEADLINE_S)
    pool.shutdown()
    watched.destroy()
    with pytest.raises(physics.SceneDestroyedError):
        draw.point_cloud(np.zeros((1, 3)))


def test_what_is_too_much_is_left_out_and_said_once(
    client: DebuggerClient,
    run_loop: Callable[[Loop], "Future[None]"],
    wait_parked: Callable[..., bool],
) -> None:
    def loop(scene: physics.Scene) -> None:
        draw = scene.debug_draw
        while physics.debugger.is_attached():
            for _ in range(MAX_ITEMS + 7):
                draw.line((0, 0, 0), (0, 0, 1))
            draw.point_cloud(np.zeros((MAX_POINTS - 1, 3), dtype=np.float32))
            draw.point_cloud(np.zeros((4, 3)))
            scene.step()

    run_loop(loop)
    assert wait_parked(client)
    (scene,) = client.scenes()
    client.subscribe(scene.scene_id, [Topic.DRAWING])
    for step in range(2):
        arrays = next_drawing(client, Instant.NOW, step)
        assert len(arrays["kind"]) == MAX_ITEMS
        assert len(arrays["point_pos"]) == MAX_POINTS
        assert arrays["left_out"].tolist() == [7 + 3]
        client.step(scene.scene_id)
    told = [e for e in client.log_entries() if e.level is LogLevel.WARNING]
    assert [e.text for e in told] == [
        "debug_draw: 10 items or points are left out: a scene draws at most 10,000 items and "
        "400,000 points at a time"
    ]


def test_the_largest_drawing_fits_into_a_message(watched: physics.Scene) -> None:
    draw = watched.debug_draw
    for _ in range(MAX_ITEMS):
        draw.text((0, 0, 0), "x" * 256)
        draw.text((0, 0, 0), "x" * 256, persistent=True)
    for persistent in (True, False):
        draw.point_cloud(np.zeros((MAX_POINTS, 3)), persistent=persistent)
    arrays = now(watched)
    assert arrays["left_out"].tolist() == [MAX_ITEMS + MAX_POINTS]
    _, blob = pack_arrays(arrays)
    assert len(blob) + 4096 < Limits().server_message_bytes


def test_a_large_drawing_that_stays_is_sent_once_and_again_after_a_restore(
    client: DebuggerClient,
    run_loop: Callable[[Loop], "Future[None]"],
    wait_parked: Callable[..., bool],
) -> None:
    def loop(scene: physics.Scene) -> None:
        scene.debug_draw.point_cloud(np.zeros((10_000, 3)), persistent=True)
        while physics.debugger.is_attached():
            scene.step()

    def until_pose(at: tuple[Instant, int]) -> list[tuple[Instant, int]]:
        """Return when drawings came until this pose did."""
        drawn = []
        while True:
            frame = client.next_frame(DEADLINE_S)
            assert frame is not None
            if frame.topic is Topic.DRAWING:
                assert len(frame.arrays["point_pos"]) == 10_000
                drawn.append((frame.instant, frame.axis))
            elif (frame.instant, frame.axis) == at:
                return drawn

    run_loop(loop)
    assert wait_parked(client)
    (scene,) = client.scenes()
    client.subscribe(scene.scene_id, [Topic.DRAWING, Topic.POSE])
    drawn = until_pose((Instant.NOW, 0))
    for steps in range(1, 4):
        client.step(scene.scene_id)
        drawn += until_pose((Instant.NOW, steps))
    assert sorted(drawn) == [(Instant.EXECUTED, 0), (Instant.NOW, 0)]
    client.restore_initial(scene.scene_id)
    assert len(next_drawing(client, Instant.NOW, 3)["point_pos"]) == 10_000


def test_two_drawings_at_one_instant_are_both_shown(
    client: DebuggerClient,
    run_loop: Callable[[Loop], "Future[None]"],
    wait_parked: Callable[..., bool],
) -> None:
    """A pause, more drawings, another pause: no physics in between."""

    def loop(scene: physics.Scene) -> None:
        scene.debug_draw.sphere((0, 0, 0), 1)
        scene.pause("first")
        scene.debug_draw.sphere((0, 0, 0), 2)
        scene.pause("second")

    run_loop(loop)
    assert wait_parked(client)
    (scene,) = client.scenes()
    client.subscribe(scene.scene_id, [Topic.DRAWING])
    assert radii(next_drawing(client, Instant.NOW, 0)) == [1.0]
    client.play()
    while (drawn := radii(next_drawing(client, Instant.NOW, 0))) != [1.0, 2.0]:
        assert drawn == [1.0]


def test_drawing_never_changes_the_run(
    make_scene: Callable[..., physics.Scene], drive: Callable[..., NDArray[np.float64]]
) -> None:
    plain, drawn = make_scene(), make_scene()

    def draw(scene: physics.Scene) -> None:
        scene.debug_draw.arrow(scene.data.xpos[1], scene.data.xpos[1] + 1.0)

    drawn.register_post_step_callback(draw)
    np.testing.assert_array_equal(drive(plain, 50), drive(drawn, 50))
