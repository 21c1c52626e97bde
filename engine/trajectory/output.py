"""What commands on files say on standard output and standard error, whatever these are."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from stroboscope.debugger_protocol.plain_text import plain_line, plain_text, short_name

__all__ = [
    "OutputError",
    "drop_output",
    "flush",
    "note_of",
    "plain_line",
    "say",
    "say_lines",
    "short_name",
]


class OutputError(Exception):
    """What was found can't be said: the disk that it goes to is full, for example."""


def say(line: str) -> None:
    """Write a line of what was found to standard output."""
    say_lines(plain_line(line))


def say_lines(text: str) -> None:
    """Write lines whose ends are all our own."""
    if sys.stdout is None:  # closed by whoever wants the exit code only
        return
    with _output():
        sys.stdout.write(plain_text(text) + "\n")


def flush() -> None:
    """Have all of it written now."""
    if sys.stdout is not None:
        with _output():
            sys.stdout.flush()


@contextmanager
def _output() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.strerror or str(error)) from error


def drop_output() -> None:
    """Let what is left raise nothing at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def note_of(command: str) -> Callable[[str], None]:
    """Return what tells on standard error what is no result."""

    def note(text: str) -> None:
        if sys.stderr is not None:
            sys.stderr.write(plain_text(f"stroboscope {command}: {text}\n"))

    return note
