"""A recorded run in the window: played, looped, played backwards, and continued."""

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import mujoco
import pytest
from event_loop import trigger
from plain_recording import PlainRun, record_plain
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

import stroboscope.engine as physics
from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.scene_values import scene_values
from stroboscope.debugger_protocol.messages import LogLevel, PlaybackMode

Key, CTRL = Qt.Key, Qt.KeyboardModifier.ControlModifier
MODEL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="arm" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    </body>
  </worldbody>
  <actuator><position joint="shoulder" kp="8"/></actuator>
</mujoco>
"""
SHOW = """
from stroboscope.engine.trajectory.showing import show_trajectory

show_trajectory({path!r}, launch=False)
"""
RUNS = """
import stroboscope.engine as physics

scene = physics.create_scene("Arm", '''{model}''')
if physics.debugger.attach(60, launch=False):
    while physics.debugger.is_attached():
        scene.step()
"""
LAST = 60


@pytest.fixture
def run(tmp_path: Path) -> PlainRun:
    """0.6 s of an arm."""

    def control(step: int, data: Any) -> None:
        data.ctrl[:] = math.sin(0.1 * step)

    model = mujoco.MjModel.from_xml_string(MODEL)
    return record_plain(
        tmp_path / "arm.mcap", model, steps=LAST, control=control, reward=lambda step: 0.5 * step
    )


@pytest.fixture
def replay(desktop, run_script: Callable[..., Any], run: PlainRun, wait_until):
    """The file in the window, its first row in view; ``replay(key)`` presses one."""
    run_script(SHOW.format(path=str(run.path)))
    wait_until(lambda: desktop.sessions.shown is not None)
    history = desktop.sessions.shown.history
    wait_until(lambda: history.view == 0 and history.is_replay)
    wait_until(lambda: desktop.window.transport.badge.word == "REPLAY")

    def press(key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick(desktop.window.scene_view.viewport, key, modifier)

    return press


def test_space_plays_it_to_its_end_and_then_from_its_beginning(desktop, replay, wait_until):
    scene, badge = desktop.sessions.shown, desktop.window.transport.badge
    replay(Key.Key_Space)
    wait_until(lambda: badge.word == "REPLAYING")
    wait_until(lambda: badge.word == "REPLAY · END")
    assert scene.status.axis == LAST  # nothing was simulated
    replay(Key.Key_Right)
    assert "The recording ends here" in desktop.window.status.currentMessage()
    replay(Key.Key_Space)
    wait_until(lambda: scene.history.view is not None and scene.history.view < LAST - 10)
    replay(Key.Key_Space)
    wait_until(lambda: badge.word == "REPLAY")
    assert scene.status.axis == LAST


def test_its_buttons_say_that_they_move_the_view_and_which_keys_do(
    desktop, replay, wait_until, click
):
    transport, actions = desktop.window.transport, desktop.window.actions_by_name
    scene, buttons = desktop.sessions.shown, transport.buttons

    def visible() -> list[str]:
        return [name for name, button in buttons.items() if button.isVisible()]

    wait_until(lambda: visible() == ["go_first", "step_back", "play", "step", "loop"])
    assert buttons["play"].toolTip().splitlines() == [
        "Play   Space",
        "Move the view through arm.mcap, at the speed beside.   Ctrl+Space moves it backward.",
        "Only the view moves: nothing is simulated.",
    ]
    assert buttons["step"].toolTip().splitlines() == [
        "Single step   Right",
        "Look at the next step. Only the view moves: nothing is simulated.",
    ]
    assert "This is the oldest row" in buttons["step_back"].toolTip()
    assert buttons["loop"].toolTip().startswith("Loop   Alt+L\nBegin anew at the end of arm.mcap")
    assert "Recorded seconds per second" in transport.speed.toolTip()
    assert not actions["fast_forward"].isEnabled()
    click(buttons["step"])
    wait_until(lambda: scene.history.view == 1)
    wait_until(lambda: "Look at the step before" in buttons["step_back"].toolTip())
    click(buttons["step"])
    wait_until(lambda: scene.history.view == 2)
    click(buttons["go_first"])
    wait_until(lambda: scene.history.view == 0)
    click(buttons["loop"])
    assert desktop.window.commands.time.loops
    click(buttons["play"])
    wait_until(lambda: transport.badge.word == "REPLAYING")
    wait_until(lambda: "Let the view stand." in buttons["play"].toolTip())
    click(buttons["play"])
    assert scene.status.axis == LAST  # nothing was simulated
    # What is simulated on from a frame is no recorded run: its buttons step it.
    replay(Key.Key_Return)
    wait_until(lambda: not scene.history.is_replay)
    wait_until(lambda: buttons["fast_forward"].isVisible())
    assert not buttons["loop"].isVisible()
    wait_until(lambda: "Simulate one step" in buttons["step"].toolTip())


def test_playing_another_scene_leaves_it_alone(desktop, replay, run_script, wait_until):
    recorded = desktop.sessions.shown
    run_script(RUNS.format(model=MODEL))
    wait_until(lambda: len(desktop.sessions.sessions) == 2)
    running = desktop.sessions.sessions[1]
    wait_until(lambda: running.scenes and running.has_control)
    (scene,) = running.scenes.values()
    desktop.sessions.show(scene)
    for begin in (desktop.sessions.play, desktop.sessions.fast_forward):
        before = scene.status.axis if scene.status is not None else 0
        begin()
        wait_until(lambda axis=before: scene.status.axis > axis + 20)
    assert recorded.history.view == 0
    assert recorded.status.axis == LAST
    assert recorded.mode is PlaybackMode.PAUSED
    desktop.sessions.pause()
    wait_until(lambda: scene.mode is PlaybackMode.PAUSED)


def test_it_says_which_frame_of_the_file_is_in_view(desktop, replay, wait_until):
    scene, timeline = desktop.sessions.shown, desktop.window.timeline
    of_all = f"of 0\u202f…\u202f{LAST}"
    desktop.window.commands.time.choose(20)
    wait_until(lambda: f"frame 20 {of_all} · episode 0" in timeline.where.full_text)
    assert timeline.live.text() == "End"
    rows = {row.label: row.text for s in scene_values(scene).sections for row in s.rows}
    assert (rows["file"], rows["in view"]) == ("arm.mcap", f"frame 20 {of_all}")
    assert "doing" not in rows
    instant = desktop.window.inspector.instant
    wait_until(lambda: instant.text().startswith("STATUS · the end of the file"))
    assert "…" not in instant.text()
    QTest.mouseClick(timeline.live, Qt.MouseButton.LeftButton)
    wait_until(lambda: f"frame {LAST} {of_all}, the last" in timeline.where.full_text)
    told = "\n".join(line.text for line in desktop.sessions.log.lines)
    assert f"arm.mcap: {LAST + 1} frames, exact, recorded 20" in told
    assert "complete" in told


def test_every_one_of_many_episodes_has_its_number(desktop, run_script, tmp_path, wait_until):
    last = 4500  # more than were told of at once
    path = tmp_path / "many.mcap"
    record_plain(
        path,
        mujoco.MjModel.from_xml_string(MODEL),
        steps=last,
        control=lambda step, data: None,
        resets=tuple(range(1, last)),
        block_rows=1000,
    )
    run_script(SHOW.format(path=str(path)))
    wait_until(lambda: desktop.sessions.shown is not None)
    history = desktop.sessions.shown.history
    wait_until(lambda: history.view == 0)
    episodes = [history.place(axis).episode for axis in range(last)]
    assert episodes == list(range(last))
    wait_until(lambda: "episode 0" in desktop.window.timeline.where.full_text)


def test_a_file_that_was_cut_off_says_so_and_how_it_is_repaired(
    desktop, run_script, run, wait_until
):
    cut = run.path.with_name("cut off.mcap")
    cut.write_bytes(run.path.read_bytes()[:-200])
    run_script(SHOW.format(path=str(cut)))
    wait_until(
        lambda: any(
            f"stroboscope repair '{cut}'" in line.text and line.level is LogLevel.WARNING
            for line in desktop.sessions.log.lines
        )
    )


@pytest.mark.slow
def test_the_timeline_knows_the_first_of_many_episodes(desktop, run_script, tmp_path, wait_until):
    model = mujoco.MjModel.from_xml_string(MODEL)
    path = tmp_path / "many.mcap"
    record_plain(
        path, model, steps=600, control=lambda step, data: None, resets=tuple(range(2, 600, 2))
    )
    run_script(SHOW.format(path=str(path)))
    history = desktop.sessions.shown.history
    wait_until(lambda: history.view == 0)
    for axis in (0, 1, 2, 301, 599):
        wait_until(lambda axis=axis: history.place(axis) is not None)
        place = history.place(axis)
        assert (place.episode, place.step) == (axis // 2, axis % 2)
    assert "episode 0" in desktop.window.timeline.where.full_text


def test_a_run_opens_where_it_stopped_and_says_why(desktop, run_script, tmp_path, wait_until):
    path = tmp_path / "flight.mcap"
    exploded = physics.create_scene("Arm", MODEL)
    file = physics.TrajectoryFile(path, keep_last=60, save_on_stop=True)
    with exploded.start_recording(file):
        for _ in range(40):
            exploded.step()
        exploded.data.qvel[:] = math.nan
        exploded.step()
    exploded.destroy()
    run_script(SHOW.format(path=str(path)))
    wait_until(lambda: desktop.sessions.shown is not None)
    scene, banner = desktop.sessions.shown, desktop.window.travel.banner
    wait_until(banner.isVisible)
    assert banner.stop.axis == 40
    assert "Play" not in banner.where.full_text
    assert [stop.axis for stop in scene.stops.stops] == [40]
    desktop.window.commands.time.choose(10)
    wait_until(lambda: scene.history.view == 10 and not banner.isVisible())
    trigger(desktop.window.actions_by_name["next_event"])
    wait_until(banner.isVisible)


def test_it_is_played_backwards_and_in_a_loop(desktop, replay, wait_until):
    history = desktop.sessions.shown.history
    trigger(desktop.window.actions_by_name["loop"])
    seen: list[int] = []
    history.changed.connect(lambda: seen.append(-1 if history.view is None else history.view))
    replay(Key.Key_Space, CTRL)
    wait_until(lambda: any(a < 10 and b > LAST - 10 for a, b in pairwise(seen)))
    rises = sum(b > a for a, b in pairwise(seen))
    assert rises < len(seen) / 3
    replay(Key.Key_Space)
    wait_until(lambda: not history.is_playing)


def test_the_field_goes_to_a_time_of_the_file(desktop, replay, wait_until):
    history, field = desktop.sessions.shown.history, desktop.window.timeline.field
    for typed, row in (("0.2 s", 20), ("45", 45)):
        replay(Key.Key_J, CTRL)
        wait_until(field.hasFocus)
        QTest.keyClicks(field, typed)
        QTest.keyClick(field, Key.Key_Return)
        wait_until(lambda row=row: history.view == row)
    assert desktop.window.transport.badge.word == "REPLAY"


def test_a_file_that_grows_is_followed_and_what_comes_can_be_played(
    desktop, run_script, run: PlainRun, tmp_path, wait_until
):
    whole = run.path.read_bytes()
    growing = tmp_path / "growing.mcap"
    growing.write_bytes(whole[: len(whole) // 2])
    run_script(SHOW.format(path=str(growing)))
    wait_until(lambda: desktop.sessions.shown is not None)
    scene = desktop.sessions.shown
    wait_until(lambda: scene.history.is_replay and scene.status is not None)
    assert scene.status.axis < LAST
    with growing.open("ab") as file:
        file.write(whole[len(whole) // 2 :])
    wait_until(lambda: scene.status.axis == LAST)
    desktop.window.commands.time.choose(LAST - 1)
    wait_until(lambda: scene.history.view == LAST - 1)
    wait_until(lambda: f"frame {LAST - 1} of" in desktop.window.timeline.where.full_text)


def test_a_part_chosen_in_the_timeline_is_played_in_a_loop(desktop, replay, wait_until):
    window, history = desktop.window, desktop.sessions.shown.history
    strip = window.timeline.strip

    def choose(text: str, axis: int) -> None:
        at = QPoint(round(strip.scale.x(axis)), strip.height() // 2)
        strip.customContextMenuRequested.emit(at)
        menus = window.timeline.findChildren(QMenu)
        menu = next(each for each in menus if any(a.text() == text for a in each.actions()))
        next(each for each in menu.actions() if each.text() == text).trigger()
        menu.close()
        wait_until(lambda: menu not in window.timeline.findChildren(QMenu))

    def strip_picture() -> bytes:
        return bytes(strip.grab().toImage().constBits())

    wait_until(lambda: strip.scale.start <= 0 and strip.scale.end >= LAST)
    without = strip_picture()
    choose("Loop from here", 20)
    begin, end = history.loop
    assert (abs(begin - 20) <= 1, end) == (True, LAST)
    assert window.actions_by_name["loop"].isChecked()
    choose("Loop to here", 30)
    begin, end = history.loop
    assert abs(begin - 20) <= 1 >= abs(end - 30)
    with_bracket = strip_picture()
    assert with_bracket != without
    trigger(window.actions_by_name["loop"])
    assert strip_picture() not in (with_bracket, without)
    trigger(window.actions_by_name["loop"])

    seen: list[int | None] = []
    replay(Key.Key_Space)
    wait_until(lambda: history.view is not None and begin <= history.view <= end)
    history.changed.connect(lambda: seen.append(history.view))
    wait_until(lambda: sum(b < a for a, b in pairwise(seen)) >= 2)
    replay(Key.Key_Space)
    wait_until(lambda: not history.is_playing)
    assert min(seen) == begin
    assert max(seen) <= end
    choose("Loop everything", 25)
    assert history.loop is None
    assert window.actions_by_name["loop"].isChecked()


def test_enter_continues_simulating_from_the_row_in_view(desktop, replay, wait_until):
    scene, badge = desktop.sessions.shown, desktop.window.transport.badge
    desktop.window.commands.time.choose(20)
    wait_until(lambda: scene.history.view == 20)
    replay(Key.Key_Return)
    wait_until(lambda: scene.history.view is None and not scene.history.is_replay)
    wait_until(lambda: badge.word == "PAUSED · BRANCH")
    replay(Key.Key_Space)
    wait_until(lambda: scene.status.axis > LAST + 20)
    assert scene.mode is PlaybackMode.PLAYING
    assert scene.history.recording == "arm.mcap"


def test_curves_begin_with_all_that_was_recorded(desktop, replay, run, wait_until):
    key = scene_key(desktop.sessions.shown)
    plots, store = desktop.window.plots, desktop.window.store
    plots.add_signals(PlotSeriesId(key, "qpos", 0))
    wait_until(lambda: (found := store.columns(key, "qpos")) is not None and found.count >= LAST)
    qpos = store.columns(key, "qpos").rows()
    assert qpos.axis.tolist() == list(range(LAST))
    assert qpos.values[:, 0].tobytes() == run.rows[:LAST, 1].tobytes()
    # All of it is in view, and no more: in the timeline, too.
    duration = 0.01 * LAST
    wait_until(
        lambda: plots.time_view.range == pytest.approx((-0.01 * duration, 1.01 * duration), rel=0.1)
    )
    assert desktop.window.timeline_range.range == pytest.approx((0, LAST), abs=2)
    wait_until(lambda: any(channel.name == "reward" for channel in desktop.sessions.shown.channels))
    plots.add_signals(PlotSeriesId(key, "reward", 0))
    wait_until(lambda: (found := store.columns(key, "reward")) is not None and found.count >= LAST)
    assert store.columns(key, "reward").rows().values[:LAST, 0].tolist() == [
        0.5 * step for step in range(LAST)
    ]


def test_a_curve_added_to_a_running_scene_begins_with_what_it_remembers(
    desktop, run_script, wait_until
):
    # In the time of the simulation as long as any, in that of the test as short as can be.
    run_script(RUNS.format(model=MODEL.replace('timestep="0.01"', 'timestep="0.002"')))
    scene = desktop.sessions.shown
    wait_until(lambda: scene.status is not None)
    trigger(desktop.window.actions_by_name["play"])
    wait_until(lambda: scene.status.axis > 200)
    key = scene_key(scene)
    desktop.window.plots.add_signals(PlotSeriesId(key, "qpos", 0))
    store = desktop.window.store
    wait_until(lambda: (found := store.columns(key, "qpos")) is not None and found.count > 250)
    rows = store.columns(key, "qpos").rows()
    assert rows.axis[0] == scene.history.first
    assert not rows.missing.any()
    assert (rows.axis[1:] - rows.axis[:-1] == 1).all()


def test_scrubbing_looks_at_few_actions_and_the_transport_bar_shows_a_frame_once(
    desktop, replay, wait_until, monkeypatch
):
    # Not every action is looked at with each command.
    commands, history = desktop.window.commands, desktop.sessions.shown.history
    refreshed = []
    refresh = commands.refresh
    monkeypatch.setattr(commands, "refresh", lambda: (refreshed.append(history.view), refresh()))
    answered = []
    desktop.sessions.shown.session.answered.connect(answered.append)
    for axis in range(10, 40):
        before = len(answered)
        commands.time.scrub(axis)
        wait_until(lambda count=before: len(answered) > count)
    wait_until(lambda: history.view == 39)
    assert len(answered) >= 30
    assert len(refreshed) < 10
    # What they can do is looked at all the same, a moment later.
    wait_until(lambda: not commands._soon.isActive())
    monkeypatch.undo()
    assert desktop.window.actions_by_name["continue_here"].isEnabled()
    # The transport bar shows a frame once, whatever is told of it.
    transport, scene = desktop.window.transport, desktop.sessions.shown
    shown = []
    refresh_numbers = transport._refresh_numbers
    monkeypatch.setattr(
        transport, "_refresh_numbers", lambda s: (shown.append(s), refresh_numbers(s))
    )
    transport._timer.start(0)  # what a command has left to show is due in the same moment
    for _ in range(5):
        scene.history.changed.emit()
        scene.status_changed.emit()
        scene.session.changed.emit()
    assert not shown
    wait_until(lambda: shown)
    assert len(shown) == 1
