"""Looking at the past: the view moves, the scene does not."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest
from remembering import GuardedStepper

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol.client import DebuggerClient, Frame
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer
from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind
from stroboscope.debugger_protocol.topics import Instant, Topic

Connect = Callable[..., DebuggerClient]
Remember = Callable[..., GuardedStepper]


def frame_of(client: DebuggerClient, instant: Instant, axis: int | None = None) -> Frame:
    """Return the next frame of an instant (and axis); others on the way are passed over."""
    while (frame := client.next_frame(timeout=60)) is not None:
        if frame.instant is instant and axis in (None, frame.axis):
            return frame
    raise AssertionError(f"no {instant} frame of {axis} came")


def view_of(client: DebuggerClient, scene_id: int) -> int | None:
    history = client.history(scene_id)
    assert history is not None
    return history.view


def test_a_view_goes_to_a_row_and_the_scene_stays_where_it_is(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 20)
    client.subscribe(stepper.id, [Topic.POSE])
    client.goto(stepper.id, axis=7)
    frame = frame_of(client, Instant.PAST)
    row = stepper.memory.rows[7]
    assert (frame.axis, frame.step, frame.time) == (7, 7, row.time)
    assert frame.arrays["xpos"][1, 2] == row.q
    assert stepper.scene.backend.axis == 20
    history = client.history(stepper.id)
    assert history is not None
    assert (history.view, history.view_back, history.view_step) == (7, 13, 7)
    assert history.view_time == row.time


def test_stepping_back_and_forward_moves_the_view_and_ends_at_live(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 10)
    client.step_back(stepper.id)
    assert view_of(client, stepper.id) == 9
    client.step_back(stepper.id, 4)
    assert view_of(client, stepper.id) == 5
    client.step_forward(stepper.id, 2)
    assert view_of(client, stepper.id) == 7
    client.step_back(stepper.id, 1000)
    assert view_of(client, stepper.id) == 0
    client.step_forward(stepper.id, 1000)
    assert view_of(client, stepper.id) is None
    client.step_forward(stepper.id)
    assert stepper.scene.backend.axis == 10


def test_an_application_step_back_is_several_physics_steps_back(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember(nstep=3)
    client.step(stepper.id, 5)
    live = stepper.scene.backend.axis
    assert live == 15
    client.step_back(stepper.id)
    assert view_of(client, stepper.id) == 12
    client.step_back(stepper.id, physics=True)
    assert view_of(client, stepper.id) == 11
    client.step_forward(stepper.id, 1)
    assert view_of(client, stepper.id) == 12


def test_a_running_scene_is_paused_before_it_is_looked_back_at(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.fast_forward()
    assert client.wait_until(lambda c: c.scenes()[0].axis > 100, 60)
    client.step_back(stepper.id, 10)
    assert client.session_status.mode is m.PlaybackMode.PAUSED
    standing = stepper.scene.backend.axis
    assert view_of(client, stepper.id) == standing - 10
    client.step_forward(stepper.id, 3)
    assert stepper.scene.backend.axis == standing


@pytest.mark.parametrize("moves", ["play", "fast_forward", "step", "restore", "edit"])
def test_whatever_moves_the_scene_makes_the_view_live_first(
    connect: Connect, remember: Remember, moves: str
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 10)
    client.goto(stepper.id, axis=3)
    q = stepper.scene.backend.q
    match moves:
        case "play":
            client.play()
        case "fast_forward":
            client.fast_forward()
        case "step":
            client.step(stepper.id)
            assert stepper.memory.rows[10].q == q
        case "restore":
            client.restore_initial(stepper.id)
        case "edit":
            client.edit_state(stepper.id, "qpos", 0, [0.5])
    assert client.wait_until(lambda c: view_of(c, stepper.id) is None, 60)


def test_a_client_that_looks_later_sees_the_row_that_is_looked_at(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 10)
    client.goto(stepper.id, axis=4)
    other = connect(observe=True)
    assert view_of(other, stepper.id) == 4
    other.subscribe(stepper.id, [Topic.STATE])
    assert frame_of(other, Instant.PAST).axis == 4


def test_every_goto_of_a_fast_stream_is_answered_and_only_the_newest_rows_are_made(
    connect: Connect, remember: Remember, wait_until: Callable[..., None]
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 200)
    client.subscribe(stepper.id, [Topic.POSE])
    stepper.memory.looks = 0
    busy, let_go = threading.Event(), threading.Event()
    look_at = stepper.memory.look_at

    def slow(axis: int, topics: frozenset[Topic]):
        busy.set()
        assert let_go.wait(60)
        return look_at(axis, topics)

    stepper.memory.look_at = slow  # type: ignore[method-assign]
    threads = [threading.Thread(target=client.goto, args=(stepper.id,), kwargs={"axis": 5})]
    threads[0].start()
    assert busy.wait(60)
    for axis in range(50, 100):
        threads.append(
            threading.Thread(target=client.goto, args=(stepper.id,), kwargs={"axis": axis})
        )
        threads[-1].start()
    owner = stepper.scene.link.owner
    wait_until(lambda: sum(len(job.tickets) for job in tuple(owner.mailbox)) >= 50)
    assert len(owner.mailbox) == 1
    let_go.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert stepper.memory.looks <= 3
    assert view_of(client, stepper.id) in range(50, 100)


def test_goto_finds_steps_times_and_episodes(connect: Connect, remember: Remember) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 10)
    client.restore_initial(stepper.id)
    client.step(stepper.id, 10)
    client.goto(stepper.id, step=12)
    assert view_of(client, stepper.id) == 12
    client.goto(stepper.id, time=0.0101)
    assert view_of(client, stepper.id) == 15
    client.goto(stepper.id, step=99)
    assert view_of(client, stepper.id) is None
    with pytest.raises(CommandError, match="needs one of axis, step and time"):
        client.goto(stepper.id)
    with pytest.raises(CommandError, match="needs one of axis, step and time"):
        client.goto(stepper.id, step=3, time=0.5)


def test_nothing_to_look_at_is_said_in_words(connect: Connect, remember: Remember) -> None:
    client, stepper = connect(), remember()
    with pytest.raises(CommandError, match="no step was taken yet"):
        client.step_back(stepper.id)
    client.step(stepper.id, 5)
    client.set_history(stepper.id, keep=False)
    with pytest.raises(CommandError, match="its history is switched off"):
        client.step_back(stepper.id)
    client.set_history(stepper.id, keep=True)
    client.step(stepper.id, 5)
    with pytest.raises(CommandError, match="row 2 is not remembered any more: rows from 5 to 9"):
        client.goto(stepper.id, axis=2)
    assert view_of(client, stepper.id) is None


def test_a_scene_without_a_memory_says_so(connect: Connect, own, host) -> None:
    client = connect()
    stepper = own(host, "A")
    scene_id = stepper.scene.link.scene_id
    with pytest.raises(CommandError, match="'A' remembers nothing: its engine keeps no history"):
        client.step_back(scene_id)
    with pytest.raises(CommandError, match="stop on conditions"):
        client.break_when(scene_id, "qpos > 1")
    assert client.history(scene_id) is None


def test_a_free_running_scene_is_not_looked_back_at(connect: Connect, remember: Remember) -> None:
    client, stepper = connect(), remember(follow=False)
    with pytest.raises(CommandError, match="runs free"):
        client.step_back(stepper.id)


def test_a_row_that_cannot_be_shown_leaves_the_view_where_it_was(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 10)
    client.goto(stepper.id, axis=4)
    look_at = stepper.memory.look_at

    def failing(axis: int, topics: frozenset[Topic]):
        if axis == 6:
            raise CommandError("row 6 is not reproducible")
        return look_at(axis, topics)

    stepper.memory.look_at = failing  # type: ignore[method-assign]
    with pytest.raises(CommandError, match="row 6 is not reproducible"):
        client.goto(stepper.id, axis=6)
    assert view_of(client, stepper.id) == 4


def test_the_history_is_told_at_most_ten_times_a_second(
    connect: Connect, remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = connect()
    remember()
    told: list[m.SceneHistory] = []
    take = client._take_time_news

    def counting(message: object) -> bool:
        if isinstance(message, m.SceneHistory):
            told.append(message)
        return take(message)

    monkeypatch.setattr(client, "_take_time_news", counting)
    begin = time.monotonic()
    client.fast_forward()
    assert client.wait_until(lambda _: len(told) >= 5, 60)
    client.pause()
    took = time.monotonic() - begin
    assert len(told) <= 10 * took + 3
    assert told[-1].rows > told[0].rows


TRAVELLER = """
import sys, time
from stroboscope.debugger_protocol.client import DebuggerClient
client = DebuggerClient.connect(sys.argv[1])
assert client.wait_until(lambda c: c.scenes(), 60)
client.subscribe(1, ["state"])
client.step(1, 20)
client.goto(1, axis=3)
print(client.history(1).view, flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize(
    "trial", [0, 1, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 3))]
)
def test_a_scene_runs_on_live_when_the_client_that_looks_back_is_killed(
    server: DebugServer, host: Host, wait_until: Callable[..., None], trial: int
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", TRAVELLER, str(server.connection_file)],
        stdout=subprocess.PIPE,
        text=True,
    )
    stepper = GuardedStepper(host)
    assert process.stdout is not None
    assert process.stdout.readline() == "3\n"
    past = stepper.scene.link.past
    assert past.view == 3
    axis = stepper.scene.backend.axis
    process.kill()
    process.wait(60)
    process.stdout.close()
    wait_until(lambda: stepper.scene.backend.axis > axis)
    assert past.view is None
    host.close()
    stepper.join()


def test_the_view_is_live_again_when_the_controlling_client_has_gone(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    watcher = connect(observe=True)
    client.step(stepper.id, 10)
    client.goto(stepper.id, axis=3)
    client.close()
    assert watcher.wait_until(lambda c: view_of(c, stepper.id) is None, 60)
    assert watcher.wait_until(lambda c: c.scenes()[0].axis > 10, 60)


def test_what_is_remembered_in_the_end_is_told_before_the_session_ends(
    connect: Connect, remember: Remember, server: DebugServer
) -> None:
    client, stepper = connect(), remember()
    client.fast_forward()
    assert client.wait_until(lambda c: c.scenes()[0].step_count > 100, 60)
    stepper.join()
    server.stop()
    assert client.wait_until(lambda c: bool(c.closed_reason), 60)
    history = client.history(stepper.id)
    assert history is not None
    assert history.rows == len(stepper.memory.rows)


def test_all_that_has_begun_since_the_last_news_is_told_however_much_it_is(
    connect: Connect, remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, stepper = connect(), remember()
    told: dict[int, Segment] = {}
    take = client._take_time_news

    def remembering(message: object) -> bool:
        if isinstance(message, m.SceneHistory):
            told.update((segment.segment_id, segment) for segment in message.segments)
        return take(message)

    monkeypatch.setattr(client, "_take_time_news", remembering)
    client.step(stepper.id, 3)
    assert client.wait_until(lambda _: bool(told), 60)
    for _ in range(700):
        newest = stepper.memory.begin_segment(SegmentKind.EPISODE, episode=1)
    client.step(stepper.id, 2)
    assert client.wait_until(lambda _: newest.segment_id in told, 60)
    assert sorted(told) == [segment.segment_id for segment in stepper.memory.segments]
