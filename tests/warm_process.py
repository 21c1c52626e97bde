"""Scripts for tests, each in a process of its own that starts in no time.

Starting Python, NumPy, MuJoCo and the engine takes most of a second of processor time, and a
hundred tests want a script each. So one process has imported all that and forks for every script;
the child goes on as ``python -P script.py`` would: a ``__main__`` of its own, its arguments, folder
and environment, output where it is wanted, exit code, and the interpreter's own end.

Run as ``python warm_process.py DESCRIPTOR``: a socket on which requests come, one line of JSON
each. It ends, and its children with it, when the other end is closed.
"""

import array
import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from pathlib import Path
from typing import IO, Any

_MODULES = (
    "numpy.random",
    "mujoco",
    "stroboscope.engine.creation",
    "stroboscope.engine.debugger",
    "stroboscope.engine.batch.batch_scene",
    "stroboscope.engine.debug_draw.debug_draw",
    "stroboscope.debugger_protocol.host.server",
    "stroboscope.engine.outside.building",
    "stroboscope.engine.trajectory.trajectory",
    "stroboscope.app.main.cli",
)


class Script:
    """A script that runs: what ``subprocess.Popen`` is for other programs."""

    def __init__(self, warm: "WarmProcess", pid: int, stdout: IO[str] | None) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdout = stdout
        self._warm = warm

    def poll(self) -> int | None:
        """Return its exit code, None while it runs."""
        if self.returncode is None:
            self.returncode = self._warm.ask(poll=self.pid)["code"]
        return self.returncode

    def wait(self, timeout: float = 60.0) -> int:
        """Wait for its end; return its exit code."""
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(f"script {self.pid}", timeout)
            threading.Event().wait(0.002)
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        """End it as ``kill -9`` does."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


class WarmProcess:
    """The process that forks, seen from the tests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # it forks
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, **one_thread},
            )
        self._answers = self._socket.makefile("r")

    def run(self, path: Path, *arguments: str, output: bool = False) -> Script:
        """Run a script; with ``output`` its standard output can be read."""
        reader, stdout = None, os.open(os.devnull, os.O_WRONLY)
        if output:
            os.close(stdout)
            read_end, stdout = os.pipe()
            reader = os.fdopen(read_end, "r")
        # Output of others goes where that of the tests goes: what a script says when it fails.
        try:
            return self.start(path, *arguments, descriptors=(stdout,), reader=reader)
        finally:
            os.close(stdout)

    def start(
        self,
        path: Path,
        *arguments: str,
        descriptors: tuple[int, ...],
        reader: IO[str] | None = None,
        session: bool = False,
    ) -> Script:
        """Run a script with descriptors for standard output, input and errors, as many as given.

        ``session``: in a session of its own.
        """
        answer = self.ask(
            *descriptors,
            path=str(path),
            arguments=arguments,
            folder=str(Path.cwd()),
            environment=dict(os.environ),
            session=session,
        )
        return Script(self, answer["pid"], reader)

    def ask(self, *descriptors: int, **request: Any) -> dict[str, Any]:
        """Send a request; return the answer."""
        data = json.dumps(request).encode() + b"\n"
        with self._lock:
            socket.send_fds(self._socket, [data[:1]], list(descriptors))
            self._socket.sendall(data[1:])
            line = self._answers.readline()
        if not line:
            raise RuntimeError(f"the process that starts scripts ended: {self._process.wait(60)}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End it and every script that still runs."""
        self._answers.close()
        self._socket.close()
        self._process.wait(60)


def _read(requests: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return the next request and the descriptors that came with it; empty at the end."""
    text, descriptors = b"", array.array("i")
    while not text.endswith(b"\n"):
        data, received, _, _ = socket.recv_fds(requests, 1 << 16, 3)
        if not data:
            return {}, []
        text += data
        descriptors.extend(received)
    request: dict[str, Any] = json.loads(text)
    return request, descriptors.tolist()


def _become(request: dict[str, Any], *descriptors: int) -> None:
    """Take over the request's arguments, folder, environment and files."""
    for descriptor, place in zip(descriptors, (1, 0, 2), strict=False):
        os.dup2(descriptor, place)
        os.close(descriptor)
    if request["session"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = [request["path"], *request["arguments"]]


def _serve(requests: socket.socket) -> dict[str, Any]:
    """Fork for every request; return it in the child, and nothing when it is over."""
    running: set[int] = set()
    while True:
        request, descriptors = _read(requests)
        if not request:
            break
        if "poll" in request:
            pid, status = os.waitpid(request["poll"], os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if pid else None
            running.discard(pid)
            answer = {"code": code}
        else:
            # Before anybody is answered, who may write the next script to the same file.
            request["text"] = Path(request["path"]).read_text(encoding="utf-8")
            pid = os.fork()
            if pid == 0:
                requests.close()
                _become(request, *descriptors)
                return request
            running.add(pid)
            for each in descriptors:
                os.close(each)
            answer = {"pid": pid}
        requests.sendall(json.dumps(answer).encode() + b"\n")
    for pid in running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return {}


def _main() -> types.CodeType | None:
    """Return the code of a script in the process that is to run it."""
    for name in _MODULES:
        with contextlib.suppress(ImportError):  # MuJoCo may not be there
            importlib.import_module(name)
    gc.freeze()
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    if not request:
        return None
    path = request["path"]
    main = types.ModuleType("__main__")
    main.__file__ = path
    sys.modules["__main__"] = main
    return compile(request["text"], path, "exec")


if __name__ == "__main__" and (_code := _main()) is not None:
    exec(_code, sys.modules["__main__"].__dict__)  # noqa: S102 - that is what it is for
