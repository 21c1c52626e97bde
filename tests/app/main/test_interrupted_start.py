"""Ctrl+C while a command starts: it ends as it does later, without a word."""

import signal
import subprocess
import sys
from pathlib import Path

import mujoco
import pytest
from plain_recording import record_plain
from samples import few

ROBOT = str(Path(__file__).parents[2] / "engine" / "every_element.xml")

# The installed command, and Ctrl+C comes where it begins to import a module.
INTERRUPTED = """
import signal, sys

_, at, *sys.argv[1:] = sys.argv

class Interrupts:
    def find_spec(name, path=None, target=None):
        if name == at:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupts)
{start}
"""
COMMAND = "from stroboscope.app.main.cli import main; sys.exit(main())"
ENGINE = "import runpy; runpy.run_module('stroboscope.engine', run_name='__main__')"


def interrupted(at: str, *command: str, start: str = COMMAND) -> tuple[int, str]:
    """Return the exit code of a command and all it says."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(start=start), at, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=60,
        check=False,
        # A shell that starts the tests behind itself has told its children to ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    return done.returncode, done.stdout


STARTS = {
    "stroboscope.debugger_protocol.plain_text": "--version",
    "stroboscope.engine.trajectory.commands": "info no.mcap",
    "msgspec": "verify no.mcap",
    "argparse": "--help",
    "stroboscope.engine.instrument.import_hook": "run no.py",
    "stroboscope.engine.files.kinds": "open no.mcap",
    "stroboscope.resources.examples": "demo list",
    "stroboscope.app.main.film_export": "export no.mcap --to mp4",
    "websockets": "screenshot out.png",
    "stroboscope.app.main.doctor": "doctor",
    "stroboscope.app.main.desktop_entry": "desktop install",
    "stroboscope.debugger_protocol.window_link": "--session 1",
    "asyncio": "ctl list",
}


@pytest.mark.parametrize("at", few(STARTS, 4))
def test_ctrl_c_while_a_command_imports_ends_it_without_a_word(at: str) -> None:
    assert interrupted(at, *STARTS[at].split()) == (130, "")


@pytest.mark.parametrize(
    "command", few(["verify", "open --wait 0", "export --to csv", "cut 0 1"], 2)
)
def test_ctrl_c_within_compiled_modules_is_no_broken_installation(
    tmp_path: Path, command: str
) -> None:
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    record_plain(tmp_path / "run.mcap", model, steps=3, control=lambda step, data: None)
    words = [*command.split(), str(tmp_path / "run.mcap")]
    if command.startswith("cut"):
        words = ["cut", words[-1], *words[1:-1], "-o", str(tmp_path / "part.mcap")]
    # MuJoCo's own modules import each other, and make an ImportError of whatever comes meanwhile.
    assert interrupted("mujoco._structs", *words) == (130, "")
    assert [path.name for path in tmp_path.iterdir()] == ["run.mcap"]


def test_ctrl_c_while_the_runner_without_its_command_imports_ends_it_without_a_word() -> None:
    at = "stroboscope.engine.instrument.import_hook"
    assert interrupted(at, "run", "no.py", start=ENGINE) == (130, "")


@pytest.mark.parametrize("start", [COMMAND, ENGINE])
def test_ctrl_c_while_a_script_imports_is_the_scripts_own(tmp_path: Path, start: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import signal, sys\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        "try:\n"
        "    import colorsys\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
        "    raise\n"
    )
    code, said = interrupted("colorsys", "run", str(script), start=start)
    assert code == -signal.SIGINT
    assert said.startswith("interrupted\n")
    assert said.endswith("KeyboardInterrupt\n")
    assert "stroboscope" not in said


def test_where_ctrl_c_is_ignored_it_stays_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)")
    ignored = "signal.signal(signal.SIGINT, signal.SIG_IGN); "
    said = interrupted("msgspec", "run", str(script), start=ignored + COMMAND)
    assert said == (0, "True\n")
