"""From ``stroboscope ctl record`` to the file in another process, as a person types it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from samples import few

from stroboscope.app.main.cli import main

SCRIPT = """
import sys
import numpy as np
import stroboscope.engine as physics

scene = physics.create_scene("Robot", '''
<mujoco><worldbody>
  <body><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
</worldbody></mujoco>
''')
physics.set_recordings_folder(sys.argv[1])
if physics.debugger.attach(60, launch=False):
    while physics.debugger.is_attached():
        scene.log("wave", np.sin(scene.data.time))
        scene.step()
"""
RESUME = """
import sys
import stroboscope.engine as physics

with physics.load_trajectory(sys.argv[1]) as trajectory:
    end = trajectory.frame(-1)
    trajectory.seek(len(trajectory) // 2)
    scene = trajectory.scene
    while scene.physics_step_count < end.physics_step:
        scene.step()
    print(scene.data.qpos.tobytes() == end.qpos.tobytes(), len(trajectory))
"""


@pytest.mark.parametrize("mode", few(["auto", "exact", "minimal"], 1))
def test_what_is_recorded_from_a_terminal_reproduces_and_is_resumed_in_another_process(
    start_warm: Callable[..., Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    mode: str,
) -> None:
    script = start_warm(SCRIPT, str(tmp_path / "runs"))

    def ctl(*words: str) -> str:
        assert main(["ctl", "--session", script.session().session_id, *words]) == 0
        return capsys.readouterr().out

    with script.connect() as client:
        assert client.wait_until(lambda c: bool(c.scenes()), 60)
        client.pause()
        client.step(1, 5)
        path = tmp_path / "runs" / "walk.mcap"
        assert ctl("record", "start", "walk", "--mode", mode) == f"recording into {path}\n"
        client.step(1, 100)
        assert str(path) in ctl("record", "list")
        assert ctl("record", "stop") == f"recorded {path}\n"
        assert ctl("record", "list") == "nothing is recorded\n"
        saved = tmp_path / "runs" / "past.mcap"
        assert ctl("record", "save", "past") == f"saved {saved}\n"
    code, _, errors = script.end()
    assert code == 0, errors
    for file, steps in ((path, 100), (saved, 105)):
        assert main(["verify", str(file)]) == 0
        assert f"reproduces bit for bit ({steps} of {steps + 1} frames" in capsys.readouterr().out
        code, told, errors = start_warm(RESUME, str(file)).end()
        assert (code, told) == (0, f"True {steps + 1}\n"), errors
    assert main(["info", str(path)]) == 0
    assert "signals: wave" in capsys.readouterr().out
