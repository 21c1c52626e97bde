"""Run a demo as a user does, in a process of its own, with a real client in place of the window."""

import dataclasses
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from warm_process import Script, WarmProcess

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import list_sessions

DEADLINE_S = 60.0


@dataclasses.dataclass
class RunningScript:
    """A script in a process of its own, and the client that stands in for the window."""

    process: subprocess.Popen[str] | Script
    client: DebuggerClient
    output_file: Path

    def output(self) -> str:
        """What it has printed so far, both streams."""
        return self.output_file.read_text(encoding="utf-8")

    def finish(self) -> str:
        """Wait for its end; return its output. The exit status stands in ``process``."""
        self.process.wait(DEADLINE_S)
        return self.output()

    def scene_id(self, name: str) -> int:
        """Wait until the scene ``name`` exists and return its id."""
        found: list[int] = []

        def exists(client: DebuggerClient) -> bool:
            found[:] = [scene.scene_id for scene in client.scenes() if scene.name == name]
            return bool(found)

        if not self.client.wait_until(exists, DEADLINE_S):
            pytest.fail(f"no scene {name!r}; there are {self.client.scenes()}:\n{self.output()}")
        return found[0]


# What Python does with its arguments, in a process that was forked with the imports done.
AS_PYTHON_DOES = """
import os, runpy, sys, warnings
said = os.open({output!r}, os.O_WRONLY | os.O_CREAT, 0o600)
os.dup2(said, 1), os.dup2(said, 2)
warnings.simplefilter("error")
sys.argv = {argv!r}
if {how!r} == "-m":
    runpy.run_module({what!r}, run_name="__main__", alter_sys=True)
else:
    exec(compile({what!r}, "<string>", "exec"))
"""


@pytest.fixture
def start_script(
    tmp_path: Path,
    runtime_directory: Path,
    wait_until: Callable[..., None],
    warm_process: WarmProcess,
) -> Iterator[Callable[..., RunningScript]]:
    """``start_script("-m", "module", …)``: start Python with these arguments and connect to it."""
    started: list[RunningScript] = []
    processes: list[subprocess.Popen[str] | Script] = []

    def run(output_file: Path, how: str, *arguments: str) -> subprocess.Popen[str] | Script:
        if how in ("-m", "-c"):
            source = AS_PYTHON_DOES.format(
                output=str(output_file), argv=list(arguments), how=how, what=arguments[0]
            )
            path = tmp_path / f"start-{len(processes)}.py"
            path.write_text(source, encoding="utf-8")
            output_file.touch()
            return warm_process.run(path)
        with output_file.open("w") as output:
            return subprocess.Popen(
                [sys.executable, "-W", "error", how, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def start(*arguments: str) -> RunningScript:
        known = {path for path, _ in list_sessions(runtime_directory)}
        output_file = tmp_path / f"output-{len(processes)}.txt"
        process = run(output_file, *arguments)
        processes.append(process)

        def new_sessions() -> list[Path]:
            return [p for p, _ in list_sessions(runtime_directory) if p not in known]

        wait_until(lambda: new_sessions() or process.poll() is not None, DEADLINE_S)
        if not new_sessions():
            pytest.fail(f"{arguments} opened no session; it said:\n{output_file.read_text()}")
        script = RunningScript(process, DebuggerClient.connect(new_sessions()[0]), output_file)
        started.append(script)
        return script

    yield start
    for script in started:
        script.client.close()
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()
