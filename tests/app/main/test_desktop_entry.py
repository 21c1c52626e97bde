"""Files by a double click: what file managers are told."""

import configparser
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from defusedxml import ElementTree

from stroboscope.app.main import desktop_entry

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="freedesktop.org desktops")


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def test_a_double_click_runs_this_installation_and_can_be_taken_back(data, capsys):
    assert desktop_entry.main(["install"]) == 0
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read(data / "applications" / "stroboscope.desktop")
    entry = parser["Desktop Entry"]
    words = shlex.split(entry["Exec"])
    assert words[0] == sys.executable
    assert words[-3:] == ["open", "--dialog", "%f"]
    types = ElementTree.parse(data / "mime" / "packages" / "stroboscope.xml").getroot()
    named = {each.get("type") for each in types}
    assert named == set(entry["MimeType"].strip(";").split(";"))
    patterns = {each.get("pattern") for each in types.iter() if each.tag.endswith("}glob")}
    assert patterns == {"*.strobe", "*.mcap", "*.mjcf", "*.urdf", "*.mjz", "*.mjb"}
    assert desktop_entry.main(["remove"]) == 0
    assert not list(data.rglob("stroboscope.*"))
    assert desktop_entry.main(["remove"]) == 0
    capsys.readouterr()


def test_the_command_of_the_entry_opens_a_file_and_says_what_is_wrong(data, tmp_path, capsys):
    desktop_entry.main(["install"])
    text = (data / "applications" / "stroboscope.desktop").read_text()
    line = next(each for each in text.splitlines() if each.startswith("Exec="))
    words = [w for w in shlex.split(line.removeprefix("Exec=")) if w not in ("--dialog", "%f")]
    (tmp_path / "file.strobe").write_bytes(b"PK\x03\x04")
    done = subprocess.run(
        [*words, str(tmp_path / "file.strobe")],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "file.strobe" in done.stderr
    capsys.readouterr()


def test_signs_with_a_meaning_are_quoted():
    assert desktop_entry._quoted('/a b/$x"`100%\\') == '"/a b/\\\\$x\\\\"\\\\`100%%\\\\\\\\"'


def test_the_systems_own_tools_accept_both_files(data, capsys):
    desktop_entry.main(["install"])
    validate = shutil.which("desktop-file-validate")
    if validate is None:
        pytest.skip("desktop-file-validate is not installed")
    done = subprocess.run(
        [validate, str(data / "applications" / "stroboscope.desktop")],
        capture_output=True, text=True, check=False, env=dict(os.environ),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert Path(data).is_dir()
    capsys.readouterr()


@pytest.mark.parametrize("arguments", [[], ["instal"], ["install", "remove"]])
def test_other_words_are_refused(data, capsys, arguments):
    assert desktop_entry.main(arguments) == 2
    assert "usage:" in capsys.readouterr().err
