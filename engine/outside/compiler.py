"""The process that reads and compiles models from outside, seen from whoever asks.

It takes half a second to start and to import what it needs, as nothing can be imported once files
are refused to it. Who knows that a file will be opened has it start ahead of the question.
"""

import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
import threading
from typing import Final

import msgspec

from stroboscope.engine.outside.answers import Question

__all__ = ["COMMAND", "CompilerProcess", "compiler_ahead"]

COMMAND: Final = (sys.executable, "-P", "-m", "stroboscope.engine.outside.child")


class CompilerProcess:
    """One process for one question; a context manager that ends it.

    Raises OSError where it can't be started. ``output`` and ``complaints`` are what it wrote. It
    ends by itself when this process has gone.
    """

    def __init__(self, command: tuple[str, ...] = COMMAND) -> None:
        self.owner = os.getpid()
        self.output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self.complaints = tempfile.TemporaryFile()  # noqa: SIM115
        environment = {
            **os.environ,
            # Each thread of these would take a piece of the address space.
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
        }
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=self.output,
                stderr=self.complaints,
                env=environment,
                close_fds=True,
                start_new_session=True,
            )
        except BaseException:
            self.output.close()
            self.complaints.close()
            raise

    @property
    def is_waiting(self) -> bool:
        """Whether it lives, and is this process's own."""
        return self.owner == os.getpid() and self._process.poll() is None

    def ask(self, question: Question) -> int | None:
        """Return the exit code that it ended with, or None when it took too long and was ended."""
        line = json.dumps(msgspec.to_builtins(question)).encode("ascii") + b"\n"
        pipe = self._process.stdin
        assert pipe is not None  # noqa: S101 - it was asked for
        # One that has ended can't read; why it has is told by its exit code.
        with contextlib.suppress(BrokenPipeError):
            pipe.write(line)
            pipe.flush()
        took_too_long = threading.Event()

        def end() -> None:
            took_too_long.set()
            self._process.kill()

        # Popen.wait with a limit looks twenty times a second only.
        clock = threading.Timer(question.limits.wall_s, end)
        clock.daemon = True
        clock.start()
        try:
            code = self._process.wait()
        finally:
            clock.cancel()
        return None if took_too_long.is_set() else code

    def close(self) -> None:
        """End it, whatever it does."""
        if self.owner == os.getpid() and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self.output.close()
        self.complaints.close()

    def __enter__(self) -> "CompilerProcess":
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.close()


class _CompilerAhead:
    """At most one process that waits for a question; any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: CompilerProcess | None = None

    def start(self) -> None:
        """Have one wait; where it can't be started, whoever asks will say so."""
        with self._lock, contextlib.suppress(OSError):
            if self._waiting is None:
                self._waiting = CompilerProcess()

    def take(self) -> CompilerProcess | None:
        """Return the one that waits, which is the caller's then; None without any."""
        with self._lock:
            found, self._waiting = self._waiting, None
        if found is not None and not found.is_waiting:
            found.close()
            return None
        return found

    def close(self) -> None:
        """End the one that waits."""
        if (found := self.take()) is not None:
            found.close()


@functools.cache
def compiler_ahead() -> _CompilerAhead:
    """Return where this process's one waiting compiler is."""
    return _CompilerAhead()
