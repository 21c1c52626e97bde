"""Numbers of rollouts that somebody asks for, computed in the background while others step."""

import math
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest

from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.client import CommandError, DebuggerClient

MODEL = """<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane"
 size="5 5 .1"/><body name="ball" pos="0 0 .2"><freejoint/><geom name="ball" size=".1" mass="1"/>
</body></worldbody><actuator><motor name="lift" site="s" gear="0 0 1 0 0 0" ctrlrange="-50 50"/>
</actuator></mujoco>""".replace('mass="1"/>\n</body>', 'mass="1"/><site name="s"/>\n</body>')
SCRIPT = f"""
import numpy as np
import stroboscope.engine as physics
MODEL = '''{MODEL}'''
scene = physics.create_scene("Ball", MODEL)
if not physics.debugger.attach(30.0, launch=False):
    sys.exit("nobody came")
ctrl = np.linspace(-40.0, 0.0, 3)[:, None, None] * np.ones((1, 120, 1))
physics.rollout(scene.checkpoint(), ctrl, name="plan")
other = physics.create_scene("Gone", MODEL)
for _ in range(150):
    other.step()
other.reset()
for _ in range(30):
    other.step()
other.destroy()
while physics.debugger.is_attached():
    scene.step()
"""
pytestmark = pytest.mark.leaves_runtime_files


def deepest(control: float, steps: int) -> float:
    """Return the deepest penetration before every step and after the last, as MuJoCo has it."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data, depth = mujoco.MjData(model), 0.0
    data.ctrl[:] = control
    for step in range(steps + 1):
        mujoco.mj_forward(model, data)
        if data.ncon:
            depth = max(depth, -float(data.contact.dist.min()))
        if step < steps:
            mujoco.mj_step(model, data)
    return depth


@pytest.fixture
def client(start_warm: Callable[..., Any], wait_parked: Callable[..., bool]) -> Any:
    """Who controls a script whose scene has rollouts, and of which another one has ended."""
    script = start_warm(SCRIPT)
    with script.connect() as client:
        client.wait_until(lambda c: c.scenes(), 30.0)
        client.fast_forward()
        assert client.wait_until(lambda c: len(c.rollouts()) == 2, 30.0)
        assert client.wait_until(lambda c: len(c.scenes()) == 1, 30.0)
        id = client.scenes()[0].scene_id
        assert client.wait_until(lambda c: len(c.rollouts(id)) == 3, 30.0)
        yield client


def numbers(client: DebuggerClient, scene_id: int) -> list[dict[str, float]]:
    return [dict(each.numbers) for each in client.rollouts(scene_id)]


@pytest.mark.parametrize("running", [True, False])
def test_numbers_of_candidates_are_those_of_mujoco(client: DebuggerClient, running: bool) -> None:
    id = client.scenes()[0].scene_id
    if not running:
        client.pause()
    client.derive_number(id, "contact.depth", name="max penetration [m]")
    client.derive_number(id, "qpos[2]", reduction="min")
    client.derive_number(id, "time", reduction="last")
    client.derive_number(id, "contact.count", reduction="mean")
    assert client.wait_until(
        lambda c: all(
            len({"max penetration [m]", "mean contact.count"} & set(each)) == 2
            for each in numbers(c, id)
        ),
        30.0,
    )
    told = numbers(client, id)
    assert len(told) == 3
    for each, control in zip(told, (-40.0, -20.0, 0.0), strict=True):
        assert each["max penetration [m]"] == pytest.approx(deepest(control, 120), rel=1e-9)
        assert each["last time [s]"] == pytest.approx(0.24)
        assert 0.0 <= each["mean contact.count"] <= 1.0
    assert told[0]["max penetration [m]"] > told[2]["max penetration [m]"] > 0.0
    assert any(name.startswith("min qpos[2]") for name in told[0])


def test_scenes_that_have_ended_have_rows_numbers_and_every_episode(
    client: DebuggerClient, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = client.rollouts()
    assert (first.name, first.steps) == ("Gone, episode 0", 149)
    assert (second.name, second.steps) == ("Gone, episode 1", 30)
    rows = client.read_rows(0, ["energy.total", "contact.depth"], rollout_id=first.rollout_id)
    assert len(rows["axis"]) == 150
    assert np.isfinite(rows["energy.total"]).all()
    last = client.read_rows(0, ["time", "qpos"], rollout_id=second.rollout_id)
    assert last["time"][-1] == pytest.approx(0.06)
    assert ctl.main(["derive", "max(abs(qvel))", "--ended", "--name", "fastest"]) == 0
    assert client.wait_until(lambda c: all("fastest" in each for each in numbers(c, 0)), 30.0)
    fastest = numbers(client, 0)[0]["fastest"]
    speeds = client.read_rows(0, ["qvel"], rollout_id=first.rollout_id)["qvel"]
    assert fastest == np.abs(speeds).max()
    assert "ctl rollouts" in capsys.readouterr().out


@pytest.mark.parametrize("left", [0, 2])
def test_a_terminal_asks_for_scenes_that_have_ended_however_many_are_left(
    left: int, start_warm: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    begin, _, _ = SCRIPT.partition("while physics")
    source = f"""import time
{begin}
scene.destroy()
others = [physics.create_scene(f"left {{k}}", MODEL) for k in range({left})]
while physics.debugger.is_attached():
    for each in others:
        each.step()
    if not others:
        time.sleep(0.01)
"""
    script = start_warm(source)
    with script.connect() as client:
        client.wait_until(lambda c: c.scenes(), 30.0)
        client.fast_forward()

        def gone(client: DebuggerClient) -> list[int]:
            return [each.rollout_id for each in client.rollouts() if each.name.startswith("Gone")]

        assert client.wait_until(lambda c: len(gone(c)) == 2, 30.0)
        assert client.wait_until(lambda c: len(c.scenes()) == left, 30.0)
        first = gone(client)[0]
        assert ctl.main(["rollouts", "--ended"]) == 0
        assert "Gone, episode 1: 30 steps" in capsys.readouterr().out
        words = ["rows", "qpos", "--ended", "--rollout", str(first), "--first", "149"]
        assert ctl.main(words) == 0
        assert capsys.readouterr().out.count("\n") == 2
        assert ctl.main(["derive", "max(abs(qvel))", "--ended"]) == 0
        assert "ctl rollouts --ended` lists it" in capsys.readouterr().out
        assert ctl.main(["drop-rollout", str(first), "--ended"]) == 0
        assert client.wait_until(lambda c: first not in gone(c), 30.0)


def test_what_can_not_be_computed_is_refused_with_the_reason(client: DebuggerClient) -> None:
    id = client.scenes()[0].scene_id
    for text, reason in (
        ("qpos", "has 7: use"),
        ("nonsense", "nonsense"),
        ("timing.step", "can't be read from the past"),
        ("1 +", "\\^"),
    ):
        with pytest.raises(CommandError, match=reason):
            client.derive_number(id, text)
    with pytest.raises(CommandError, match="there is no rollout 99"):
        client.derive_number(id, "time", rollout_ids=[99])
    with pytest.raises(CommandError, match="there is no rollout 99"):
        client.derive_number(0, "time", rollout_ids=[99])
    before = numbers(client, id)
    client.derive_number(id, "time * nan", name="nothing")
    client.derive_number(id, "time", reduction="max", name="after that")
    assert client.wait_until(lambda c: all("after that" in each for each in numbers(c, id)), 30.0)
    assert not any("nothing" in each for each in numbers(client, id))
    assert all(before[k].items() <= each.items() for k, each in enumerate(numbers(client, id)))
    assert not any(math.isnan(value) for each in numbers(client, id) for value in each.values())
