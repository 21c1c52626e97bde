"""Computing on scratch data what a physics step would compute, without the script's code."""

from typing import Any

from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["evaluate"]


def evaluate(model: Any, scratch: Any, *, adapter: MujocoAdapter) -> None:
    """Compute on ``scratch`` all that a step computes before it integrates.

    ``mjcb_control`` belongs to the script and may count its calls: where there is one, the stage
    functions do what ``mj_forward`` does without it.
    """
    if not adapter.has_control_callback():
        adapter.mj_forward(model, scratch)
        return
    module = adapter.module
    adapter.forget_lazy_results(scratch)
    module.mj_fwdPosition(model, scratch)
    module.mj_sensorPos(model, scratch)
    module.mj_fwdVelocity(model, scratch)
    module.mj_sensorVel(model, scratch)
    module.mj_fwdActuation(model, scratch)
    module.mj_fwdAcceleration(model, scratch)
    module.mj_fwdConstraint(model, scratch)
    module.mj_sensorAcc(model, scratch)
