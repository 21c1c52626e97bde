"""What the documents say is true: snippets run, links lead somewhere, commands exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted(
    [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md")], key=lambda path: path.name
)
NAMES = [str(path.relative_to(REPOSITORY)) for path in DOCUMENTS]

# A model for the snippets that load "arm.xml": one joint, one actuator, a body called hand.
ARM = """
<mujoco>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" damping="1"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
      <body name="hand" pos="0.3 0 0"><geom size="0.05"/></body>
    </body>
  </worldbody>
  <actuator><motor joint="shoulder"/></actuator>
</mujoco>
"""

# Stands in for the window: plays a while, then goes, as a person would.
PLAYER = f"""#!{sys.executable}
import sys
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import find_session
from stroboscope.debugger_protocol.exceptions import ProtocolError

session = find_session(sys.argv[sys.argv.index("--session") + 1])
try:
    with DebuggerClient.connect(session) as client:
        client.fast_forward()
        client.wait_until(lambda c: any(s.total_steps >= 100 for s in c.scenes()), 30.0)
except ProtocolError as error:
    print(error)
"""


def snippets() -> list[object]:
    """Return every Python block of every document, with its place as the test's id."""
    found = []
    for path, name in zip(DOCUMENTS, NAMES, strict=True):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, match.start()) + 1
            found.append(pytest.param(match[1], id=f"{name}:{line}"))
    return found


@pytest.mark.parametrize("snippet", snippets())
def test_a_snippet_runs_to_its_end(snippet: str, tmp_path: Path) -> None:
    for module in ("mujoco", "gymnasium"):
        if f"import {module}" in snippet:
            pytest.importorskip(module)
    (tmp_path / "arm.xml").write_text(ARM)
    (tmp_path / "snippet.py").write_text(snippet)
    player = tmp_path / "player"
    player.write_text(PLAYER)
    player.chmod(0o755)
    environment = dict(os.environ, STROBOSCOPE_DEBUGGER=str(player), QT_QPA_PLATFORM="offscreen")
    result = subprocess.run(
        [sys.executable, "-W", "error", "snippet.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_to_files_that_exist(name: str) -> None:
    path = REPOSITORY / name
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (path.parent / target).exists(), f"{name} links to {target}"


@pytest.mark.parametrize("name", NAMES)
def test_make_targets_that_are_named_exist(name: str) -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    named = re.findall(r"(?:^    |`)make ([a-z-]+)", text, re.MULTILINE)
    assert set(named) <= targets


def test_commands_that_are_named_exist() -> None:
    command = [sys.executable, "-m", "stroboscope.app.main.cli", "--help"]
    help_text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    named = set()
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        named |= set(re.findall(r"(?:^    |`)stroboscope ([a-z]+)", text, re.MULTILINE))
    assert {"run", "ctl", "demo", "doctor", "screenshot"} <= named
    for word in named:
        assert re.search(rf"\b{word}\b", help_text), f"`stroboscope {word}` is no command"


def test_the_keys_of_the_window_are_those_of_its_actions() -> None:
    actions = pytest.importorskip("stroboscope.app.main.actions")
    keys = {key: spec.text for spec in actions.ACTIONS for key in spec.keys}
    text = (REPOSITORY / "docs" / "window.md").read_text(encoding="utf-8")
    table = text[text.index("| key | what |") :].partition("\n\n")[0]
    documented = re.findall(r"^\| (\S+) \| (.+?) \|$", table, re.MULTILINE)[1:]
    assert len(documented) > 10
    for key, what in documented:
        assert keys.get(key) == what
