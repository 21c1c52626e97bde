"""What a scene remembers, as the window keeps it."""

import pytest

from stroboscope.app.models.axis_view import AxisView
from stroboscope.app.models.frames import FrameHistory, SceneFrame
from stroboscope.app.models.marks import MarkKind
from stroboscope.app.models.session_time import SessionTime
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.note_messages import Note, NoteKind, SceneNotes
from stroboscope.debugger_protocol.time_messages import (
    SceneHistory,
    Segment,
    SegmentKind,
)
from stroboscope.debugger_protocol.topics import Instant, Topic


def told(segments, *, older=0, **more):
    fields = dict(scene_id=1, keeps=True, rows=10, segments=tuple(segments), older_segments=older)
    return SceneHistory(**{**fields, **more})


def episode(number, begin, kind=SegmentKind.EPISODE, **more):
    return Segment(segment_id=number, kind=kind, begin=begin, episode=number, **more)


@pytest.fixture
def history(scene):
    return scene.history


def test_segments_that_are_told_no_more_are_kept_while_they_are_there(history):
    all_of_them = [episode(n, 10 * n) for n in range(1, 400)]
    for newest in range(128, 400, 50):
        history.receive(told(all_of_them[newest - 128 : newest], older=newest - 128))
        assert history.segments == all_of_them[:newest]
    # The oldest were forgotten with their rows: only five older ones are left.
    history.receive(told(all_of_them[250:378], older=5))
    assert history.segments == all_of_them[245:378]
    history.receive(told(all_of_them[370:378]))
    assert history.segments == all_of_them[370:378]


def test_a_row_has_episode_step_and_time_of_its_segment(history):
    history.receive(
        told(
            [
                episode(1, 0),
                episode(2, 100, time=5.0, physics_step=7),
                episode(3, 150, SegmentKind.EDIT, time=5.5, physics_step=57),
            ]
        )
    )
    place = history.place(110)
    assert (place.episode, place.step) == (2, 17)
    assert place.time == pytest.approx(5.1)  # 50 steps took 0.5 s
    history.receive(told(history.segments, view=110, view_time=5.125))
    assert history.place(110).time == 5.125  # what the application says counts


@pytest.mark.parametrize("count", [3, 200])
def test_texts_are_events_while_there_are_not_too_many_of_them(history, scene, make_status, count):
    scene.set_status(make_status(axis=300))
    history.receive(told([episode(1, 0), episode(2, 250)]))
    notes = [Note(kind=NoteKind.TEXT, axis=at, text=f"phase {at}") for at in range(10, 10 + count)]
    history.receive(SceneNotes(scene_id=1, notes=tuple(notes)))
    history.want(5)
    assert history.next_event(1) == (10 if count == 3 else 250)


@pytest.mark.parametrize(
    ("rows", "view", "text"),
    [
        (3000, 120, "frame 120 of 0…3 000"),
        (3000, None, "frame 3 000 of 0…3 000"),
        (300, 120, "step 1 120 of 1 000…4 000"),
        (300, None, "step 4 000 of 1 000…4 000"),
    ],
)
def test_a_frame_of_a_file_is_told_between_the_first_and_the_last_one(history, rows, view, text):
    fields = dict(recording="run.mcap", first=1000, recording_end=4000, rows=rows)
    axis = None if view is None else 1000 + view
    history.receive(told([episode(1, 1000)], view=axis, **fields))
    assert history.frame_text.replace("\u202f…\u202f", "…").replace("\u202f", " ") == text


def test_a_frame_of_a_file_is_told_as_one_also_when_the_file_was_continued(
    history, scene, make_status
):
    scene.session.receive(make_status(axis=4050))
    begin = [episode(1, 1000), episode(2, 4000, SegmentKind.BRANCH, parent_axis=3999)]
    fields = dict(recording="run.mcap", first=1000, recording_end=4000, rows=3050)
    history.receive(told(begin, view=1120, **fields))
    assert history.frame_text.startswith("frame 120 of 0")


def test_events_are_found_in_both_directions_and_modes_are_none(history, scene, make_status):
    history.receive(
        told([episode(1, 0), episode(2, 40), episode(3, 90, SegmentKind.BRANCH, parent_axis=60)])
    )
    history.note_mode(PlaybackMode.PAUSED, 0)
    history.note_mode(PlaybackMode.PLAYING, 20)
    assert [mark.kind for mark in history.marks] == [MarkKind.PLAY, MarkKind.BRANCH]
    history.want(50)
    scene.set_status(make_status(axis=120))
    assert {mark.kind for mark in history.marks} == {MarkKind.PLAY, MarkKind.BRANCH}
    assert history.next_event(1) == 90
    assert history.next_event(-1) == 40
    history.want(90)
    assert history.next_event(1) is None


def test_frames_of_an_earlier_look_are_not_shown_in_the_next(scene):
    def frame(axis):
        return SceneFrame(
            topic=Topic.POSE,
            instant=Instant.PAST,
            revision=0,
            axis=axis,
            step=axis,
            time=0.0,
            arrays={},
        )

    frames = FrameHistory(Instant.PAST)
    frames.add(frame(4))
    frames.add(frame(9))
    frames.keep_only(4)
    assert frames.latest(Topic.POSE).axis == 4
    frames.keep_only(5)
    assert frames.latest(Topic.POSE) is None


def test_the_range_shows_everything_then_what_was_chosen_and_follows():
    view = AxisView()
    view.track(0, 1000)
    start, end = view.range
    assert start <= 0 < 1000 <= end
    view.zoom(0.1, 1000.0)
    view.track(0, 2000)
    start, end = view.range
    assert start > 1800
    assert start < 2000 <= end
    view.pan(-500.0)
    before = view.range
    view.track(0, 9000)
    assert view.range == before
    view.fit()
    view.track(0, 9000)
    assert view.range[1] >= 9000


def test_steps_and_session_time_lead_back_to_each_other():
    clock = SessionTime(timestep=0.002)
    clock.observe(0, 0.0)
    clock.observe(500, 1.0)
    clock.mark_restore(axis=500, time=0.25, reason="reset")
    clock.observe(900, 1.05)
    for axis in (0.0, 123.4, 499.0, 500.0, 650.0, 899.0, 2000.0, -30.0):
        assert clock.axis_at(clock.session_at(axis)) == pytest.approx(axis, abs=1e-6)
    assert clock.session_at(250) == pytest.approx(0.5)
    assert clock.session_at(600) == pytest.approx(1.2)


def test_places_are_told_by_the_step_of_the_episode_and_by_the_axis(history):
    history.receive(
        told(
            [
                episode(1, 0),
                episode(2, 100, physics_step=0),
                episode(2, 340, SegmentKind.BRANCH, physics_step=120, parent_axis=220),
            ]
        )
    )
    assert history.step_text(50) == "step 50"
    assert history.step_text(130) == "step 30 (axis 130)"
    assert history.step_text(345) == "step 125 (axis 345)"
    assert history.branch_text == "step 120 (axis 220)"
    history.receive(told([episode(1, 0)]))
    assert history.branch_text == ""
