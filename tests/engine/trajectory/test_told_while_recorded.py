"""What commands say of a file that is still being recorded."""

import json
import sys
from pathlib import Path

import pytest

import stroboscope.engine as physics
from stroboscope.app.main.cli import main

MODEL = """
<mujoco>
  <worldbody><body><joint axis="0 1 0"/><geom size=".1"/></body></worldbody>
</mujoco>
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing says there who writes a file")
def test_a_file_that_is_still_being_recorded_is_not_said_to_be_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = physics.create_scene("arm", model=MODEL)
    recording = scene.start_recording(tmp_path / "run.mcap")
    for _ in range(3000):
        scene.step()
    assert main(["info", str(tmp_path / "run.mcap")]) == 0
    told = capsys.readouterr().out
    assert "still being recorded, by this process" in told
    assert main(["verify", str(tmp_path / "run.mcap")]) == 0
    assert "is still being recorded, by this process" in capsys.readouterr().out
    for word in ("CUT OFF", "DAMAGE", "repair", "cut off"):
        assert word not in told
    recording.stop()
    assert main(["info", str(tmp_path / "run.mcap"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recorded_by"] == ""
