"""Recording from outside: a client names it, the file is in the script's folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError

Read = Callable[..., Any]

SCRIPT = """
    import sys
    import stroboscope.engine as physics

    scene = physics.create_scene("My/Robot")
    physics.set_recordings_folder(sys.argv[1] + "/runs")
    physics.debugger.attach(30, launch=False, mode="fast_forward")
    scene.start_recording(physics.TrajectoryFile(sys.argv[1] + "/crash", keep_last=1.0))
    while physics.debugger.is_attached():
        scene.step()
"""


def test_a_client_records_and_saves_by_name(
    start_warm: Callable[..., Any], read: Read, tmp_path: Path
) -> None:
    script = start_warm(SCRIPT, str(tmp_path))
    with script.connect() as client:
        script.wait_until(lambda: client.scenes() and client.recordings(1))
        (crash,) = client.recordings(1)
        assert (crash.path, crash.keep_last) == (str(tmp_path / "crash.mcap"), 1.0)
        path = client.start_recording(1, "a fall")
        assert path == str(tmp_path / "runs" / "a fall.mcap")
        script.wait_until(lambda: client.recordings(1)[-1].frames > 300)
        client.save_checkpoint(1, "on the ground")
        assert client.stop_recording(1) == path
        assert len(client.recordings(1)) == 1
        assert client.start_recording(1, "a fall", mode="minimal").endswith("a fall-2.mcap")
        client.stop_recording(1)
        saved = client.save_history(1)
        assert saved == str(tmp_path / "runs" / "My_Robot.mcap")
        with pytest.raises(CommandError, match="a recording's name is no path"):
            client.start_recording(1, "../outside")
        with pytest.raises(CommandError, match="mode must be one of"):
            client.start_recording(1, "x", mode="lossy")
    code, _, errors = script.end()
    assert code == 0, errors
    recorded = read(Path(path))
    assert recorded.complete
    assert recorded.has_final
    assert len(recorded.axes) > 300
    assert [e.text for e in recorded.events if e.kind == "checkpoint"] == ["on the ground"]
    assert read(Path(saved)).complete
    assert read(tmp_path / "crash.mcap").complete


def test_the_terminal_starts_stops_and_lists_recordings(
    start_warm: Callable[..., Any], read: Read, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = start_warm(SCRIPT, str(tmp_path))

    def say(*words: str) -> str:
        assert ctl.main(["--session", script.session().session_id, *words]) == 0
        return capsys.readouterr().out

    with script.connect() as client:
        script.wait_until(lambda: client.scenes() and client.recordings(1))
        assert "the last 1 s" in say("record", "list")
        began = say("record", "start", "walk")
        assert began == f"recording into {tmp_path / 'runs' / 'walk.mcap'}\n"
        assert say("record", "stop") == f"recorded {tmp_path / 'runs' / 'walk.mcap'}\n"
        assert say("record", "save", "past").startswith("saved ")
        say("record", "start", "first")
        say("record", "start", "second")
        assert say("record", "stop", "first") == f"recorded {tmp_path / 'runs' / 'first.mcap'}\n"
        with pytest.raises(CommandError, match="into 'first'; these are: 'crash', 'second'"):
            client.stop_recording(1, "first")
        assert client.stop_recording(1, "second.mcap").endswith("second.mcap")
    script.end()
    assert read(tmp_path / "runs" / "walk.mcap").complete


UNATTENDED = """
    import sys
    from pathlib import Path
    import stroboscope.engine as physics

    scene = physics.create_scene("Robot")
    physics.debugger.listen()
    scene.start_recording(sys.argv[1] + "/long")
    scene.start_recording(physics.TrajectoryFile(sys.argv[1] + "/crash", keep_last=1.0))
    while not Path(sys.argv[1], "end").exists():
        scene.step()
"""


def test_what_is_recorded_while_nobody_is_attached_is_listed_with_its_frames(
    start_warm: Callable[..., Any], tmp_path: Path
) -> None:
    script = start_warm(UNATTENDED, str(tmp_path))
    info = script.session()

    def frames() -> int:
        with DebuggerClient.connect(info, passing=True) as client:
            recordings = client.recordings(1) if client.scenes() else ()
            return recordings[0].frames if len(recordings) == 2 else 0

    script.wait_until(lambda: frames() > 0)
    seen = frames()
    script.wait_until(lambda: frames() > seen)
    (tmp_path / "end").touch()
    code, _, errors = script.end()
    assert code == 0, errors
