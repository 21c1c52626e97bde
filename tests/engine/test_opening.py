"""``stroboscope open FILE`` as a person types it, in processes of its own."""

import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import ConnectionInfo, list_sessions
from stroboscope.engine.launch import EXECUTABLE_VARIABLE
from stroboscope.engine.outside.trust import own_folder, trust_folder, untrust_folder

OPEN = ["stroboscope", "open"]
PENDULUM = """<?xml version="1.0"?>
<!-- a comment <robot> -->
<mujoco model="pendulum">
  <worldbody><body><joint name="hinge" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/></body>
  </worldbody>
</mujoco>
"""
URDF = """<robot name="block"><link name="base"/><link name="box"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="base"/><child link="box"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="1" velocity="1"/></joint></robot>"""
# Where everything touches, contacts don't fit into so little memory.
TOO_SMALL = """<mujoco><size memory="40K"/><worldbody><geom type="plane" size="5 5 1"/>
""" + "".join(
    f'<body pos="{0.11 * (i % 6)} {0.11 * (i // 6)} 0.06"><freejoint/><geom size="0.06"/></body>'
    for i in range(36)
) + "</worldbody></mujoco>"  # fmt: skip


@pytest.fixture
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the user's settings that is the test's own."""
    folder = tmp_path / "settings"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    return folder


Opened = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def opened(stroboscope_command: Opened) -> Opened:
    """``opened(*arguments)``: run ``stroboscope open`` to its end."""
    return functools.partial(stroboscope_command, "open")


@pytest.mark.parametrize(("text", "name"), [(PENDULUM, "pendulum"), (URDF, "block")])
def test_a_model_is_opened_by_what_it_is_paused_and_obeys_until_the_window_is_closed(
    text: str, name: str, start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    # The file is called script.py: a suffix is only a name.
    script = start_warm(text, command=[*OPEN, "--wait", "60"])
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        assert (scene.name, scene.step_count) == (name, 0)
        client.step(scene.scene_id, 5)
        assert client.wait_until(lambda c: c.scenes()[0].step_count == 5, 60)
    assert script.end()[0] == 0


def test_a_scene_file_is_opened_with_as_many_environments_as_it_says(
    tmp_path: Path, wait_parked: Callable[..., bool], wait_until: Callable[..., None]
) -> None:
    scene = physics.create_scene("Many", PENDULUM, n_envs=4)
    file = scene.export(tmp_path / "many.strobe")
    process = subprocess.Popen(
        [sys.executable, "-m", "stroboscope.app.main.cli", "open", "--wait", "60", str(file)],
        stderr=subprocess.PIPE,
    )

    def mine() -> list[ConnectionInfo]:
        assert process.poll() is None, process.communicate()
        return [info for _, info in list_sessions() if info.pid == process.pid]

    try:
        wait_until(mine, 60)
        assert mine()[0].script == str(file)
        with DebuggerClient.connect(mine()[0]) as client:
            assert wait_parked(client)
            (shown,) = client.scenes()
            assert shown.name == "Many"
            client.select_environments(shown.scene_id, 3)  # the last of four
        process.communicate(timeout=60)
        assert process.returncode == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_a_step_that_fails_holds_the_scene_with_the_reason(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(TOO_SMALL, command=[*OPEN, "--wait", "60"])
    with script.connect() as client:
        assert wait_parked(client)
        client.play()
        assert client.wait_until(lambda c: "arena" in c.scenes()[0].hold_reason.lower()
                                 or "memory" in c.scenes()[0].hold_reason.lower(), 60)  # fmt: skip
        assert script.process.poll() is None
    assert script.end()[0] == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"hello", "nothing that can be shown (it begins with b'hello')"),
        (b"<mujoco><nonsense/></mujoco>", "unrecognized element"),
        (b'<mujoco><include file="/etc/passwd"/></mujoco>', "lies outside of the folder"),
        (b"PK\x03\x04" + b"\0" * 60, "its end is missing"),
    ],
)
def test_a_file_that_can_not_be_shown_is_named_with_what_is_wrong(
    content: bytes, words: str, tmp_path: Path, opened: Opened
) -> None:
    (tmp_path / "stranger.file").write_bytes(content)
    done = opened(tmp_path / "stranger.file")
    assert done.returncode == 1
    assert words in done.stderr
    assert "stranger.file" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="displays have no name there")
@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["open"], {"stroboscope info", "stroboscope export", "xvfb-run"}),
        (["replay"], {"stroboscope info", "stroboscope export", "xvfb-run"}),
        (["open", "arm.xml"], {"open --wait 60 arm.xml", "xvfb-run"}),
    ],
)
def test_without_a_display_it_says_what_can_be_done_with_the_file(
    words: list[str],
    advice: set[str],
    stroboscope_command: Opened,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runtime_directory: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    if len(words) == 1:
        scene = physics.create_scene("Arm", PENDULUM)
        scene.save_checkpoint("my run")
        scene.destroy()
        words = [*words, "my run.mcap"]
    else:
        Path("arm.xml").write_text(PENDULUM)
    monkeypatch.setenv("DISPLAY", ":54321")
    for name in ("WAYLAND_DISPLAY", "QT_QPA_PLATFORM", EXECUTABLE_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    done = stroboscope_command(*words)
    assert done.returncode == 2
    assert "no display for the window (nothing answers at DISPLAY=:54321)" in done.stderr
    assert "copy the file to a computer with a screen" in done.stderr
    assert not {each for each in advice if each not in done.stderr}
    assert "qt.qpa" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "which file?"),
        (["a", "b"], "one file, not 2"),
        (["--mode", "fast", "a"], "--mode is 'fast'; it can be paused, playing"),
        (["--wait", "soon", "a"], "--wait is 'soon'; it must be a number of seconds"),
        (["--trust"], "--trust needs a value"),
        (["--windows", "a"], "unknown option --windows"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    arguments: list[str], complaint: str, opened: Opened
) -> None:
    done = opened(*arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_says_what_can_be_opened(opened: Opened) -> None:
    done = opened("--help")
    assert done.returncode == 0
    assert ".strobe" in done.stdout
    assert "--trust FOLDER" in done.stdout


# --- trust


def urdf_beside_its_meshes(folder: Path) -> Path:
    (folder / "urdf").mkdir(parents=True)
    (folder / "meshes").mkdir()
    (folder / "meshes" / "m.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
    )
    model = folder / "urdf" / "robot.xml"
    model.write_text(
        '<mujoco><asset><mesh name="m" file="../meshes/m.obj"/></asset>'
        '<worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>'
    )
    return model


def test_trust_in_a_folder_is_asked_for_by_name_given_once_and_remembered(
    tmp_path: Path, own_settings: Path, opened: Opened
) -> None:
    model = urdf_beside_its_meshes(tmp_path / "robots")
    with pytest.raises(physics.FileFormatError, match="stroboscope open --trust FOLDER"):
        physics.load_scene(model)
    done = opened("--trust", tmp_path / "robots", "--wait", "0", model)
    assert "lies outside" not in done.stderr
    assert physics.load_scene(model).model.nmesh == 1
    # No further than that folder.
    (tmp_path / "robots" / "urdf" / "other.xml").write_text(
        '<mujoco><include file="../../secret.xml"/></mujoco>'
    )
    with pytest.raises(physics.FileFormatError, match="lies outside of the folder"):
        physics.load_scene(tmp_path / "robots" / "urdf" / "other.xml")
    assert untrust_folder(tmp_path / "robots")
    assert not untrust_folder(tmp_path / "robots")
    with pytest.raises(physics.FileFormatError, match="lies outside of the folder"):
        physics.load_scene(model)


def test_what_can_not_be_trusted_is_refused(tmp_path: Path, own_settings: Path) -> None:
    with pytest.raises(physics.EngineError, match="no such folder"):
        trust_folder(tmp_path / "nothing")
    with pytest.raises(physics.EngineError, match="every file there is"):
        trust_folder("/")


def test_trust_is_only_taken_from_a_file_that_nobody_else_can_write(
    tmp_path: Path, own_settings: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "robots" / "inner"
    folder.mkdir(parents=True)
    trust_folder(tmp_path / "robots")
    kept = own_settings / "stroboscope" / "trusted_folders.json"
    assert own_folder(folder / "model.xml") == tmp_path / "robots"
    kept.chmod(0o666)
    assert own_folder(folder / "model.xml") == folder
    assert "can be written by others" in caplog.text
    kept.chmod(0o600)
    kept.write_text("[]")
    assert own_folder(folder / "model.xml") == folder
    assert "nothing in it is trusted" in caplog.text
