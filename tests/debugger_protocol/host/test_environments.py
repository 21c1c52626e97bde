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
