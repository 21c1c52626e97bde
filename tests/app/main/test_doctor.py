"""The doctor finds what is wrong, and says what to do."""

import re
import subprocess
import sys
from email.message import Message

import pytest

from stroboscope.app.main.doctor import Verdict, examine, mujoco_findings


class Installed:
    """A distribution that is installed, as far as pip knows."""

    def __init__(self, name, version):
        self.version = version
        self.metadata = Message()
        self.metadata["Name"] = name


def find(**versions):
    """Return a finder for these distributions; ``mujoco_core`` means mujoco-core."""
    known = {name.replace("_", "-"): Installed(name, v) for name, v in versions.items()}
    return lambda name: known.get(name)


def verdicts(finder, imported, error=""):
    return [(f.verdict, f.text) for f in mujoco_findings(finder, lambda: (imported, error))]


def test_a_half_upgraded_mujoco_is_a_problem():
    findings = verdicts(find(mujoco="3.11.0", mujoco_core="4.0.1"), "4.0.1")
    assert findings[0][0] is Verdict.PROBLEM
    assert "half upgraded" in findings[0][1]


@pytest.mark.parametrize(
    ("finder", "imported", "error", "words"),
    [
        (find(mujoco="3.11.0"), "", "undefined symbol: mj_foo", "undefined symbol"),
        (find(mujoco="3.11.0"), "4.0.1", "", "pip says 3.11.0"),
        (find(mujoco="3.2.7"), "3.2.7", "", "too old"),
    ],
)
def test_other_broken_installs_are_problems(finder, imported, error, words):
    ((verdict, text),) = verdicts(finder, imported, error)
    assert verdict is Verdict.PROBLEM
    assert words in text


def test_no_mujoco_is_only_a_note():
    ((verdict, _text),) = verdicts(find(), "")
    assert verdict is Verdict.NOTE


@pytest.mark.parametrize("finder", [find(mujoco="3.11.0"), find(mujoco_core="3.11.0")])
def test_a_sound_install_is_fine(finder):
    ((verdict, _text),) = verdicts(finder, "3.11.0")
    assert verdict is Verdict.OK


def test_this_installation_is_examined_without_problems(display):
    findings = list(examine())
    assert [f for f in findings if f.verdict is Verdict.PROBLEM] == []
    names = {finding.what for finding in findings}
    assert {"stroboscope", "mujoco", "display", "OpenGL", "runtime directory"} <= names


def test_every_problem_comes_with_advice(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    problems = [f for f in examine() if f.verdict is Verdict.PROBLEM]
    assert [f.what for f in problems] == ["display"]
    assert all(f.advice for f in problems)


def test_a_problem_sets_the_exit_code(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "stroboscope.app.main.cli", "doctor"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": "/usr/bin:/bin", "STROBOSCOPE_RUNTIME_DIR": str(tmp_path / "a" / "b")},
    )
    assert done.returncode == 1
    assert re.search(r"\d problems?\.", done.stdout)
    assert "→" in done.stdout
