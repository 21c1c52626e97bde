"""What is edited in a scene is sent, told and kept; what is dragged never floods anybody."""

from stroboscope.debugger_protocol.messages import (
    CheckpointInfo,
    Done,
    EditField,
    EditOption,
    EditState,
    Failed,
    FailureKind,
    Finding,
    LogLevel,
    OverrideControl,
    Perturb,
    ReleasePerturb,
    RevertEdit,
    SceneCheckpoints,
    SceneEdited,
    SceneFindings,
    SceneInterventions,
    SceneRemoved,
)


def edited(edit_id, text, **changes):
    return SceneEdited(scene_id=7, edit_id=edit_id, text=text, axis=3, time=0.006, **changes)


def test_an_edit_that_was_dragged_further_stays_one_entry(session, scene):
    told = []
    scene.edits.changed.connect(lambda: told.append(len(scene.edits.entries)))
    session.receive(edited(1, "knee 0 → 0.1 rad"))
    session.receive(edited(2, "gravity −9.81 → 0 m/s²"))
    session.receive(edited(1, "knee 0 → 0.3 rad"))
    assert [(e.edit_id, e.text) for e in scene.edits.entries] == [
        (1, "knee 0 → 0.3 rad"),
        (2, "gravity −9.81 → 0 m/s²"),
    ]
    assert told == [1, 2, 2]


def test_the_newest_edit_that_is_not_undone_is_the_one_to_undo(session, scene, sent):
    session.receive(edited(1, "one"))
    session.receive(edited(2, "two", reverted=True))
    assert scene.edits.last.edit_id == 1
    scene.edits.revert(1)
    assert [m.edit_id for m in sent.of(RevertEdit)] == [1]
    session.receive(edited(1, "one", reverted=True))
    assert scene.edits.last is None


def test_a_drag_sends_as_often_as_it_is_answered_and_ends_with_its_newest_value(
    session, scene, sent
):
    for step in range(60):
        scene.edits.set_override(2, step / 10)
    assert [m.value for m in sent.of(OverrideControl)] == [0.0]
    session.receive(Done(id=sent.of(OverrideControl)[-1].id))
    assert [m.value for m in sent.of(OverrideControl)] == [0.0, 5.9]
    session.receive(Done(id=sent.of(OverrideControl)[-1].id))
    assert len(sent.of(OverrideControl)) == 2


def test_a_refusal_does_not_end_a_drag(session, scene, sent):
    scene.edits.set_state(EditField.QPOS, 0, [0.1])
    scene.edits.set_state(EditField.QPOS, 0, [0.2])
    session.receive(Failed(id=sent[-1].id, kind=FailureKind.REFUSED, reason="it is running"))
    assert [m.values for m in sent.of(EditState)] == [(0.1,), (0.2,)]


def test_different_targets_do_not_wait_for_each_other(scene, sent):
    scene.edits.set_option("timestep", [0.001])
    scene.edits.set_option("gravity", [0, 0, -1])
    assert [m.option for m in sent.of(EditOption)] == ["timestep", "gravity"]


def test_nothing_is_pulled_after_letting_go(session, scene, sent):
    scene.edits.pull(3, (0, 0, 0), (1, 0, 0))
    scene.edits.pull(3, (0, 0, 0), (2, 0, 0))
    scene.edits.let_go()
    session.receive(Done(id=sent.of(Perturb)[0].id))
    assert len(sent.of(Perturb)) == 1
    assert len(sent.of(ReleasePerturb)) == 1


def test_interventions_checkpoints_and_findings_are_known_from_news(session, scene):
    told = []
    scene.edits.interventions_changed.connect(lambda: told.append("interventions"))
    scene.edits.checkpoints_changed.connect(lambda: told.append("checkpoints"))
    scene.edits.findings_changed.connect(lambda: told.append("findings"))
    assert scene.edits.override(4) is None
    assert scene.edits.findings is None
    session.receive(SceneInterventions(scene_id=7, overrides=((4, 0.5),), perturbed_body=2))
    kept = CheckpointInfo(
        checkpoint_id=1, name="grasp", axis=3, step_count=3, time=0.006, wall_time=1.0
    )
    session.receive(SceneCheckpoints(scene_id=7, checkpoints=(kept,)))
    found = Finding(rule="penetration", level=LogLevel.WARNING, text="a in b", advice="move a")
    session.receive(SceneFindings(scene_id=7, findings=(found,)))
    assert scene.edits.override(4) == 0.5
    assert scene.edits.interventions.perturbed_body == 2
    assert scene.edits.checkpoints == (kept,)
    assert scene.edits.findings == (found,)
    assert told == ["interventions", "checkpoints", "findings"]


def test_a_scene_that_is_gone_listens_to_nothing_and_sends_nothing(session, scene, sent):
    scene.edits.set_override(0, 1.0)
    scene.edits.set_override(0, 2.0)
    session.receive(SceneRemoved(scene_id=7))
    session.receive(Done(id=sent[-1].id))
    assert len(sent) == 1
    assert len(session.answered) == 0
