"""What MuJoCo derives of a model's masses, places and gears, worked out anew for a trial."""

import copy
from typing import Any

import numpy as np

from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["constants_text", "work_out_constants"]

_STALE = (
    "what follows from masses and places worked out anew (mj_setConst), which the script had not "
    "done since it wrote into them"
)


def work_out_constants(model: Any, *, adapter: MujocoAdapter) -> None:
    """Work them out in ``model``, a copy that nobody else uses."""
    adapter.module.mj_setConst(model, adapter.module.MjData(model))


def constants_text(model: Any, *, adapter: MujocoAdapter) -> str:
    """Say that working them out changes something by itself, before any edit; "" where not.

    A script that has written a mass steps with the constants of before until it calls mj_setConst:
    compared with its run, an edit would show what it has not done.
    """
    anew = copy.copy(model)
    work_out_constants(anew, adapter=adapter)
    return "" if _constants(anew) == _constants(model) else _STALE


def _constants(model: Any) -> list[bytes]:
    """Return those that a step reads."""
    names = [each for each in dir(type(model)) if each.endswith("0") and each != "qpos0"]
    values = [getattr(model, each) for each in (*names, "body_subtreemass")]
    flags = [getattr(model, each, False) for each in ("flg_gravcomp", "flg_adhesion")]
    return [
        *(each.tobytes() for each in values if isinstance(each, np.ndarray)),
        repr((float(model.stat.meaninertia), *flags)).encode(),
    ]
