"""Do something right after a module is imported, without importing it earlier than the script.

Importing ``mujoco`` before the script would freeze what the script sets first, such as
``os.environ["MUJOCO_GL"]``; and a script that never imports it is none of our business.
"""

import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence

__all__ = ["after_import"]

_Action = Callable[[types.ModuleType], None]


def after_import(name: str, action: _Action) -> None:
    """Call ``action(module)`` once, now or as soon as the top-level module ``name`` is imported.

    The action runs on the importing thread, after the module's own code and before the script
    goes on; it must not raise.
    """
    module = sys.modules.get(name)
    if module is not None:
        action(module)
    else:
        sys.meta_path.insert(0, _Finder(name, action))


class _Finder:
    """Finds one module as everybody else would, and adds the action to its loader once."""

    def __init__(self, name: str, action: _Action) -> None:
        self._name = name
        self._action = action
        self._searching = False

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the module that waits for us; part of the import protocol."""
        if fullname != self._name or self._searching:
            return None
        self._searching = True
        try:
            spec = _find_elsewhere(self, fullname, path, target)
        finally:
            self._searching = False
        loader = spec.loader if spec is not None else None
        if hasattr(loader, "exec_module") and not isinstance(loader, type):
            self._extend(loader)
        return spec

    def _extend(self, loader: object) -> None:
        """Let this loader, which makes this one module, call the action at its end."""
        exec_module: Callable[[types.ModuleType], None] = loader.exec_module  # type: ignore[attr-defined]

        def exec_and_act(module: types.ModuleType) -> None:
            del loader.exec_module  # type: ignore[attr-defined]
            exec_module(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            self._action(module)

        try:
            loader.exec_module = exec_and_act  # type: ignore[attr-defined]
        except AttributeError:
            return  # a loader that can't be extended: the module stays as it is


def _find_elsewhere(
    ours: _Finder, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None
) -> importlib.machinery.ModuleSpec | None:
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if finder is ours or find is None:
            continue
        spec: importlib.machinery.ModuleSpec | None = find(fullname, path, target)
        if spec is not None:
            return spec
    return None
