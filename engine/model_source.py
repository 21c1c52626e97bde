"""From what the user has (a path, XML, a spec, a model, nothing) to a compiled model of our own."""

import copy
import dataclasses
import importlib.resources
import os
import pathlib
from typing import Any

from stroboscope.engine.arguments import shown
from stroboscope.engine.errors import EngineError, ModelError
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.options import SceneOptions

__all__ = ["ModelSource", "load_model_source"]


@dataclasses.dataclass(frozen=True, slots=True)
class ModelSource:
    """A compiled model, the editable spec it came from (when there is one), and its origin.

    ``spec_missing`` says why there is no spec; adding a pose controller needs one.
    """

    model: Any
    spec: Any | None
    origin: str
    spec_missing: str = ""


def load_model_source(
    model: object, *, options: SceneOptions, adapter: MujocoAdapter
) -> ModelSource:
    """Return a model that nobody else holds.

    ``model``: path to MJCF, URDF or MJB; a string of MJCF (it begins with ``<``); MjSpec; MjModel;
    or None for an empty world with a floor. Raises ModelError with MuJoCo's reason when it can't
    be read, TypeError for anything else.
    """
    mujoco = adapter.module
    if isinstance(model, mujoco.MjModel):
        own = copy.copy(model)
        options.apply(own.opt, adapter=adapter)
        return ModelSource(own, None, "MjModel", "it was made from a compiled MjModel")
    try:
        spec, origin = _spec_of(model, mujoco)
        if spec is None:
            own = mujoco.MjModel.from_binary_path(origin)
            options.apply(own.opt, adapter=adapter)
            return ModelSource(own, None, origin, "it was made from a compiled .mjb file")
        options.apply(spec.option, adapter=adapter)
        return ModelSource(spec.compile(), spec, origin)
    except (ValueError, RuntimeError, OSError, mujoco.FatalError) as error:
        raise ModelError(f"can't load the model {_shown(model)}: {error}") from error


def _spec_of(model: object, mujoco: Any) -> tuple[Any | None, str]:
    """Return (spec, origin); no spec for compiled files."""
    if model is None:
        text = importlib.resources.files("stroboscope.resources").joinpath("models/empty.xml")
        return mujoco.MjSpec.from_string(text.read_text(encoding="utf-8")), "empty world"
    if isinstance(model, mujoco.MjSpec):
        return model.copy(), "MjSpec"
    if isinstance(model, str) and model.lstrip("\ufeff \t\r\n").startswith("<"):
        return mujoco.MjSpec.from_string(model), "MJCF string"
    if isinstance(model, str | os.PathLike):
        path = pathlib.Path(model)
        if not path.is_file():
            raise ModelError(f"can't load the model: there is no file {str(path)!r}")
        if path.suffix.lower() == ".mjb":
            return None, str(path)
        return mujoco.MjSpec.from_file(str(path)), str(path)
    raise TypeError(
        "model must be a path, a string of MJCF, mujoco.MjSpec, mujoco.MjModel or None, "
        f"not {shown(model)}"
    )


def recompiled(source: ModelSource, spec: Any) -> ModelSource:
    """Return ``source`` with a changed spec; raises EngineError when it does not compile."""
    try:
        return dataclasses.replace(source, model=spec.compile(), spec=spec)
    except ValueError as error:
        raise EngineError(f"the changed model does not compile: {error}") from error


def _shown(model: object) -> str:
    if isinstance(model, str | os.PathLike):
        text = os.fspath(model)
        return repr(text if len(text) < 200 else f"{text[:80]}… ({len(text)} characters)")
    return f"({type(model).__name__})"
