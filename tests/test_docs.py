"""What the documents say is true: snippets run, links lead somewhere, commands exist."""

import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from warm_process import WarmProcess

from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import list_sessions
from stroboscope.resources.examples import find_demo

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


# What the programs look at that connect to a session: a ball that sinks deep into soft ground.
BALL = """
import mujoco
import stroboscope.engine as physics

model = mujoco.MjModel.from_xml_string('''<mujoco><option o_solref=".2 1"><flag override="enable"/>
</option><worldbody><geom type="plane" size="1 1 .1"/><body pos="0 0 .2"><freejoint/>
<geom size=".1"/></body></worldbody></mujoco>''')
scene = physics.create_scene("ball", model)
physics.debugger.attach(60.0, launch=False)
while physics.debugger.is_attached():
    scene.step()
"""


def blocks(pattern: str) -> list[object]:
    """Return what ``pattern`` finds in every document, with its place as the test's id."""
    found = []
    for path, name in zip(DOCUMENTS, NAMES, strict=True):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(pattern, text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, match.start()) + 1
            found.append(pytest.param(match[1], id=f"{name}:{line}"))
    return found


@pytest.fixture
def run_script(
    warm_process: WarmProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Callable[[], str]]]:
    """``run_script(source)()``: run it in ``tmp_path`` until it ends well; return its output."""
    monkeypatch.chdir(tmp_path)
    started = []

    def run(source: str) -> Callable[[], str]:
        number = len(started)
        path, said = tmp_path / f"snippet{number}.py", tmp_path / f"said{number}.txt"
        path.write_text(source)
        start = tmp_path / f"start{number}.py"
        start.write_text(
            "import os, runpy, warnings\n"
            "warnings.simplefilter('error')\n"
            f"said = os.open({str(said)!r}, os.O_WRONLY | os.O_CREAT, 0o600)\n"
            "os.dup2(said, 1), os.dup2(said, 2)\n"
            f"runpy.run_path({str(path)!r}, run_name='__main__')\n"
        )
        script = warm_process.run(start)
        started.append(script)

        def finish() -> str:
            code = script.wait(100.0)
            text = said.read_text()
            assert code == 0, text
            assert "Traceback" not in text
            return text

        return finish

    yield run
    for script in started:
        script.kill()
        script.wait(60.0)


@pytest.mark.parametrize("snippet", blocks(r"^```python\n(.*?)^```"))
def test_a_snippet_runs_to_its_end(
    snippet: str,
    tmp_path: Path,
    run_script: Callable[[str], Callable[[], str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("mujoco", "gymnasium"):
        if f"import {module}" in snippet:
            pytest.importorskip(module)
    (tmp_path / "arm.xml").write_text(ARM)
    player = tmp_path / "player"
    player.write_text(PLAYER)
    player.chmod(0o755)
    monkeypatch.setenv("STROBOSCOPE_DEBUGGER", str(player))
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    run_script(snippet)()


CLIENT_IMPORT = "from stroboscope.debugger_protocol.client import DebuggerClient"


@pytest.mark.parametrize(
    "program",
    blocks(rf"^```python no-run\n({CLIENT_IMPORT}\n.*?)^```")
    + blocks(rf"(^    {CLIENT_IMPORT}\n(?:    .*?\n|\n)*)"),
)
def test_a_program_that_connects_runs_to_its_end(
    program: str,
    runtime_directory: Path,
    run_script: Callable[[str], Callable[[], str]],
    wait_until: Callable[..., None],
) -> None:
    pytest.importorskip("mujoco")
    script_ends = run_script(BALL)
    wait_until(lambda: list_sessions(runtime_directory))
    run_script(textwrap.dedent(program))()
    script_ends()


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


def words_of(pattern: str) -> set[str]:
    """Return what ``pattern`` finds in all documents."""
    texts = [path.read_text(encoding="utf-8") for path in DOCUMENTS]
    return {word for text in texts for word in re.findall(pattern, text, re.MULTILINE)}


def test_commands_that_are_named_exist() -> None:
    command = [sys.executable, "-m", "stroboscope.app.main.cli", "--help"]
    help_text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    named = words_of(r"(?:^    |`)stroboscope ([a-z]+)")
    assert {"run", "ctl", "demo", "doctor", "screenshot"} <= named
    for word in named:
        assert re.search(rf"\b{word}\b", help_text), f"`stroboscope {word}` is no command"


def ctl_commands() -> set[str]:
    """Return every `ctl` command of the documents, without the words before it."""
    text = (REPOSITORY / "docs" / "from_a_terminal.md").read_text(encoding="utf-8")
    table = [row.split("|")[1] for row in text.splitlines() if row.startswith("| `")]
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    listed = re.search(r"`stroboscope ctl list`.*?\[", readme, re.DOTALL)
    assert listed is not None
    cells = [*table[1:], listed[0].partition(";")[0]]
    found = {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}
    found |= words_of(r"(?:^    |`)(?:stroboscope )?ctl ([^`\n#]+)")
    bare = {word.removeprefix("stroboscope ctl ").strip() for word in found}
    options = ("--step", "--axis")  # other ways to say where to go, in the same cell
    return {word for word in bare if "…" not in word and word not in options}


@pytest.mark.parametrize("command", sorted(ctl_commands()))
def test_a_command_of_ctl_can_be_given_as_it_is_written(command: str) -> None:
    words = shlex.split(command.replace("PID", "123").replace("NAME", "arm"))
    # One word alone is a command's name, not all that it needs.
    assert refusal(words if len(words) > 1 else [*words, "--help"]) is None


def refusal(words: list[str]) -> str | int | None:
    """Return the exit code for which `ctl` would not take these words, None when it takes them."""
    try:
        ctl._parsed(words)
    except SystemExit as end:
        return end.code or None
    return None


def test_methods_of_the_client_that_are_named_exist() -> None:
    text = (REPOSITORY / "docs" / "from_a_terminal.md").read_text(encoding="utf-8")
    cells = [row.split("|")[2] for row in text.splitlines() if row.startswith("| `")]
    named = {word for cell in cells for word in re.findall(r"`([a-z_]+)\b", cell)}
    named |= words_of(r"\bclient\.([a-z_]+)\(")
    assert len(named) > 25
    assert not {name for name in named if not hasattr(DebuggerClient, name)}


def test_demos_files_extras_and_variables_that_are_named_exist() -> None:
    for name in words_of(r"stroboscope demo ([a-z][a-z-]+)") - {"list"}:
        find_demo(name)
    for name in words_of(r"\b((?:packaging|benchmarks|tests)/[\w/]+\.(?:py|sh))"):
        assert (REPOSITORY / name).is_file(), name
    benchmarks = words_of(r"run_all\.py ([a-z_]+)")
    assert all((REPOSITORY / "benchmarks" / f"{name}.py").is_file() for name in benchmarks)
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    extras = {
        each for word in words_of(r'pip install "\.\[([a-z,]+)\]"') for each in word.split(",")
    }
    assert extras
    assert extras <= set(project["project"]["optional-dependencies"])
    folders = ("app", "debugger_protocol", "engine", "packaging", "resources", "tests")
    sources = [path for folder in folders for path in (REPOSITORY / folder).rglob("*.py")]
    sources += [*REPOSITORY.glob("packaging/*.sh"), REPOSITORY / "Makefile"]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    assert not {name for name in words_of(r"\b(STROBOSCOPE_[A-Z_]+)\b") if name not in text}


def test_the_keys_of_the_window_are_those_of_its_actions() -> None:
    actions = pytest.importorskip("stroboscope.app.main.actions")
    keys = {key: spec.text for spec in actions.ACTIONS for key in spec.keys}
    text = (REPOSITORY / "docs" / "window.md").read_text(encoding="utf-8")
    table = text[text.index("| key | what |") :].partition("\n\n")[0]
    documented = re.findall(r"^\| (\S+) \| (.+?) \|$", table, re.MULTILINE)[1:]
    assert len(documented) > 10
    for key, what in documented:
        assert keys.get(key) == what
