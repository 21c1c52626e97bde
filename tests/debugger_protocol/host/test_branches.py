"""Branches, re-simulation, rollouts, ghosts, comparing, and reading rows."""

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from remembering import GuardedStepper, advanced

from stroboscope.debugger_protocol import time_messages as tm
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError, ConnectionLost
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.topics import Instant, Topic

Connect = Callable[..., DebuggerClient]
Remember = Callable[..., GuardedStepper]


def ghost(source: tm.GhostSource, number: int, scene_id: int) -> tm.GhostRef:
    return tm.GhostRef(source=source, number=number, scene_id=scene_id)


def test_continuing_from_a_row_begins_a_branch_and_keeps_the_other_future(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 20)
    client.goto(stepper.id, axis=7)
    row = stepper.memory.rows[7]
    branch = client.continue_from_here(stepper.id)
    backend = stepper.scene.backend
    assert (backend.q, backend.v, backend.time) == (row.q, row.v, row.time)
    assert (backend.axis, backend.step_count, backend.total_steps) == (20, 7, 20)
    assert branch.parent_axis == 7
    assert branch.begin == 20
    assert client.branches(stepper.id) == (branch,)
    history = client.history(stepper.id)
    assert history is not None
    assert history.view is None
    assert "restore" in backend.events
    client.step(stepper.id)
    assert stepper.memory.rows[20].q == row.q
    assert 19 in stepper.memory.rows
    client.revert_edit(stepper.id, client.edits(stepper.id)[-1].edit_id)
    assert backend.step_count == 20


def test_continuing_needs_a_row_in_view(connect: Connect, remember: Remember) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 5)
    with pytest.raises(CommandError, match="the view is live: look at a row of the past first"):
        client.continue_from_here(stepper.id)


def test_continuing_in_the_middle_of_a_step_abandons_the_rest_of_it(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember(nstep=3)
    client.physics_step(stepper.id, 7)
    client.goto(stepper.id, axis=3)
    client.continue_from_here(stepper.id)
    client.step(stepper.id)
    backend = stepper.scene.backend
    assert (backend.axis, backend.physics_step_count, backend.step_count) == (10, 6, 2)


def test_continuing_without_the_script_simulates_the_recorded_inputs_again(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 30)
    backend = stepper.scene.backend
    before = (backend.q, backend.v, backend.time, backend.step_count)
    client.goto(stepper.id, axis=10)
    branch = client.continue_from_here(stepper.id, with_script=False)
    assert branch.parent_axis == 10
    assert (backend.q, backend.v, backend.time, backend.step_count) == before
    assert client.scenes()[0].step_count == 30


def test_what_is_re_simulated_beside_the_scene_becomes_a_rollout(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 30)
    standing = stepper.scene.backend.row()
    push = tm.WhatIf(kind=tm.EditKind.CONTROL, values=(3.0,))
    rollout = client.resimulate(stepper.id, axis=10, edits=[push], name="pushed")
    assert stepper.scene.backend.row() == standing
    (info,) = client.rollouts(stepper.id)
    assert (info.rollout_id, info.name, info.steps, info.from_axis) == (rollout, "pushed", 20, 10)
    row = stepper.memory.rows[10]
    for _ in range(20):
        row = advanced(row, ctrl=3.0)
    assert stepper.memory.runs[rollout].rows[-1].q == row.q
    client.drop_rollout(stepper.id, rollout)
    assert client.rollouts(stepper.id) == ()
    with pytest.raises(CommandError, match="there is no rollout"):
        client.drop_rollout(stepper.id, rollout)


class SlowRun:
    """Lets each step of a re-simulation of a stepper take a millisecond, and 3000 of them run."""

    def __init__(self, client: DebuggerClient, stepper: GuardedStepper) -> None:
        self.client, self.stepper = client, stepper
        self.begun = threading.Event()
        self.error: Exception | None = None
        stepper.memory.on_slice = self._slow
        client.step(stepper.id, 10)
        self.thread = threading.Thread(target=self._resimulate)
        self.thread.start()
        assert self.begun.wait(60)

    def _slow(self) -> None:
        self.begun.set()
        time.sleep(0.001)  # the work itself, not a wait for something

    def _resimulate(self) -> None:
        try:
            self.client.resimulate(self.stepper.id, axis=2, steps=3000, name="slow")
        except (CommandError, ConnectionLost) as error:
            self.error = error

    def reason(self) -> str:
        self.thread.join(60)
        assert not self.thread.is_alive()
        return str(self.error)


def test_an_owner_that_re_simulates_answers_tells_how_far_it_is_and_can_be_ended(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    run = SlowRun(client, stepper)
    assert client.wait_until(
        lambda c: (h := c.history(stepper.id)) is not None and h.progress > 0.01, 60
    )
    history = client.history(stepper.id)
    assert history is not None
    assert history.busy == "slow"
    client.goto(stepper.id, axis=5)
    client.checkpoint(stepper.id, "meanwhile")
    history = client.history(stepper.id)
    assert history is not None
    assert history.busy == "slow"
    client.go_live(stepper.id)
    assert "re-simulation was ended: the view went live" in run.reason()
    assert client.rollouts(stepper.id) == ()
    history = client.history(stepper.id)
    assert history is not None
    assert (history.busy, history.view) == ("", None)


def test_play_ends_a_re_simulation_and_the_scene_goes_on(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    run = SlowRun(client, stepper)
    client.play()
    assert "was ended: the scene was released to playing" in run.reason()
    assert client.wait_until(lambda c: c.scenes()[0].axis > 10, 60)


def test_a_re_simulation_ends_with_the_client_that_asked_for_it(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    watcher = connect(observe=True)
    run = SlowRun(client, stepper)
    client.close()
    assert "no answer came" in run.reason()
    assert watcher.wait_until(lambda c: (h := c.history(stepper.id)) is not None and not h.busy, 60)
    assert watcher.wait_until(lambda c: c.scenes()[0].axis > 10, 60)
    assert not stepper.scene.link.past.works


def test_a_replay_that_is_ended_leaves_the_scene_where_it_was(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 500)
    standing = stepper.scene.backend.row()
    begun = threading.Event()

    def slow() -> None:
        begun.set()
        time.sleep(0.005)  # the work itself

    stepper.memory.on_slice = slow
    client.goto(stepper.id, axis=3)
    errors: list[str] = []

    def replay() -> None:
        try:
            client.continue_from_here(stepper.id, with_script=False)
        except CommandError as error:
            errors.append(str(error))

    thread = threading.Thread(target=replay)
    thread.start()
    assert begun.wait(60)
    with pytest.raises(CommandError, match="wait for its end, or go live to end it"):
        client.goto(stepper.id, axis=5)
    client.go_live(stepper.id)
    thread.join(60)
    assert "was ended" in errors[0]
    assert stepper.scene.backend.row() == standing


# --- ghosts, comparing, reading


def test_ghosts_are_shown_at_the_time_in_view(connect: Connect, remember: Remember) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 10)
    kept = client.checkpoint(stepper.id, "ten")
    client.step(stepper.id, 20)
    rollout = client.resimulate(
        stepper.id, axis=5, edits=[tm.WhatIf(kind=tm.EditKind.CONTROL, values=(3.0,))]
    )
    client.subscribe(stepper.id, [Topic.GHOSTS])
    client.show_ghosts(
        stepper.id,
        [
            ghost(tm.GhostSource.CHECKPOINT, kept, stepper.id),
            ghost(tm.GhostSource.ROLLOUT, rollout, stepper.id),
            ghost(tm.GhostSource.ROW, 3, stepper.id),
        ],
    )
    client.goto(stepper.id, axis=15)
    rows, run = stepper.memory.rows, stepper.memory.runs[rollout].rows
    while True:
        frame = client.next_frame(timeout=60)
        assert frame is not None
        if frame.instant is Instant.PAST and frame.axis == 15:
            break
    np.testing.assert_array_equal(frame.arrays["xpos"][:, 1, 2], [rows[10].q, run[10].q, rows[3].q])
    assert frame.arrays["number"].tolist() == [0, 1, 2]
    client.drop_rollout(stepper.id, rollout)
    client.goto(stepper.id, axis=16)
    while frame.axis != 16:
        frame = client.next_frame(timeout=60)
        assert frame is not None
    assert frame.arrays["number"].tolist() == [0, 2]
    assert frame.notes == (f"ghost 1: there is no rollout {rollout}",)


def test_ghosts_that_are_not_there_are_refused_and_the_old_ones_stay(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 5)
    good = ghost(tm.GhostSource.ROW, 3, stepper.id)
    client.show_ghosts(stepper.id, [good])
    for wrong, why in (
        (ghost(tm.GhostSource.ROW, 77, stepper.id), "row 77 is not remembered"),
        (ghost(tm.GhostSource.CHECKPOINT, 9, stepper.id), "there is no checkpoint 9"),
        (ghost(tm.GhostSource.ROW, 1, 99), "there is no scene 99"),
    ):
        with pytest.raises(CommandError, match=why):
            client.show_ghosts(stepper.id, [good, wrong])
    with pytest.raises(CommandError, match="at most 16 ghosts"):
        client.show_ghosts(stepper.id, [good] * 17)
    assert stepper.scene.link.past.ghosts.told.ghosts == (good,)


def test_every_client_is_told_which_ghosts_are_shown_whoever_has_asked(
    connect: Connect, remember: Remember
) -> None:
    client, watcher, stepper = connect(), connect(observe=True), remember()
    client.step(stepper.id, 5)
    shown = (ghost(tm.GhostSource.ROW, 3, stepper.id), ghost(tm.GhostSource.ROW, 1, stepper.id))
    client.show_ghosts(stepper.id, shown)
    assert client.ghosts(stepper.id) == shown, "told before the answer"
    assert watcher.wait_until(lambda c: c.ghosts(stepper.id) == shown, 60)
    late = connect(observe=True)
    assert late.wait_until(lambda c: c.ghosts(stepper.id) == shown, 60)
    client.show_ghosts(stepper.id, ())
    assert client.ghosts(stepper.id) == ()
    assert watcher.wait_until(lambda c: not c.ghosts(stepper.id), 60)


def test_rows_of_another_scene_of_the_thread_are_ghosts_and_of_other_threads_checkpoints(
    connect: Connect, remember: Remember
) -> None:
    client, both, other = connect(), remember("A", "B"), remember("C")
    a, b = (scene.link.scene_id for scene in both.scenes)
    client.fast_forward()
    assert client.wait_until(lambda c: all(s.axis > 20 for s in c.scenes()), 60)
    client.pause()
    client.show_ghosts(a, [ghost(tm.GhostSource.ROW, 3, b)])
    with pytest.raises(CommandError, match="it belongs to the thread"):
        client.show_ghosts(a, [ghost(tm.GhostSource.ROW, 3, other.id)])
    kept = client.checkpoint(other.id, "here")
    client.show_ghosts(a, [ghost(tm.GhostSource.CHECKPOINT, kept, other.id)])


def test_two_states_are_compared_for_the_client_that_asked(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 20)
    first, second = (ghost(tm.GhostSource.ROW, axis, stepper.id) for axis in (3, 9))
    compared = client.compare(stepper.id, first, second)
    assert compared.scene_id == stepper.id
    assert [each.name for each in compared.differences] == ["qvel", "qpos"]
    assert compared.differences[0].first == stepper.memory.rows[3].v
    assert client.compare(stepper.id, first, first).differences == ()


def test_rows_are_read_in_pieces_also_while_the_scene_runs(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 400)
    rows = client.read_rows(stepper.id, ["qpos", "qvel"], first=10, last=309)
    assert rows["axis"].tolist() == list(range(10, 310))
    expected = [stepper.memory.rows[axis] for axis in range(10, 310)]
    assert rows["time"].tolist() == [row.time for row in expected]
    assert rows["qpos"][:, 0].tolist() == [row.q for row in expected]
    assert rows["qvel"][:, 0].tolist() == [row.v for row in expected]
    assert len(client.read_rows(stepper.id, ["qpos"], max_rows=40)["axis"]) == 40
    client.fast_forward()
    assert len(client.read_rows(stepper.id, ["qpos"], last=399)["axis"]) == 400
    with pytest.raises(CommandError, match="'qacc' does not follow from rows"):
        client.read_rows(stepper.id, ["qacc"])
    with pytest.raises(CommandError, match="there is no rollout 7"):
        client.read_rows(stepper.id, ["qpos"], rollout_id=7)


def test_who_only_watches_may_read_and_compare_the_past_and_not_travel(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 20)
    watcher = connect(observe=True)
    assert len(watcher.read_rows(stepper.id, ["qpos"])["axis"]) == 20
    first, second = (ghost(tm.GhostSource.ROW, axis, stepper.id) for axis in (3, 9))
    assert watcher.compare(stepper.id, first, second).differences
    with pytest.raises(CommandError, match="controls this session and you observe it"):
        watcher.goto(stepper.id, axis=3)


# --- checkpoints


def test_a_checkpoint_tells_its_id_size_and_note_and_is_restored_into_another_scene(
    connect: Connect, remember: Remember
) -> None:
    client, a, b = connect(), remember("A"), remember("B")
    client.step(a.id, 12)
    kept = client.checkpoint(a.id, "twelve", note="just before it fell")
    (info,) = client.checkpoints(a.id)
    assert (info.checkpoint_id, info.note, info.nbytes) == (kept, "just before it fell", 48)
    client.restore(b.id, kept, source_scene_id=a.id)
    assert (b.scene.backend.q, b.scene.backend.time) == (a.scene.backend.q, a.scene.backend.time)
    assert client.edits(b.id)[-1].text == "checkpoint 'twelve' of 'A' was restored"
    with pytest.raises(CommandError, match="there is no scene 77"):
        client.restore(b.id, kept, source_scene_id=77)


def test_a_checkpoint_taken_while_looking_back_is_of_what_is_looked_at(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 20)
    client.goto(stepper.id, axis=6)
    kept = client.checkpoint(stepper.id, "six")
    row = stepper.memory.rows[6]
    (info,) = client.checkpoints(stepper.id)
    assert (info.axis, info.step_count, info.time) == (6, 6, row.time)
    client.restore(stepper.id, kept)
    assert (stepper.scene.backend.q, stepper.scene.backend.step_count) == (row.q, 6)


def test_a_checkpoint_of_a_running_scene_is_taken_between_two_steps(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.fast_forward()
    kept = client.checkpoint(stepper.id, "on the way")
    assert client.session_status.mode.value == "fast_forward"
    (info,) = client.checkpoints(stepper.id)
    assert client.wait_until(lambda c: c.scenes()[0].axis > info.axis, 60)
    client.pause()
    client.restore(stepper.id, kept)
    row = stepper.memory.rows[info.axis]
    assert (stepper.scene.backend.q, stepper.scene.backend.v) == (row.q, row.v)


# --- scenes that have ended


def test_a_scene_that_has_ended_stays_as_a_rollout_that_others_can_show(
    connect: Connect, remember: Remember, host: Host
) -> None:
    client, ending, other = connect(), remember("ending"), remember("other")
    client.fast_forward()
    assert client.wait_until(lambda c: all(s.axis > 20 for s in c.scenes()), 60)
    client.pause()
    ending.closes_its_scenes = True
    ending.stop_stepping.set()
    client.play()
    assert client.wait_until(lambda c: len(c.scenes()) == 1, 60)
    assert client.wait_until(lambda c: len(c.rollouts()) == 1, 60)
    (run,) = client.rollouts()
    client.show_ghosts(other.id, [ghost(tm.GhostSource.ROLLOUT, run.rollout_id, 0)])
    assert connect(observe=True).rollouts() == (run,)
    rows = client.read_rows(0, ["qpos"], rollout_id=run.rollout_id, last=5)
    assert len(rows["axis"]) == 6
    # They are read as those of a scene are.
    for scene_id, rollout_id in ((0, run.rollout_id), (other.id, 0)):
        assert len(client.read_rows(scene_id, ["qpos"], rollout_id=rollout_id, max_rows=0)["axis"])
        with pytest.raises(CommandError, match="name those to read"):
            client.read_rows(scene_id, [], rollout_id=rollout_id)
    client.drop_rollout(0, run.rollout_id)
    assert client.wait_until(lambda c: c.rollouts() == (), 60)


def test_the_last_sixty_four_scenes_that_have_ended_are_kept(host: Host) -> None:
    from remembering import Run

    for number in range(70):
        info = tm.RolloutInfo(rollout_id=0, name=f"run {number}", steps=1, timestep=0.002, time=0.0)
        host.finished.add(Run(info, [], nbytes=10))
    told = host.finished.told
    assert (len(told.rollouts), told.dropped, told.rollouts[0].name) == (64, 6, "run 6")
    host.finished.add(Run(told.rollouts[0], [], nbytes=200 << 20))
    assert len(host.finished.told.rollouts) == 1
