"""Which applications on this machine can be attached to, found in the runtime directory."""

import dataclasses
import time
from pathlib import Path

from stroboscope.debugger_protocol.connection_file import list_sessions
from stroboscope.debugger_protocol.exceptions import ProtocolError

__all__ = ["FoundSession", "find_sessions"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FoundSession:
    """One running application; ``age_s`` since it opened its server."""

    path: Path
    script: str
    pid: int
    session_id: str
    age_s: float


def find_sessions() -> tuple[tuple[FoundSession, ...], str]:
    """Return the sessions of this user and, when they can't be listed, a sentence why."""
    try:
        listed = list_sessions()
    except (ProtocolError, OSError) as error:
        return (), f"The runtime directory can't be read: {error}"
    now = time.time()
    found = tuple(
        FoundSession(
            path=path,
            script=info.script,
            pid=info.pid,
            session_id=info.session_id,
            age_s=max(0.0, now - info.started),
        )
        for path, info in listed
    )
    return found, ""
