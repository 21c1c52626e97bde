"""Computing on scratch data what a physics step would compute, without the script's code."""

from typing import Any

from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["evaluate", "results"]

_RESULTS = (
    "xpos", "xquat", "xipos", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat", "site_xpos",
    "site_xmat", "cam_xpos", "cam_xmat", "light_xpos", "light_xdir", "subtree_com", "cvel",
    "ten_length", "ten_velocity", "wrap_xpos", "flexvert_xpos", "actuator_length",
    "actuator_velocity", "actuator_force", "qfrc_bias", "qfrc_spring", "qfrc_damper",
    "qfrc_gravcomp", "qfrc_fluid", "qfrc_passive", "qfrc_actuator", "qfrc_constraint", "qacc",
    "sensordata", "efc_pos", "efc_aref", "efc_force",
)  # fmt: skip
_OF_CONTACTS = ("geom", "dist", "pos", "frame", "friction")


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


def results(data: Any) -> bytes:
    """Return what was computed on data, to compare it bit by bit; zeros have no sign here."""
    arrays = [getattr(data, name) for name in _RESULTS if hasattr(data, name)]
    arrays += [getattr(data.contact, name) for name in _OF_CONTACTS]
    return b"".join((array + 0).tobytes() for array in arrays)
