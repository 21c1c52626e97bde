"""Run a script or a module as Python itself would: as ``__main__``, and leave no trace of us.

What a script can see is set up here: ``sys.argv``, ``sys.path[0]``, a real ``__main__`` module
that pickle, ``inspect`` and multiprocessing's spawn find. Exceptions, SystemExit and
KeyboardInterrupt simply pass through to the interpreter, which prints them, sets the exit code and
dies of SIGINT after Ctrl+C as it always does; only our frames are taken out of what it prints.
"""

import builtins
import errno
import os
import runpy
import sys
import types
import zipfile
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path

from stroboscope.debugger_protocol.file_kinds import what_opens

__all__ = ["run_module", "run_script"]


class _ScriptLoader(SourceFileLoader):
    """Loads a script without writing a ``.pyc`` beside it, as the interpreter does."""

    def get_code(self, fullname: str) -> types.CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def run_script(path: str, args: Sequence[str]) -> None:
    """Run the file, folder or archive ``path`` as ``python path args…`` would.

    Raises whatever the script raises, and SystemExit(2) when the file can't be read. To be called
    on the main thread, and last: ``__main__`` and ``sys.path`` are the script's from then on.
    """
    if Path(path).is_dir() or (Path(path).is_file() and zipfile.is_zipfile(path)):
        sys.argv = [path, *args]
        # Python puts the place of `__main__.py` there even in safe-path mode.
        sys.path[0:1] = [_absolute(path)]
        _run_as_main("__main__", alter_argv=False)
        return
    try:
        Path(path).read_bytes()
    except OSError as error:
        number = error.errno if error.errno is not None else errno.ENOENT
        text = f"{os.path.abspath(path)!r}: [Errno {number}] {os.strerror(number)}"
        sys.stderr.write(f"stroboscope: can't open file {text}\n")
        raise SystemExit(2) from None
    if told := what_opens(path):
        sys.stderr.write(f"stroboscope: {path} is no script, it {told}\n")
        raise SystemExit(2)
    sys.argv = [path, *args]
    path = _absolute(path)
    if not sys.flags.safe_path:
        sys.path[0:1] = [os.path.dirname(os.path.realpath(path))]
    module = _fresh_main_module()
    loader = SourceFileLoader("__main__", path)
    vars(module).update(__file__=path, __cached__=None, __loader__=loader)
    try:
        _ScriptLoader("__main__", path).exec_module(module)
    except BaseException:
        _hide_our_frames(lambda frame: frame.f_code.co_filename == path)
        raise


def _absolute(path: str) -> str:
    """Return the path that the interpreter would give its script, which may change directory."""
    return os.path.abspath(path) if sys.platform == "win32" else os.path.join(os.getcwd(), path)


def run_module(name: str, args: Sequence[str]) -> None:
    """Run a module as ``python -m name args…`` would; raises what it raises."""
    sys.argv = ["-m", *args]
    if not sys.flags.safe_path:
        sys.path[0:1] = [os.getcwd()]
    _run_as_main(name, alter_argv=True)


def _run_as_main(name: str, *, alter_argv: bool) -> None:
    _fresh_main_module()
    try:
        # What the interpreter itself calls for `-m`.
        runpy._run_module_as_main(name, alter_argv=alter_argv)  # type: ignore[attr-defined]
    except BaseException:
        _hide_our_frames(lambda frame: frame.f_globals.get("__name__") == runpy.__name__)
        raise


def _fresh_main_module() -> types.ModuleType:
    """Make the module ``__main__`` anew, as empty as the interpreter makes it."""
    module = types.ModuleType("__main__")
    vars(module).update(__builtins__=builtins, __annotations__={})
    sys.modules["__main__"] = module
    return module


# --- tracebacks

_IsFirst = Callable[[types.FrameType], bool]

# Top-level packages whose frames follow ours: a wait for the debugger ends in `threading`.
_CALLED_BY_US = frozenset({"stroboscope", "websockets", "msgspec"} | sys.stdlib_module_names)


def _hide_our_frames(is_first: _IsFirst) -> None:
    """Let the hook that prints an uncaught exception, the script's own too, not see our frames.

    ``is_first`` recognises the outermost frame that is to be seen.
    """
    hook = sys.excepthook

    def print_uncaught(
        kind: type[BaseException], error: BaseException, trace: types.TracebackType | None
    ) -> None:
        visible = list(_frames(trace))
        while visible and not is_first(visible[0].tb_frame):
            visible.pop(0)
        error.__traceback__ = _without_wrappers(visible)
        for other in _related(error):
            other.__traceback__ = _without_wrappers(_frames(other.__traceback__))
        hook(kind, error, error.__traceback__)

    sys.excepthook = print_uncaught


def _frames(trace: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _without_wrappers(
    entries: "Sequence[types.TracebackType] | Iterator[types.TracebackType]",
) -> types.TracebackType | None:
    """Return the traceback without wrapped ``mujoco`` functions and what they call of ours."""
    visible: list[types.TracebackType] = []
    inside_wrapper = False
    for entry in entries:
        module = str(entry.tb_frame.f_globals.get("__name__"))
        # Inside, everything is ours until a callback of the script is called.
        inside_wrapper = module.startswith(__package__) or (
            inside_wrapper and module.partition(".")[0] in _CALLED_BY_US
        )
        if not inside_wrapper:
            visible.append(entry)
    result: types.TracebackType | None = None
    for entry in reversed(visible):
        result = types.TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def _related(error: BaseException) -> list[BaseException]:
    """Return the exceptions chained to ``error``, without ``error``."""
    found: list[BaseException] = []
    pending = [error.__cause__, error.__context__]
    while pending:
        other = pending.pop()
        if other is not None and all(other is not each for each in (error, *found)):
            found.append(other)
            pending += [other.__cause__, other.__context__]
    return found
