"""The last step before a reset, or a file's end, tells with which model it was taken."""

from pathlib import Path

import pytest
from noted_run import SENSED, Run

import stroboscope.engine as physics
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf
from stroboscope.engine.trajectory.stretches import stretches_of


def recorded(folder: Path, how: str, *, saves: bool) -> tuple[Run, Path]:
    """Record steps whose gravity was another one for a while, which nobody has seen."""
    scene = physics.create_scene("sensed", SENSED)
    scene.keep_history(True)
    run, option = Run(scene), scene.model.opt
    recording = None if saves else scene.start_recording(folder / "run")
    run.step(5)
    own = option.gravity[2]
    option.gravity[2] = -3.0
    run.step(1 if how == "one step" else 5)
    option.gravity[2] = own
    if how == "edit":
        scene.data.qvel[0] += 0.1
    elif how != "end":
        scene.reset()
    if how != "end":
        run.step(5)
    if recording is None:
        return run, scene.save_history(folder / "run")
    scene.stop_recording()
    return run, recording.path


@pytest.mark.parametrize("saves", [False, True], ids=["exact", "saved"])
@pytest.mark.parametrize("how", ["reset", "one step", "edit", "end"])
def test_the_last_row_of_a_stretch_of_a_file_says_that_its_step_led_elsewhere(
    tmp_path: Path, how: str, saves: bool
) -> None:
    run, path = recorded(tmp_path, how, saves=saves)
    count = run.scene.counters.axis
    with physics.load_trajectory(path) as trajectory:
        replayed = Run(trajectory.scene)
        replayed.seen = run.seen
        found = [replayed.look(axis) for axis in range(count)]
    wrong = [axis for axis, (same, _) in enumerate(found) if not same]
    assert wrong == list(range(5, 6 if how == "one step" else 10))
    assert all("leads elsewhere by now" in found[axis][1] for axis in wrong)
    assert not any(note for same, note in found if same)


@pytest.mark.parametrize("how", ["reset", "one step", "edit", "end"])
def test_a_trial_of_the_last_row_of_a_stretch_says_it_too(tmp_path: Path, how: str) -> None:
    """No row behind it shows that; the same where the trial has edits, or goes on."""
    run, path = recorded(tmp_path, how, saves=True)
    last = 5 if how == "one step" else 9
    lower = WhatIf(kind=EditKind.OPTION, name="density", values=(0.1,))

    def doubts(scene: physics.Scene) -> list[str]:
        machine = scene.backend.time_machine()
        for steps, edits in ((0, ()), (20, ()), (1, (lower,))):
            for _ in machine.resimulate(last, steps=steps, edits=edits, name=""):
                pass
        return [each.reproducible for each in machine.rollouts()]

    assert all("leads elsewhere by now" in each for each in doubts(run.scene))
    with physics.load_trajectory(path) as trajectory:
        assert all("leads elsewhere by now" in each for each in doubts(trajectory.scene))


def test_a_file_that_does_not_say_where_a_step_led_has_what_the_step_before_says(
    tmp_path: Path,
) -> None:
    """As those of earlier versions, and those whose event is damaged."""
    run, path = recorded(tmp_path, "reset", saves=False)
    with physics.load_trajectory(path) as trajectory:
        told = [event for event in trajectory.events if event.data.get("left")]
    assert told
    for left in ("", "no digest", "ab" * 1000, 7):
        data = {**told[0].data, "left": left}
        events = [type(told[0])(kind="begin", axis=0, data=data)]
        assert stretches_of(events, first_axis=0, first_step=0, first_time=0.0)[0].left == b""
    with physics.load_trajectory(path) as trajectory:
        replayed = Run(trajectory.scene)
        replayed.seen = run.seen
        segments = trajectory.scene.history.segments
        last = [each for each in segments.newest_first() if each.left]
        assert [each.segment.begin for each in last] == [10]
        object.__setattr__(last[0], "left", b"")
        same, note = replayed.look(9)
        assert not same
        assert "leads elsewhere by now" in note
