"""Remember which file a model was compiled from, so that its scene can say so."""

import os
import sys
import weakref
from pathlib import Path
from typing import Any

__all__ = ["ModelFiles", "scene_name"]

# What MuJoCo calls a model whose file gives it no name.
_UNNAMED = ("", "MuJoCo Model")


class ModelFiles:
    """Files by model; any thread. ``install`` wraps ``MjModel.from_xml_path``."""

    def __init__(self, module: Any) -> None:
        self._model_class = module.MjModel
        self._original = module.MjModel.from_xml_path
        self._files: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._installed = False

    def install(self) -> None:
        """Begin to listen; harmless when it does."""
        if not self._installed:
            self._installed = True
            self._model_class.from_xml_path = staticmethod(self._from_xml_path)

    def remove(self) -> None:
        """Put MuJoCo's own function back."""
        if self._installed:
            self._installed = False
            self._model_class.from_xml_path = self._original

    def file_of(self, model: Any) -> str | None:
        """Return the file that ``model`` was compiled from, when this process has seen that."""
        reference, path = self._files.get(id(model), (None, ""))
        return path if reference is not None and reference() is model else None

    def _from_xml_path(self, *args: Any, **kwargs: Any) -> Any:
        model = self._original(*args, **kwargs)
        path = kwargs.get("filename", args[0] if args else None)
        if path is not None:
            key = id(model)
            reference = weakref.ref(model, lambda _: self._files.pop(key, None))
            self._files[key] = (reference, os.path.abspath(os.fspath(path)))
        return model


def scene_name(model: Any, *, file: str | None) -> str:
    """Return what to call the scene of ``model``: its own name, its file's, or the script's."""
    own = bytes(model.names).partition(b"\0")[0].decode("utf-8", errors="replace")
    if own not in _UNNAMED:
        return own
    if file is not None:
        return Path(file).stem
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(main).stem if main else "simulation"
