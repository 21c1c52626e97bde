"""A server whose start is interrupted: a KeyboardInterrupt may come after any call of it."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from stroboscope.debugger_protocol.host import server as server_module
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer


def interrupted(action: Callable[[], None], at: int) -> bool:
    """Call ``action`` with Ctrl+C after its ``at``-th call of the server; False: not so many."""
    seen = 0

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal seen
        if event in ("call", "c_return") and frame.f_code.co_filename == server_module.__file__:
            seen += 1
            if seen == at:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(watch)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


def test_ctrl_c_after_any_call_of_its_start_leaves_a_server_that_runs_or_none(
    host: Host, runtime_directory: Path
) -> None:
    server = DebugServer(host)
    at = 1
    while interrupted(server.start, at):
        files = list(runtime_directory.rglob("*.json"))
        assert files == ([server.connection_file] if server.is_running() else []), at
        server.stop()
        at += 1
    assert at > 8
    assert server.is_running()
    server.stop()
