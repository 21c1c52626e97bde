"""What a model that is not ours may take, and may be."""

import dataclasses

__all__ = ["GuardLimits"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GuardLimits:
    """Limits of the process that compiles a model from outside; bytes and seconds.

    ``memory`` is address space, where the system can limit that (Linux, not macOS or Windows).
    ``result``: the compiled model, which the application then has in its own memory. What is more
    than ``small``, and of MuJoCo's data more than ``small_state``, is at most ``ratio`` times as
    much as the file has with all that it names: a few words can ask for gigabytes.
    """

    wall_s: float = 18.0
    cpu_s: int = 18
    memory: int = 4 << 30
    result: int = 1 << 30
    small: int = 64 << 20
    small_state: int = 256 << 20
    # As of archives. Compressed pictures become a hundred times larger.
    ratio: int = 400
    # Ten thousand free bodies have 300,000; whoever looks at a scene keeps many states of it.
    state_numbers: int = 1 << 20
    file_bytes: int = 1 << 30
    xml_bytes: int = 64 << 20
    xml_files: int = 256
    xml_depth: int = 32
    named_files: int = 20_000
    folders: int = 64
