"""What Qt says when it aborts the process, before it does."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from PySide6.QtCore import QMessageLogContext, QtMsgType, qFormatLogMessage, qInstallMessageHandler

__all__ = ["telling_of_aborts"]


@contextmanager
def telling_of_aborts(aborts: Callable[[], None]) -> Iterator[None]:
    """Call ``aborts`` where Qt is about to abort; what Qt says is said after that.

    For where little is said: messages wait until they are all there.
    """
    held: list[str] = []

    def tell() -> None:
        for line in held:
            sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
        held.clear()

    def take(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
        held.append(qFormatLogMessage(kind, context, message))
        if kind is QtMsgType.QtFatalMsg:
            aborts()
            tell()

    before = qInstallMessageHandler(take)
    try:
        yield
    finally:
        qInstallMessageHandler(before)
        tell()
