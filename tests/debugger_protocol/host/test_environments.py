"""Scenes of several environments: which is looked at, which have failed, copying one to others."""

from collections.abc import Callable, Sequence

import pytest
from remembering import GuardedStepper, Memory

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError

Connect = Callable[..., DebuggerClient]
Remember = Callable[..., GuardedStepper]


class Herd(Memory):
    """A memory of four oscillators, of which one is looked at."""

    def __init__(self, scene) -> None:
        super().__init__(scene)
        self.positions = [0.0, 1.0, 2.0, 3.0]
        self.failed: tuple[int, ...] = ()
        self.looked_at: tuple[int, tuple[int, ...]] = (0, (0,))

    def environment_count(self) -> int:
        return len(self.positions)

    def select_environments(self, selected: int, shown: Sequence[int]) -> None:
        self.looked_at = (selected, tuple(shown))

    def failed_environments(self) -> tuple[int, ...]:
        return self.failed

    def fork(self, source: int, targets: Sequence[int]) -> None:
        for target in targets:
            self.positions[target] = self.positions[source]


@pytest.fixture
def herd(connect: Connect, remember: Remember) -> tuple[DebuggerClient, GuardedStepper, Herd]:
    client, stepper = connect(), remember()
    backend = stepper.scene.backend
    backend.memory = herd = Herd(backend)
    client.step(stepper.id, 3)
    return client, stepper, herd


def test_environments_are_told_selected_and_shown(
    herd: tuple[DebuggerClient, GuardedStepper, Herd],
) -> None:
    client, stepper, memory = herd
    assert client.wait_until(lambda c: c.environments(stepper.id) is not None, 60)
    client.select_environments(stepper.id, 2, shown=[1, 2])
    told = client.environments(stepper.id)
    assert told is not None
    assert (told.count, told.selected, told.shown) == (4, 2, (1, 2))
    assert memory.looked_at == (2, (1, 2))
    memory.failed = (3,)
    client.step(stepper.id)
    assert client.wait_until(
        lambda c: (e := c.environments(stepper.id)) is not None and e.failed == (3,), 60
    )
    with pytest.raises(CommandError, match="there is no environment 4: there are 0 to 3"):
        client.select_environments(stepper.id, 4)
    with pytest.raises(CommandError, match="there is no environment 9"):
        client.fork(stepper.id, 0, [1, 9])


def test_an_environment_is_copied_to_others(
    herd: tuple[DebuggerClient, GuardedStepper, Herd],
) -> None:
    client, stepper, memory = herd
    client.fork(stepper.id, 3, [0, 1])
    assert memory.positions == [3.0, 3.0, 2.0, 3.0]
    assert client.wait_until(lambda c: any("was copied to 2 others" in e.text for e in c._log), 60)


def test_a_scene_without_environments_has_none_to_select(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    with pytest.raises(CommandError, match="'A' has no environments: it is one world"):
        client.select_environments(stepper.id, 0)


def test_a_condition_names_environments_and_keeps_them_when_it_is_changed(
    herd: tuple[DebuggerClient, GuardedStepper, Herd],
) -> None:
    client, stepper, _ = herd
    condition = client.break_when(stepper.id, "qpos > 9", envs_idx=[3, 1])
    assert client.wait_until(lambda c: len(c.conditions(stepper.id)) == 1, 60)
    assert client.conditions(stepper.id)[0].envs_idx == (3, 1)
    client.edit_condition(condition, expression="qpos > 8")
    assert client.wait_until(lambda c: c.conditions(stepper.id)[0].expression == "qpos > 8", 60)
    assert client.conditions(stepper.id)[0].envs_idx == (3, 1)


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ([1, 4], "there is no environment 4: there are 0 to 3"),
        ([-1], "there is no environment -1: there are 0 to 3"),
        ([2, 0, 2], "names environment 2 twice: name each once"),
        (list(range(65)), "64 environments at most, got 65"),
    ],
)
def test_environments_of_a_condition_that_there_are_not_are_refused_whole(
    herd: tuple[DebuggerClient, GuardedStepper, Herd], named: list[int], reason: str
) -> None:
    client, stepper, memory = herd
    with pytest.raises(CommandError, match=reason):
        client.break_when(stepper.id, "qpos > 9", envs_idx=named)
    assert memory.conditions() == ()


def test_a_condition_of_one_world_names_no_environments(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    with pytest.raises(CommandError, match="no environments to choose from, got envs_idx"):
        client.break_when(stepper.id, "qpos > 9", envs_idx=[0])
    assert client.conditions(stepper.id) == ()
