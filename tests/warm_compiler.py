"""The process that compiles models from outside, forked from one that has imported everything.

Most tests of recorded runs and scene files ask for several, and what each takes is the start of
Python. It is the same program under the same limits and confinement; what its start itself is
about has tests of its own, which start it as ever.
"""

import os
import select
import tempfile
from pathlib import Path

import pytest
from warm_process import Script, WarmProcess

from stroboscope.engine.outside import compiler, guard
from stroboscope.engine.outside.compiler import COMMAND, CompilerProcess

_CHILD = Path(compiler.__file__).with_name("child.py")


class _Process:
    """A forked process, as ``subprocess.Popen`` shows others."""

    def __init__(self, script: Script, stdin: int) -> None:
        self.stdin = os.fdopen(stdin, "wb")
        self.pid = script.pid
        self.poll, self.kill = script.poll, script.kill
        self._wait = script.wait

    def wait(self) -> int:
        """Wait for its end; return its exit code."""
        descriptor = os.pidfd_open(self.pid)
        try:
            select.select([descriptor], [], [])
        finally:
            os.close(descriptor)
        return self._wait()


def use_warm_compilers(monkeypatch: pytest.MonkeyPatch, warm: WarmProcess) -> None:
    """Have this process take its compilers from one that forks them."""
    if not hasattr(os, "pidfd_open"):
        return
    ours = os.getpid()

    class WarmCompiler(CompilerProcess):
        def __init__(self, command: tuple[str, ...] = COMMAND) -> None:
            if command != COMMAND or os.getpid() != ours:
                super().__init__(command)
                return
            self.owner = ours
            self.output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
            self.complaints = tempfile.TemporaryFile()  # noqa: SIM115
            theirs, stdin = os.pipe()
            files = (self.output.fileno(), theirs, self.complaints.fileno())
            script = warm.start(_CHILD, descriptors=files, session=True)
            os.close(theirs)
            self._process = _Process(script, stdin)  # type: ignore[assignment]

    monkeypatch.setattr(compiler, "CompilerProcess", WarmCompiler)
    monkeypatch.setattr(guard, "CompilerProcess", WarmCompiler)
