"""A recorded run opened from a terminal: what the window and the terminal are told."""

import os
import subprocess
import sys
from pathlib import Path

import mujoco
import pytest
from plain_recording import record_plain

from stroboscope.engine.launch import EXECUTABLE_VARIABLE

MODEL = '<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>'
# Stands for the window: says as what the session presents itself, and goes.
WINDOW = """
import sys
from pathlib import Path
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import find_session

session = find_session(sys.argv[sys.argv.index("--session") + 1])
with DebuggerClient(session) as client:
    client.wait_until(lambda c: c.scenes())
Path({told!r}).write_text(session.script)
"""


@pytest.mark.parametrize("command", ["open", "replay"])
def test_the_session_is_called_after_the_file_and_nobody_is_asked_to_press_play(
    command: str, tmp_path: Path, runtime_directory: Path
) -> None:
    run = tmp_path / "throw.mcap"
    model = mujoco.MjModel.from_xml_string(MODEL)
    record_plain(run, model, steps=5, control=lambda step, data: None)
    told, program = tmp_path / "told", tmp_path / "window"
    program.write_text(f"#!{sys.executable}\n{WINDOW.format(told=str(told))}")
    program.chmod(0o755)
    main = "import sys; from stroboscope.app.main.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", main, command, str(run)],
        env={**os.environ, "DISPLAY": ":99", EXECUTABLE_VARIABLE: str(program)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert told.exists(), done.stderr
    assert Path(told.read_text()).name == "throw.mcap"
    assert "showing throw.mcap" in done.stderr
    assert "press Play" not in done.stderr
