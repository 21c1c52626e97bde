"""Find the MuJoCo simulation inside an environment, without importing any of their packages."""

from types import FrameType
from typing import Any

from stroboscope.engine.mujoco_adapter import load_mujoco

__all__ = ["is_simulation", "physics_steps_of_call", "simulation_of"]


def is_simulation(model: object, data: object) -> bool:
    """Return whether these are a ``mujoco.MjModel`` and a ``mujoco.MjData``."""
    module = load_mujoco().module
    return isinstance(model, module.MjModel) and isinstance(data, module.MjData)


def simulation_of(env: Any) -> tuple[Any, Any]:
    """Return the model and data of a Gymnasium or dm_control environment.

    Raises TypeError when there are none, saying what to pass instead.
    """
    for candidate in (env, getattr(env, "unwrapped", None), getattr(env, "env", None)):
        found = _gymnasium(candidate) or _dm_control(candidate)
        if found is not None:
            return found
    if isinstance(getattr(env, "envs", None), list | tuple):
        raise TypeError(
            f"{type(env).__name__} holds several environments: watch them one by one, "
            "for example watch(env.envs[0])"
        )
    raise TypeError(
        f"there is no MuJoCo simulation in {type(env).__name__}: pass a Gymnasium MuJoCo "
        "environment, a dm_control environment, or watch(model, data)"
    )


def _gymnasium(env: Any) -> tuple[Any, Any] | None:
    model, data = getattr(env, "model", None), getattr(env, "data", None)
    return (model, data) if is_simulation(model, data) else None


def _dm_control(env: Any) -> tuple[Any, Any] | None:
    physics = getattr(env, "physics", None)
    model = getattr(getattr(physics, "model", None), "ptr", None)
    data = getattr(getattr(physics, "data", None), "ptr", None)
    return (model, data) if is_simulation(model, data) else None


def physics_steps_of_call(frame: FrameType) -> int:
    """Return of how many physics steps the call that ``frame`` runs consists, as far as it tells.

    dm_control takes the first of a control step as ``mj_step2``, the others as one ``mj_step``,
    and only its own argument says so beforehand. 1 for everybody else.
    """
    if frame.f_globals.get("__name__") != "dm_control.mujoco.engine":
        return 1
    nstep = frame.f_locals.get("nstep")
    return nstep if isinstance(nstep, int) else 1
