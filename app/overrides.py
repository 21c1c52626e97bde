"""Keeps an error in an override of a Qt method from killing the window on Python 3.11.

When a Python override of a C++ method raises, PySide puts the method's name before the error's
message. Up to Python 3.11 an error that C code has raised (an index out of range, a division by
zero, a wrong type) is not an object yet at that point but its bare text, and PySide, which takes it
for one, crashes: the whole process ends instead of one picture. An error that has gone through a
``finally`` is an object, so every override gets one around it. Newer Pythons need nothing.
"""

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from shiboken6 import Shiboken

__all__ = ["guard_overrides"]

_QT = ("PySide6", "shiboken6", "Shiboken")
_guarded = False


def guard_overrides() -> None:
    """Guard the overrides of every class over Qt's that is made from now on, in whatever package.

    Packages that make such classes call it before they do.
    """
    global _guarded
    if not _guarded and sys.version_info < (3, 12):
        _guarded = True
        made: Any = classmethod(_guard)
        setattr(Shiboken.Object, "__init_subclass__", made)  # noqa: B010 - mypy knows no such method


def _guard(cls: Any, /, **keywords: Any) -> None:
    super(Shiboken.Object, cls).__init_subclass__(**keywords)
    bases = [base for base in cls.__mro__ if base.__module__.partition(".")[0] in _QT]
    slots: set[str] | None = None
    for name, method in list(vars(cls).items()):
        if not isinstance(method, types.FunctionType) or name.startswith("__"):
            continue
        if not any(name in vars(base) for base in bases):
            continue
        slots = _slots(bases) if slots is None else slots
        # Slots stay: PySide counts their parameters to know what a signal may pass.
        if name not in slots:
            setattr(cls, name, _with_errors_as_objects(method))


def _with_errors_as_objects(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def guarded(*arguments: Any, **keywords: Any) -> Any:
        try:
            return method(*arguments, **keywords)
        finally:
            pass  # going through here makes an error an object

    return guarded


def _slots(bases: list[type]) -> set[str]:
    """Return the names of the signals and slots of these classes of Qt."""
    names = set()
    for base in bases:
        meta = getattr(base, "staticMetaObject", None)
        if meta is not None:
            names |= {
                bytes(meta.method(i).name().data()).decode() for i in range(meta.methodCount())
            }
    return names
