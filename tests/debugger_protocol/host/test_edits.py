"""Edits of one scene are bounded, told a few times a second, logged once, and undone."""

from collections.abc import Callable, Sequence

import msgspec
import pytest
from oscillator import Oscillator, Scene

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.checkpoints import Checkpoints
from stroboscope.debugger_protocol.host.host import Host, HostListener
from stroboscope.debugger_protocol.host.scene_news import SceneNews
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import (
    EditField,
    EditState,
    LabelCheckpoint,
    LogEntry,
    LogLevel,
    PlaybackMode,
    RestoreCheckpoint,
    RevertEdit,
    SaveCheckpoint,
    SceneEdited,
)
from stroboscope.debugger_protocol.scene_description import OptionInfo, OptionKind


class Clock:
    """A clock that stands until it is put on."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Served:
    """A scene that is served on this thread, and the news of it."""

    def __init__(self, limits: Limits) -> None:
        self.clock = Clock()
        self.host = Host(limits=limits, monotonic=self.clock)
        self.host.listener = HostListener()
        self.host.attach(PlaybackMode.PAUSED)
        self.scene = Scene(self.host)
        self.link = self.scene.link
        self.news = SceneNews(self.link)
        self.serve()

    def serve(self) -> None:
        self.link.serve()

    def give(
        self, make: Callable[..., msgspec.Struct], *, client: int = 1, **fields: object
    ) -> None:
        answers: list[CommandError | None] = []
        command = make(id=0, scene_id=self.link.scene_id, **fields)
        self.host.edit(command, client=client, reply=answers.append)  # type: ignore[arg-type]
        self.serve()
        (error,) = answers
        if error is not None:
            raise error

    def edit(self, value: float, *, client: int = 1) -> None:
        self.give(EditState, client=client, field=EditField.QPOS, index=0, values=(value,))

    def told(self) -> list[str]:
        """Return what is told now: edits by number and text, log lines as they are."""
        said = []
        for message in self.news.take(self.clock.now):
            match message:
                case SceneEdited():
                    undone = " undone" if message.reverted else ""
                    said.append(f"{message.edit_id}: {message.text}{undone}")
                case LogEntry(level=LogLevel.INFO):
                    said.append(message.text)
        return said


@pytest.fixture
def served() -> Served:
    return Served(Limits(edits=5))


def test_a_drag_is_told_at_once_then_now_and_then_and_logged_when_it_rests(served: Served) -> None:
    served.edit(0.0)
    assert served.told() == ["1: qpos of qpos[0]: 1 → 0"]
    for step in range(60):
        served.clock.now += 1 / 60
        served.edit(step / 10)
        told = served.told()
        assert len(told) <= 1
    served.clock.now += 0.3
    assert served.news.is_waiting
    assert served.told() == ["1: qpos of qpos[0]: 1 → 5.9"]
    served.clock.now += 1.0
    assert served.told() == ["qpos of qpos[0]: 1 → 5.9"]
    assert not served.news.is_waiting
    assert served.told() == []


def test_an_edit_after_a_rest_or_by_another_client_is_another_one(served: Served) -> None:
    served.edit(2.0)
    served.clock.now += 1.1
    served.edit(3.0)
    served.edit(4.0, client=2)
    assert [edit.text for edit in served.link.changes.editor.edits] == [
        "qpos of qpos[0]: 1 → 2",
        "qpos of qpos[0]: 2 → 3",
        "qpos of qpos[0]: 3 → 4",
    ]


def test_an_edit_that_is_undone_at_once_is_logged_before_it_is(served: Served) -> None:
    served.edit(2.0)
    served.told()
    served.give(RevertEdit, edit_id=1)
    assert served.told() == [
        "qpos of qpos[0]: 1 → 2",
        "qpos of qpos[0]: back to 1 (undone: → 2)",
        "1: qpos of qpos[0]: 1 → 2 undone",
    ]
    assert served.scene.backend.q == 1.0
    served.clock.now += 2.0
    assert served.told() == []


def test_old_edits_are_forgotten_and_say_so(served: Served) -> None:
    for value in range(7):
        served.clock.now += 2.0
        served.edit(float(value))
    assert [edit.edit_id for edit in served.link.changes.editor.edits] == [3, 4, 5, 6, 7]
    with pytest.raises(CommandError, match="edit 2 can't be undone: it is too old"):
        served.give(RevertEdit, edit_id=2)
    served.give(RevertEdit, edit_id=3)
    assert served.scene.backend.q == 1.0


def test_states_kept_for_undoing_are_bounded_in_bytes() -> None:
    size = len(Oscillator().capture_initial())
    served = Served(Limits(edit_bytes=3 * size))
    served.give(SaveCheckpoint, name="a")
    for _ in range(5):
        served.give(RestoreCheckpoint, checkpoint_id=1)
    with pytest.raises(CommandError, match="too old"):
        served.give(RevertEdit, edit_id=2)
    served.give(RevertEdit, edit_id=3)


def test_a_checkpoint_gets_another_name_and_a_note_and_keeps_its_state() -> None:
    served = Served(Limits())
    served.give(SaveCheckpoint, name="a", note="first")
    served.edit(7.0)
    served.give(LabelCheckpoint, checkpoint_id=1, name="  before \n the grasp ")
    (info,) = served.link.changes.editor.checkpoints.told
    assert (info.name, info.note) == ("before the grasp", "first")
    served.give(LabelCheckpoint, checkpoint_id=1, note=" slips here ")
    (info,) = served.link.changes.editor.checkpoints.told
    assert (info.name, info.note) == ("before the grasp", "slips here")
    with pytest.raises(CommandError, match="needs a name that is not empty"):
        served.give(LabelCheckpoint, checkpoint_id=1, name=" ")
    with pytest.raises(CommandError, match="there is no checkpoint 2"):
        served.give(LabelCheckpoint, checkpoint_id=2, name="b")
    served.give(RestoreCheckpoint, checkpoint_id=1)
    assert served.scene.backend.q == 1.0


def test_checkpoints_are_bounded_in_number_and_bytes() -> None:
    backend = Oscillator()
    size = len(backend.capture_initial())
    few = Checkpoints(backend, Limits(checkpoints=2))
    for name in "ab":
        few.save(name, clock=backend.clock(), options={})
    with pytest.raises(CommandError, match="at most 2 may be: drop one first"):
        few.save("c", clock=backend.clock(), options={})
    few.drop(1)
    assert few.save("c", clock=backend.clock(), options={}).checkpoint_id == 3
    assert [info.name for info in few.told] == ["b", "c"]
    small = Checkpoints(backend, Limits(checkpoint_bytes=2 * size))
    for name in "ab":
        small.save(name, clock=backend.clock(), options={})
    with pytest.raises(CommandError, match=f"at most {2 * size:,} are kept"):
        small.save("c", clock=backend.clock(), options={})


def test_a_name_that_is_long_is_cut() -> None:
    backend = Oscillator()
    kept = Checkpoints(backend, Limits())
    info = kept.save("ä" * 300, clock=backend.clock(), options={})
    assert len(info.name.encode()) <= Limits().name_bytes
    assert info.name.endswith("…")


def test_what_an_engine_does_not_offer_is_refused_with_a_sentence(served: Served) -> None:
    for make, fields in (
        (m.Perturb, {"body": 1, "kind": m.PerturbKind.FORCE}),
        (m.OverrideControl, {"index": 0, "value": 1.0}),
        (m.SetControlNoise, {"std": 0.1}),
        (m.EditOption, {"option": "timestep", "values": (0.1,)}),
        (m.LoadKeyframe, {"index": 0}),
    ):
        with pytest.raises(CommandError, match=r"this scene"):
            served.give(make, **fields)
    served.give(m.Lint)
    assert served.link.changes.findings is not None


class Springy(Oscillator):
    """An engine that has an option and compares no models."""

    stiffness = 1.0

    def option_info(self, name: str) -> OptionInfo:
        return OptionInfo(name=name, kind=OptionKind.NUMBER, unit="N/m")

    def option(self, name: str) -> tuple[float, ...]:
        return (self.stiffness,)

    def edit_option(self, name: str, values: Sequence[float]) -> None:
        (self.stiffness,) = values


def test_an_engine_that_compares_no_models_has_edited_options_told_of_a_restore() -> None:
    served = Served(Limits())
    served.scene.backend.__class__ = Springy

    def restored() -> str:
        served.host.restore_initial(served.link.scene_id)
        served.serve()
        return served.link.changes.editor.edits[-1].text

    served.give(SaveCheckpoint, name="soft")
    served.give(m.EditOption, option="stiffness", values=(3.0,))
    stays = "stiffness stays 3 N/m: it was 1 N/m then (undo edit 1 to have that again)"
    served.give(RestoreCheckpoint, checkpoint_id=1)
    told = served.link.changes.editor.edits[-1].text
    assert told == f"checkpoint 'soft' was restored; {stays}"
    assert restored() == f"the initial state was restored; {stays}"
    served.give(RevertEdit, edit_id=1)
    assert restored() == "the initial state was restored"


def test_numbers_kept_for_undoing_count_like_states() -> None:
    served = Served(Limits(edit_bytes=3 * 32))
    for k in range(5):
        served.clock.now += 10.0
        served.edit(float(k))
    newest = served.link.changes.editor.edits
    for edit in newest[-3:]:
        served.give(RevertEdit, edit_id=edit.edit_id)
    with pytest.raises(CommandError, match="too old"):
        served.give(RevertEdit, edit_id=newest[0].edit_id)
