"""Have a model that is not ours compiled by another process, and take what comes out of it.

The one entrance for all that opens files: ``stroboscope open``, ``load_scene``, trajectories.
``create_scene`` from the user's own script stays as it is: that is their code already.
"""

import dataclasses
import os
import re
import signal
import tempfile
from pathlib import Path
from typing import IO, Any

import msgspec

from stroboscope.engine.errors import EngineError
from stroboscope.engine.files.compression import needed
from stroboscope.engine.files.errors import (
    FileDamagedError,
    FileError,
    FileFormatError,
    FileVersionError,
)
from stroboscope.engine.files.kinds import FileKind, kind_of_file
from stroboscope.engine.files.scene_manifest import SceneManifest
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.outside.answers import (
    GIVEN,
    MAGIC,
    MOST_HEAD_BYTES,
    Answer,
    Built,
    Question,
)
from stroboscope.engine.outside.compiler import COMMAND, CompilerProcess, compiler_ahead
from stroboscope.engine.outside.limits import GuardLimits
from stroboscope.engine.outside.trust import own_folder

__all__ = ["GuardedModel", "guarded_model"]

_ERRORS: dict[str, type[FileError]] = {
    error.__name__: error for error in (FileDamagedError, FileFormatError, FileVersionError)
}
_COMMAND = COMMAND
_SIMPLER = "make it smaller or simpler, or open it in a script of your own if you trust it"
_DIGEST = re.compile("[0-9a-f]{64}")
_LAST_BYTES = 4096
_LONGEST_LINE = 300


@dataclasses.dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class GuardedModel:
    """A model from outside, compiled and tried in another process, then loaded into this one.

    ``exact``: it is the compiled model of the file itself, not one that was built anew.
    ``difference``: in what it differs from the scene that was exported; empty: in nothing.
    ``portable``: the MJCF and assets that came with a scene; may be empty. ``confined``: whether
    the system itself kept that process from other files.
    """

    model: Any
    path: Path
    name: str
    kind: FileKind
    exact: bool
    digest: bytes
    difference: str
    notes: tuple[str, ...]
    manifest: SceneManifest | None
    portable: bytes
    confined: bool


def guarded_model(
    path: str | os.PathLike[str],
    *,
    content: bytes | None = None,
    limits: GuardLimits | None = None,
) -> GuardedModel:
    """Return the model in a scene file, MJCF, URDF, MJZ or MJB that may come from anybody.

    ``content``: the file's bytes, when it is part of another file; ``path`` then only names it, and
    it can name no other file. Nothing of the file is executed, no file outside of its own folder
    (or a trusted one, see ``trust_folder``) is read, and a process with limits of time and memory
    compiles it first. Any thread; it takes half a second and the time to compile.

    Raises FileFormatError, FileDamagedError or FileVersionError, which name the file and what is
    wrong with it; FilesUnavailableError and MujocoUnavailableError without what this needs.
    """
    limits = limits or GuardLimits()
    needed("defusedxml")
    load_mujoco()
    file = Path(path)
    if content is None:
        kind_of_file(file)
        file = Path(os.path.abspath(file))
    with tempfile.TemporaryDirectory(prefix="stroboscope-outside-") as scratch:
        if content is not None:
            (Path(scratch) / GIVEN).write_bytes(content)
        question = Question(
            path=str(file),
            root=str(own_folder(file)) if content is None else scratch,
            scratch=scratch,
            with_content=content is not None,
            limits=limits,
        )
        with _compiler() as compiler:
            code = compiler.ask(question)
            answer, at = _answer(compiler.output, file, limits)
            if answer is None:
                raise _failure(code, file, compiler.complaints, limits)
            if answer.trouble is not None:
                kind = _ERRORS.get(answer.trouble.kind, FileFormatError)
                raise kind(file, answer.trouble.wrong, answer.trouble.todo)
            built = answer.built
            if built is None or (built.is_given and content is None):
                raise _failure(code, file, compiler.complaints, limits)
            compiler.output.seek(at)
            compiled = compiler.output.read(built.sizes[0])
            if built.is_given and content is not None:
                compiled = content
            portable = compiler.output.read(built.sizes[1])
        return _loaded(built, compiled, portable, file, confined=answer.confined)


def _compiler() -> CompilerProcess:
    """Return a process that has not been asked yet."""
    try:
        return compiler_ahead().take() or CompilerProcess(_COMMAND)
    except OSError as error:
        raise EngineError(
            f"the process that compiles models from outside can't be started: {error}"
        ) from error


def _answer(output: IO[bytes], file: Path, limits: GuardLimits) -> tuple[Answer | None, int]:
    """Return the head of what was answered, and where the models begin; None without one.

    Nothing is believed: whoever made the file may have the process in his hands.
    """
    output.seek(0)
    if output.read(len(MAGIC)) != MAGIC:
        return None, 0
    length = int.from_bytes(output.read(8), "little")
    if length > MOST_HEAD_BYTES:
        raise FileFormatError(file, f"it has {length:,} bytes of descriptions", _SIMPLER)
    try:
        answer = msgspec.json.decode(output.read(length), type=Answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None, 0
    at = len(MAGIC) + 8 + length
    if answer.built is not None:
        if _DIGEST.fullmatch(answer.built.digest) is None:
            return None, 0
        if sum(answer.built.sizes) > 2 * limits.result or min(answer.built.sizes) < 0:
            raise FileFormatError(file, "compiled it is too large", _SIMPLER)
        if os.fstat(output.fileno()).st_size != at + sum(answer.built.sizes):
            return None, 0
    return answer, at


def _loaded(
    built: Built, compiled: bytes, portable: bytes, file: Path, *, confined: bool
) -> GuardedModel:
    module = load_mujoco().module
    try:
        model = module.MjModel.from_binary_path("model.mjb", {"model.mjb": compiled})
    except (ValueError, RuntimeError, module.FatalError) as error:
        raise FileFormatError(file, f"its compiled model can't be loaded: {error}", _SIMPLER) from (
            error
        )
    return GuardedModel(
        model=model,
        path=file,
        name=built.name,
        kind=built.kind,
        exact=built.exact,
        digest=bytes.fromhex(built.digest),
        difference=built.difference,
        notes=built.notes,
        manifest=built.manifest,
        portable=portable,
        confined=confined,
    )


def _failure(
    code: int | None, file: Path, complaints: IO[bytes], limits: GuardLimits
) -> EngineError:
    """Say why there is no answer."""
    said = _last_words(complaints)
    memory = f"{limits.memory / 2**30:g} GiB of memory"
    if code is None or (-code == getattr(signal, "SIGXCPU", None)):
        return FileFormatError(
            file, f"compiling it took more than {limits.wall_s:g} s and was ended", _SIMPLER
        )
    if -code == getattr(signal, "SIGXFSZ", None):
        return FileFormatError(file, "compiled it is too large", _SIMPLER)
    if any(word in said for word in ("bad_alloc", "MemoryError", "allocate memory")):
        return FileFormatError(file, f"it needs more than {memory}", _SIMPLER)
    if code < 0:
        try:
            how = signal.Signals(-code).name
        except ValueError:
            how = f"signal {-code}"
        # Without memory most of what ends is ended by a signal.
        return FileFormatError(
            file,
            f"MuJoCo crashed on it ({how}{f': {said}' if said else ''}), or it needs more than "
            f"{memory}",
            "it is not safe to open in any program",
        )
    # Our own mistake, or a Python that has other modules: no fault of the file's.
    return EngineError(
        f"{file}: the process that compiles models from outside ended with {code}"
        + (f": {said}" if said else " and said nothing")
    )


def _last_words(complaints: IO[bytes]) -> str:
    size = complaints.seek(0, os.SEEK_END)
    complaints.seek(max(0, size - _LAST_BYTES))
    lines = complaints.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip()[:_LONGEST_LINE] if lines else ""
