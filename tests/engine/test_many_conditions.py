"""Many conditions at once cost what each of them does, and stop as each of them would alone."""

from collections.abc import Callable

import numpy as np
import pytest
from samples import few

import stroboscope.debugger_protocol.expressions.compiler as compiler
import stroboscope.engine as physics
from stroboscope.engine.stops.watched import Watcher

Make = Callable[..., physics.Scene]


def test_a_condition_that_is_added_has_nothing_compiled_but_itself(
    make_scene: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = make_scene("humanoid")
    work: list[str] = []
    counted, parsed = Watcher.__init__, compiler.parse
    monkeypatch.setattr(
        Watcher, "__init__", lambda self, *a: (work.append("watcher"), counted(self, *a))[1]
    )
    monkeypatch.setattr(compiler, "parse", lambda text: (work.append("parse"), parsed(text))[1])
    done: list[int] = []
    for k in range(60):
        work.clear()
        scene.break_when(f"qpos[{k % 20}] > {100 + k}")
        done.append(len(work))
    assert len(set(done[1:])) == 1, done
    assert "watcher" not in work


OPERATORS = (">", "<", ">=", "<=")


@pytest.mark.parametrize("seed", few(range(6), 2))
def test_many_limits_stop_where_each_of_them_alone_does(make_scene: Make, seed: int) -> None:
    random = np.random.default_rng(seed)
    steps = 60
    trace = make_scene("humanoid")
    rows = []
    for _ in range(steps):
        rows.append((trace.data.qpos.copy(), trace.data.qvel.copy()))
        trace.step()

    def limit() -> str:
        name, which = ("qpos", 0) if random.integers(2) else ("qvel", 1)
        column = int(random.integers(7, 20))
        at = rows[int(random.integers(steps))][which][column]
        operator = OPERATORS[random.integers(4)]
        if random.integers(5):
            return f"{name}[{column}] {operator} {float(at)!r}"
        return f"{float(at)!r} {operator} {name}[{column}]"

    texts = [limit() for _ in range(40)] + ["abs(qvel[8]) > 0.2", "time > 0.1"]

    def hits(scene: physics.Scene, conditions: list[physics.Condition]) -> list[list[int]]:
        scene.on_stop(lambda: None)  # steps are looked at although nobody is attached
        found: list[list[int]] = []
        for step in range(steps):
            if step == 30:
                scene.reset()
            scene.step()
            found.append([each.hit_count for each in conditions])
        return found

    together = make_scene("humanoid")
    many = hits(together, [together.break_when(text) for text in texts])
    for number, text in enumerate(texts):
        alone = make_scene("humanoid")
        one = hits(alone, [alone.break_when(text)])
        assert [each[0] for each in one] == [each[number] for each in many], text


def test_the_oldest_of_several_that_become_true_together_is_the_first_to_stop(
    make_scene: Make,
) -> None:
    scene = make_scene("humanoid")
    order: list[str] = []
    scene.on_stop(lambda: order.append(scene.last_stop.message if scene.last_stop else ""))
    for k in range(40):
        scene.break_when(f"qpos[{k % 20}] > 1e9", name=f"never {k}")
    for name, text in (("a", "qpos[2] > 0"), ("b", "time >= 0"), ("c", "qpos[3] > 0.5")):
        scene.break_when(text, name=name)
    scene.step()
    assert [text.split()[0].strip(":“”\"'") for text in order] == ["a", "b", "c"], order


def test_how_long_a_step_took_is_read_by_several_conditions(make_scene: Make) -> None:
    scene = make_scene("humanoid")
    scene.on_stop(lambda: None)
    several = [scene.break_when(f"timing.step > {k}e-12") for k in (1, 2, 3)]
    for _ in range(5):
        scene.step()
    counts = {each.hit_count for each in several}
    assert len(counts) == 1
