"""``stroboscope run`` with scripts that make their scenes themselves, and attach to nothing."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RUN = [str(Path(sys.executable).with_name("stroboscope")), "run"]

MADE = """
import mujoco
import stroboscope.engine as physics
scene = physics.create_scene("mine")
"""
WATCHED = """
import mujoco
import stroboscope.engine as physics
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>")
data = mujoco.MjData(model)
scene = physics.debugger.watch(model, data, "mine")
"""
KNOWN = """
import types
env = types.SimpleNamespace(model=model, data=data)
scene.destroy()
scene = physics.debugger.watch(env, name="mine")
"""
LOOPS = {
    "a scene": MADE + "for _ in range(3): scene.step()\n",
    "steps of several": MADE + "for _ in range(3): scene.step(nstep=2)\n",
    "callbacks": MADE
    + "scene.on_stop(print)\nscene.register_pre_step_callback(lambda: None)\n"
    + "for _ in range(3): scene.step()\n",
    "environments": MADE.replace('"mine"', '"mine", n_envs=2')
    + "for _ in range(3): scene.step()\n",
    "data of the script's": WATCHED + "for _ in range(3): scene.step()\n",
    "bare steps": WATCHED + "for _ in range(3): mujoco.mj_step(model, data)\n",
    "half steps of an environment": WATCHED
    + KNOWN
    + "for _ in range(3): mujoco.mj_step1(model, data); mujoco.mj_step2(model, data)\n",
    "another thread's": MADE
    + """
import threading
def work():
    mine = physics.create_scene("theirs")
    for _ in range(3):
        mine.step()
scene.destroy()
thread = threading.Thread(target=work)
thread.start()
thread.join()
""",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_scene_of_the_script_waits_at_its_first_step(
    loop: str, start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(LOOPS[loop] + "print('end')\n", command=[*RUN, "--wait", "60"])
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        assert scene.step_count == 0
        client.step(scene.scene_id)
        client.play()
        assert script.end()[:2] == (0, "end\n")


def test_a_stop_holds_a_scene_of_the_script(
    start_warm: Callable[..., Any], wait_until: Callable[..., None]
) -> None:
    source = """
import stroboscope.engine as physics
scene = physics.create_scene("mine", model='''
    <mujoco><worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>
    <actuator><motor joint="j"/></actuator></mujoco>''')
for k in range(9):
    scene.ctrl[0] = float("nan") if k == 5 else 0.0
    scene.step()
"""
    script = start_warm(source, command=[*RUN, "--wait", "60", "--mode", "playing"])
    with script.connect() as client:
        wait_until(lambda: client.scenes() and client.stops(client.scenes()[0].scene_id), 60)
        (stop,) = client.stops(client.scenes()[0].scene_id)
        assert stop.step == 5
        client.play()
        assert script.end()[0] == 0


def test_a_script_that_listens_waits_when_it_is_told_to(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    source = MADE + "physics.debugger.listen()\nscene.step()\n"
    script = start_script(source, command=[*RUN, "--wait", "60"])
    lines = iter(script.process.stderr.readline, "")
    assert any("waiting for a debugger" in line for line in lines)
    with script.connect() as client:
        assert wait_parked(client)
        client.play()
        assert script.end()[0] == 0
