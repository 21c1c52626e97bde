"""Commands on files whose standard output is closed, or on a full disk: no verdict by accident."""

import os
import subprocess
import sys
from pathlib import Path

import mujoco
import pytest
from plain_recording import record_plain

MODEL = "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded run that reproduces."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    path = tmp_path_factory.mktemp("outputs") / "run.mcap"
    return record_plain(path, model, steps=9, control=lambda step, data: None).path


def _ends(command: str, run: Path, redirected: str) -> tuple[int, str]:
    line = f'"{sys.executable}" -m stroboscope.app.main.cli {command} "{run}" {redirected}'
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("command", ["verify", "info"])
def test_an_output_that_is_full_is_said_and_is_no_verdict(command: str, run: Path) -> None:
    code, told = _ends(command, run, ">/dev/full")
    assert code == 4
    assert told.startswith(f"stroboscope {command}: standard output can't be written (No space")
    assert told.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="shells there close nothing")
@pytest.mark.parametrize("redirected", [">&-", ">&- 2>&-"])
def test_an_output_that_is_closed_leaves_the_exit_code(redirected: str, run: Path) -> None:
    assert _ends("verify", run, redirected) == (0, "")
