"""Watched expressions: from frames they are what the engine computes at the same physics step."""

import numpy as np
import pytest

from stroboscope.app.models.expressions import completions, fit_problem
from stroboscope.app.models.frames import FrameSet, SceneFrame
from stroboscope.app.models.watch import LoggedRows, Watch, WatchList, all_signals, all_topics
from stroboscope.debugger_protocol.expressions import SignalTable, table_of
from stroboscope.debugger_protocol.scene_description import (
    ChannelInfo,
    ChannelKind,
    SceneDescription,
)
from stroboscope.debugger_protocol.topics import Instant, Topic

EXPRESSIONS = (
    "qpos['root']", "ctrl[0] + act[0]" , "qacc[0]", "sensordata", "xpos['head']", "xquat[4:8]",
    "xvel['head']", "xipos['head']", "site_xpos[0:3]", "geom_xpos['floor']", "norm(geom_xpos)",
    "energy.total", "energy.kinetic - energy.potential", "contact.count", "contact.force",
    "contact.depth", "constraint.count", "solver.iterations", "contact['floor'].force",
    "contact['floor'].normal + contact['floor'].depth", "contact['torso'].friction", "time * 2",
)  # fmt: skip


def frame_set(topics, arrays, *, time, axis=7):
    frames = {
        topic: SceneFrame(
            topic=topic,
            instant=Instant.EXECUTED,
            revision=0,
            axis=axis,
            step=axis,
            time=time,
            arrays=arrays[topic],
        )
        for topic in topics
        if topic in arrays
    }
    return FrameSet(instant=Instant.EXECUTED, axis=axis, step=axis, time=time, frames=frames)


@pytest.fixture
def humanoid(own_folders):
    pytest.importorskip("mujoco")
    import importlib.resources

    import stroboscope.engine as physics

    path = importlib.resources.files("stroboscope.resources") / "models/humanoid.xml"
    scene = physics.create_scene("humanoid", path)
    for _ in range(150):
        scene.step()
    yield scene
    physics.shutdown()


def test_a_value_from_frames_is_what_the_engine_computes_at_that_step(humanoid):
    backend = humanoid.link.backend
    description = backend.describe(1, "humanoid")
    table = table_of(description)
    texts = [text for text in EXPRESSIONS if "act[" not in text or humanoid.model.na]
    watches = [Watch(text, table) for text in texts]
    assert [watch.problem for watch in watches] == [""] * len(texts)
    topics = all_topics(watches)
    source = backend.signal_source([f"= {text}" for text in texts])
    row = np.empty(source.width)
    time = humanoid.data.time
    backend.begin_frame(topics)
    source.before(row)
    humanoid.step()
    source.after(row)
    frames = frame_set(topics, backend.end_frame(topics).arrays, time=time)
    for watch in watches:
        value = watch.value(frames, description, LoggedRows())
        assert value.note == "", watch.text
        expected = row[source.columns[f"= {watch.text}"]]
        np.testing.assert_allclose(
            value.values, expected, rtol=1e-9, atol=1e-12, err_msg=watch.text
        )
    assert float(row[source.columns["= contact.count"]][0]) > 0


TABLE = SignalTable(
    [
        ChannelInfo(name="qpos", width=2, names=("hip", "knee"), units=("rad", "rad")),
        ChannelInfo(name="reward", kind=ChannelKind.USER),
        ChannelInfo(name="timing.step", unit="s"),
    ],
    bodies=("world", "foot"),
    geoms=("floor", "sole"),
    geom_bodies=(0, 1),
)
NOTHING = SceneDescription(scene_id=1, name="x")


def state(qpos, axis=7):
    return frame_set([Topic.STATE], {Topic.STATE: {"qpos": np.array(qpos)}}, time=0.07, axis=axis)


def test_what_is_logged_counts_with_its_newest_value_up_to_the_instant():
    watch = Watch("reward + qpos['knee']", TABLE)
    assert watch.signals == {"reward"}
    assert watch.topics == {Topic.STATE}
    logged = LoggedRows()
    before = watch.value(state([1.0, 2.0]), NOTHING, logged)
    assert before.values == ()
    assert before.note == "reward has not been logged up to this instant"
    logged.append("reward", np.array([5, 7, 8]), np.array([[10.0], [20.0], [30.0]]))
    assert watch.value(state([1.0, 2.0]), NOTHING, logged).values == (22.0,)
    assert watch.value(state([1.0, 2.0], axis=6), NOTHING, logged).values == (12.0,)
    assert watch.value(state([1.0, 2.0], axis=99), NOTHING, logged).values == (32.0,)


def test_an_array_that_another_engine_leaves_out_is_told_not_guessed():
    frames = frame_set([Topic.STATE], {Topic.STATE: {}}, time=0.0)
    value = Watch("qpos['hip']", TABLE).value(frames, NOTHING, LoggedRows())
    assert value.values == ()
    assert value.note == "qpos is not known at this instant"
    contact = Watch("contact['foot','floor'].force", TABLE).value(frames, NOTHING, LoggedRows())
    assert "is not known at this instant" in contact.note


def test_what_has_no_value_says_why():
    value = Watch("1 / (qpos[0] - 1)", TABLE).value(state([1.0, 2.0]), NOTHING, LoggedRows())
    assert np.isnan(value.values[0])
    assert value.note == "division by zero"


def test_what_no_topic_carries_comes_as_a_signal():
    watches = [Watch("timing.step * 1000", TABLE), Watch("nonsense", TABLE)]
    assert all_signals(watches) == {"timing.step"}
    assert all_topics(watches) == frozenset()
    assert not watches[1].is_valid


def test_a_list_of_watches_changes_the_settings_own_list():
    texts = ["time"]
    watches, changes = WatchList(texts), []
    watches.changed.connect(lambda: changes.append(1))
    watches.add("= qpos[0] ")
    watches.add("time")
    assert texts == ["time", "qpos[0]"]
    assert watches.move(1, -1) == 0
    assert watches.move(0, -1) == 0
    watches.change(0, "qpos[1]")
    watches.change(1, " ")
    assert texts == ["qpos[1]"]
    assert len(changes) == 4


@pytest.mark.parametrize(
    ("text", "begin", "words"),
    [
        ("qp", 0, ["qpos"]),
        ("2 * re", 4, ["reward", "where("]),
        ("qpos['k", 6, ["knee"]),
        ("contact['f", 9, ["floor", "foot"]),
        ("contact['foot','", 16, ["floor", "sole", "world", "foot"]),
        ("contact['foot'].n", 16, ["normal", "friction", "count"]),
        ("nor", 0, ["norm("]),
        ("qpos[0]*2", 8, []),
        ("", 0, []),
    ],
)
def test_words_complete_what_is_typed(text, begin, words):
    assert completions(text, TABLE) == (begin, words)


def test_a_problem_is_cut_to_a_narrow_place_around_its_carets():
    problem = Watch("qpos['knee'] + qpos['hip'] + qpos['kne'] + 1 + 2 + 3", TABLE).problem
    for columns in (12, 20, 30, 200):
        _, text, carets = fit_problem(problem, columns).split("\n")
        text, carets = text.replace("\u00a0", " "), carets.replace("\u00a0", " ")
        assert len(text) <= max(columns, 12)
        marked = text[carets.index("^") : len(carets)]
        assert marked == "'kne'"
