"""Stops, conditions, rollouts, ghosts, environments as models: what is sent and believed."""

from stroboscope.app.models.conditions import SavedCondition, threshold_expression
from stroboscope.app.models.ghosts import MAX_GHOSTS, ghost_note
from stroboscope.app.models.rollouts import rollout_ref
from stroboscope.app.models.stops import reason_of, stop_headline, stop_place, stop_sentence
from stroboscope.app.models.tables.stops import stops_table
from stroboscope.debugger_protocol.messages import (
    ControlChanged,
    Done,
    Failed,
    FailureKind,
    PlaybackMode,
)
from stroboscope.debugger_protocol.time_messages import (
    BreakWhen,
    ConditionInfo,
    EditCondition,
    Environments,
    GhostSource,
    Resimulate,
    RolloutInfo,
    SceneConditions,
    SceneGhosts,
    SceneHistory,
    SceneRollouts,
    SceneStops,
    Segment,
    SegmentKind,
    SelectEnvironments,
    SetStopRules,
    ShowGhosts,
    StopInfo,
    StopReason,
)


def _stop(**changes):
    about = dict(
        stop_id=1,
        reason=StopReason.EXPLODING,
        axis=141,
        episode=3,
        step=141,
        physics_step=141,
        time=0.282,
        message="qvel[1] of joint 'wrist' went to 1e6",
    )
    return StopInfo(**{**about, **changes})


def test_a_scene_stands_at_a_stop_only_while_that_is_what_holds_it(session, scene, make_status):
    session.receive(SceneStops(scene_id=7, stops=(_stop(),), count=1))
    assert scene.stops.standing is None
    held = make_status(mode=PlaybackMode.PAUSED, held=True, hold_reason=_stop().message)
    session.receive(held)
    assert scene.stops.standing == _stop()
    session.receive(make_status(mode=PlaybackMode.PAUSED, held=True, hold_reason="reward fell"))
    assert scene.stops.standing is None


def test_a_stop_is_told_while_its_episode_is_looked_at_and_not_over_another_one(
    session, scene, make_status
):
    segments = tuple(
        Segment(segment_id=n, kind=SegmentKind.EPISODE, begin=50 * n - 50, episode=n)
        for n in (1, 2, 3)
    )
    session.receive(SceneStops(scene_id=7, stops=(_stop(),), count=1))
    held = make_status(mode=PlaybackMode.PAUSED, held=True, hold_reason=_stop().message, axis=141)
    session.receive(held)

    def in_view(view):
        told = SceneHistory(scene_id=7, keeps=True, rows=141, segments=segments, view=view)
        scene.history.receive(told)
        return scene.stops.in_view

    assert in_view(None) == in_view(120) == _stop()
    assert in_view(60) is None


def test_a_scene_that_its_engine_resets_again_and_again_is_marked_until_it_no_longer_does(
    session, scene, make_status
):
    session.receive(SceneStops(scene_id=7, stops=(), count=0))
    assert scene.stops.resetting == ""
    for axis in range(0, 60, 2):
        session.receive(make_status(axis=axis))
        session.receive(SceneStops(scene_id=7, stops=(), resets=1 + axis // 2))
        assert scene.stops.resetting.endswith(f": {1 + axis // 2} time{'s' * (axis > 0)} so far")
    for _ in range(30):
        session.receive(make_status(axis=58))  # it stands: nothing says that it has ended
    assert scene.stops.resetting
    for axis in range(60, 80):
        session.receive(make_status(axis=axis))
    assert scene.stops.resetting == ""


def test_a_stop_is_said_with_its_rule_once_and_with_its_place():
    assert stop_headline(_stop()) == "Exploding: qvel[1] of joint 'wrist' went to 1e6"
    said = _stop(reason=StopReason.AUTORESET, message="automatic reset: time went back")
    assert stop_headline(said) == "Automatic reset: time went back"
    assert stop_sentence(said) == "Time went back"
    assert stop_place(_stop()) == "episode 3 · step 141 · t 0.282\u202fs"
    assert "physics step 705" in stop_place(_stop(physics_step=705))


def test_the_end_of_a_process_by_a_signal_is_no_error_of_the_script():
    stop = _stop(
        reason=StopReason.SCRIPT_ERROR,
        signal="SIGTERM",
        message="the process was ended by SIGTERM",
    )
    assert (reason_of(stop).title, reason_of(stop).is_grave) == ("Process ended", False)
    assert stop_headline(stop) == "The process was ended by SIGTERM"
    assert stops_table((stop,)).text("reason", 0) == "Process ended"


def test_two_quick_switches_build_on_each_other(session, scene, sent):
    scene.stops.switch(StopReason.WARNING, on=False)
    scene.stops.switch(StopReason.EXPLODING, on=False)
    first, second = sent.of(SetStopRules)
    assert first.off == (StopReason.WARNING,)
    assert set(second.off) == {StopReason.WARNING, StopReason.EXPLODING}
    session.receive(Done(id=first.id))
    assert scene.stops.rules.off == second.off
    session.receive(SceneStops(scene_id=7, stops=(), off=second.off))
    session.receive(Done(id=second.id))
    assert scene.stops.rules is scene.stops.told


def test_only_conditions_made_here_are_remembered_and_switched_off_ones_stay_so(
    session, scene, sent
):
    of_script = ConditionInfo(condition_id=1, expression="qpos > 9")
    session.receive(SceneConditions(scene_id=7, conditions=(of_script,)))
    scene.conditions.add(SavedCondition(expression="qpos > 1", enabled=False))
    (made,) = sent.of(BreakWhen)
    session.receive(Done(id=made.id, value=2))
    (edited,) = sent.of(EditCondition)
    assert (edited.condition_id, edited.enabled) == (2, False)
    mine = ConditionInfo(condition_id=2, expression="qpos > 1", enabled=False)
    session.receive(SceneConditions(scene_id=7, conditions=(of_script, mine)))
    assert scene.conditions.mine == (SavedCondition(expression="qpos > 1", enabled=False),)
    scene.conditions.restore([SavedCondition(expression="qpos > 9")])
    assert len(sent.of(BreakWhen)) == 1, "the script has made that one itself"


def test_whoever_adds_a_condition_is_told_why_it_is_refused(session, scene, sent):
    problems = []
    scene.conditions.add(SavedCondition(expression="nonsense"), otherwise=problems.append)
    (made,) = sent.of(BreakWhen)
    session.receive(Failed(id=made.id, kind=FailureKind.REFUSED, reason="no such signal"))
    assert problems == ["no such signal"]


def test_an_offer_is_simulated_from_half_a_second_before_and_becomes_a_ghost(session, scene, sent):
    from stroboscope.debugger_protocol.time_messages import (
        EditKind,
        SceneHistory,
        Segment,
        SegmentKind,
        WhatIf,
    )

    segment = Segment(segment_id=1, kind=SegmentKind.BEGIN, begin=100, episode=1)
    session.receive(SceneHistory(scene_id=7, keeps=True, first=0, rows=141, segments=(segment,)))
    edit = WhatIf(kind=EditKind.OPTION, name="timestep", values=(0.001,))
    stop = _stop(what_if=(("half the timestep", (edit,)),))
    assert scene.trials.span(stop) == (121, 40)
    assert scene.trials.start(stop, "half the timestep") == ""
    (asked,) = sent.of(Resimulate)
    assert (asked.axis, asked.steps, asked.edits) == (121, 40, (edit,))
    assert asked.name == "half the timestep"
    assert scene.rollouts.running == "half the timestep"
    session.receive(Done(id=asked.id, value=5))
    assert scene.trials.find(1, "half the timestep").rollout_id == 5
    (shown,) = sent.of(ShowGhosts)
    assert shown.ghosts == (rollout_ref(7, 5),)
    assert scene.rollouts.running == ""
    assert "offers nothing" in scene.trials.start(stop, "magic")


def test_ghosts_that_are_refused_leave_those_of_before(session, scene, sent):
    scene.ghosts.add(rollout_ref(7, 1), "one")
    (first,) = sent.of(ShowGhosts)
    session.receive(Done(id=first.id))
    scene.ghosts.add(rollout_ref(7, 2), "two")
    second = sent.of(ShowGhosts)[1]
    assert len(second.ghosts) == 2
    reason = "there is no rollout 2"
    session.receive(Failed(id=second.id, kind=FailureKind.REFUSED, reason=reason))
    assert [entry.label for entry in scene.ghosts.entries] == ["one"]


def test_a_ghost_of_a_rollout_that_was_over_by_then_says_of_when_it_is_how_it_ended_and_whose(
    session, scene, make_status
):
    ended = ("became NaN or Inf", "ended", "an explosion")
    about = dict(name="candidate", steps=100, timestep=0.002, time=0.3, group="plan 2")
    infos = tuple(
        RolloutInfo(rollout_id=number, outcome=outcome, **about)
        for number, outcome in enumerate(ended, start=1)
    )
    session.receive(SceneRollouts(scene_id=7, rollouts=infos))
    session.receive(SceneGhosts(scene_id=7, ghosts=tuple(rollout_ref(7, n) for n in (1, 2, 3))))
    assert [entry.label for entry in scene.ghosts.entries] == ["plan 2 · candidate"] * 3

    def notes(time):
        session.receive(make_status(time=time))
        said = [ghost_note(scene, entry.ref) for entry in scene.ghosts.entries]
        return [note.replace("\u202f", " ") for note in said]

    assert notes(0.05) == ["from 0.100 s on"] * 3
    assert notes(0.2) == notes(0.3) == [""] * 3
    assert notes(0.31) == ["at 0.300 s, ended: NaN", "at 0.300 s", "at 0.300 s, stopped"]


def test_ghosts_that_somebody_else_has_chosen_are_listed_and_drawn(session, scene, sent):
    theirs, mine = rollout_ref(7, 4), rollout_ref(7, 1)
    rollout = RolloutInfo(rollout_id=4, name="pushed", steps=9, timestep=0.002, time=0.02)
    session.receive(SceneRollouts(scene_id=7, rollouts=(rollout,)))
    session.receive(SceneGhosts(scene_id=7, ghosts=(theirs,)))
    assert [entry.label for entry in scene.ghosts.drawn] == ["pushed"]
    assert scene.ghosts.entries == scene.ghosts.drawn
    scene.ghosts.add(mine, "mine")
    (asked,) = sent.of(ShowGhosts)
    assert asked.ghosts == (theirs, mine)
    # What is told meanwhile is drawn by its numbers, and what was asked for stays in the list.
    session.receive(SceneGhosts(scene_id=7))
    assert scene.ghosts.drawn == ()
    assert [entry.ref for entry in scene.ghosts.entries] == [theirs, mine]
    session.receive(SceneGhosts(scene_id=7, ghosts=(theirs, mine)))
    session.receive(Done(id=asked.id))
    assert scene.ghosts.entries == scene.ghosts.drawn
    assert len({entry.colour for entry in scene.ghosts.entries}) == 2
    # One that is hidden here is forgotten by nobody, and shown when somebody asks for it.
    scene.ghosts.switch(mine, on=False)
    session.receive(SceneGhosts(scene_id=7, ghosts=(theirs,)))
    session.receive(Done(id=sent.of(ShowGhosts)[-1].id))
    assert [(e.ref, e.on) for e in scene.ghosts.entries] == [(theirs, True), (mine, False)]
    session.receive(SceneGhosts(scene_id=7, ghosts=(mine,)))
    assert [(e.ref, e.on) for e in scene.ghosts.entries] == [(mine, True)]
    assert len(sent.of(ShowGhosts)) == 2, "listening must ask for nothing"


def test_who_only_watches_leaves_ghosts_of_what_is_gone_to_whoever_controls(session, scene, sent):
    session.receive(SceneGhosts(scene_id=7, ghosts=(rollout_ref(7, 4),)))
    session.receive(ControlChanged(controller=99, reason="it asked"))
    scene.ghosts.keep(GhostSource.ROLLOUT, set(), 7)
    assert not sent.of(ShowGhosts)
    session.receive(ControlChanged(controller=session.client_id, reason="it asked"))
    scene.ghosts.keep(GhostSource.ROLLOUT, set(), 7)
    (asked,) = sent.of(ShowGhosts)
    assert asked.ghosts == ()


def test_there_are_at_most_sixteen_ghosts_and_each_has_a_colour_of_its_own(scene):
    for number in range(MAX_GHOSTS):
        assert scene.ghosts.add(rollout_ref(7, number), str(number)) == ""
    assert "remove one first" in scene.ghosts.add(rollout_ref(7, 99), "one too many")
    assert len({entry.colour for entry in scene.ghosts.entries}) == MAX_GHOSTS
    scene.ghosts.remove(rollout_ref(7, 3))
    scene.ghosts.add(rollout_ref(7, 99), "in its place")
    assert scene.ghosts.entries[-1].colour == 3


def test_arrows_go_around_the_end_and_quick_ones_build_on_each_other(session, scene, sent):
    session.receive(Environments(scene_id=7, count=10, failed=(2, 7), failed_count=2))
    scene.environments.move(-1)
    scene.environments.move(-1)
    assert [each.selected for each in sent.of(SelectEnvironments)] == [9, 8]
    scene.environments.select_failed(1)
    assert sent.of(SelectEnvironments)[-1].selected == 2


def test_a_grid_comes_along_with_a_stop_that_has_selected_another_meanwhile(session, scene, sent):
    environments = scene.environments
    session.receive(Environments(scene_id=7, count=10, selected=0, shown=(0,)))
    environments.show_grid(4)
    (asked,) = sent.of(SelectEnvironments)
    # The command was done, and then a stop has selected 8; the answer comes after this news.
    session.receive(Environments(scene_id=7, count=10, selected=8, shown=(8,)))
    session.receive(Done(id=asked.id))
    again = sent.of(SelectEnvironments)[-1]
    assert (again.selected, again.shown) == (8, (6, 7, 8, 9))
    session.receive(Environments(scene_id=7, count=10, selected=8, shown=again.shown))
    session.receive(Done(id=again.id))
    assert len(sent.of(SelectEnvironments)) == 2


def test_what_was_refused_is_not_asked_for_again(session, scene, sent):
    session.receive(Environments(scene_id=7, count=10, selected=0, shown=(0,)))
    scene.environments.show_grid(4)
    (asked,) = sent.of(SelectEnvironments)
    session.receive(Environments(scene_id=7, count=10, selected=8, shown=(8,)))
    session.receive(Failed(id=asked.id, kind=FailureKind.REFUSED, reason="no"))
    assert len(sent.of(SelectEnvironments)) == 1


def test_a_threshold_is_written_as_short_as_can_be_read():
    assert threshold_expression("qpos['knee']", 0.123456, above=True) == "qpos['knee'] > 0.1235"
