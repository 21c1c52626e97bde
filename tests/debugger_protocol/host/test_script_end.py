"""How the end of a script is told."""

import sys

import pytest

from stroboscope.debugger_protocol.host.script_end import (
    describe_error,
    error_location,
    script_end,
)
from stroboscope.debugger_protocol.messages import LogLevel


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("even this fails")


def caught(error: BaseException) -> BaseException:
    """Return ``error`` with the traceback of having been raised in a library, called here."""
    namespace = {"__name__": "stroboscope.engine.scene", "error": error}
    code = compile("def fail():\n    raise error\n", "scene.py", "exec")
    exec(code, namespace)  # noqa: S102 - the place of the code is what is tested
    try:
        namespace["fail"]()
    except BaseException as raised:  # noqa: BLE001 - whatever was given
        return raised
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("exit_code", "level", "text"),
    [
        (None, LogLevel.INFO, "arm.py ended"),
        (0, LogLevel.INFO, "arm.py ended (exit code 0)"),
        (3, LogLevel.ERROR, "arm.py ended with exit code 3"),
    ],
)
def test_an_end_without_an_exception(
    monkeypatch: pytest.MonkeyPatch, exit_code: int | None, level: LogLevel, text: str
) -> None:
    monkeypatch.setattr(sys, "last_value", None, raising=False)
    end = script_end("/home/me/arm.py", exit_code=exit_code)
    assert (end.level, end.text) == (level, text)


def test_an_uncaught_exception_is_told_with_the_scripts_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = caught(RuntimeError("control\nwent wrong"))
    monkeypatch.setattr(sys, "last_value", error, raising=False)
    end = script_end("arm.py")
    assert end.level is LogLevel.ERROR
    assert end.text.startswith("arm.py ended with RuntimeError: control went wrong (test_script_")
    assert error_location(error).startswith("test_script_end.py:")


def test_ctrl_c_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "last_value", KeyboardInterrupt(), raising=False)
    end = script_end("arm.py")
    assert (end.level, end.text) == (LogLevel.INFO, "arm.py ended with KeyboardInterrupt")


def test_messages_are_short_and_exceptions_that_can_not_speak_are_named() -> None:
    assert len(describe_error(ValueError("x" * 10_000))) < 400
    assert describe_error(Unspeakable()) == "Unspeakable"
