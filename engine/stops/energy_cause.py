"""Who may have changed the energy: what acts on the scene, and if nothing does, the integrator."""

from typing import Any

import numpy as np

from stroboscope.engine.lint.subject import Subject
from stroboscope.engine.physics_options import option_info
from stroboscope.engine.stops.cause import Cause, Offer, option_edit

__all__ = ["energy_cause"]


def energy_cause(subject: Subject, *, drift: float | None) -> Cause:
    """Return what accounts for energy that has come or gone; ``drift`` [J] where it is known."""
    acting = _acting(subject)
    how_much = "" if drift is None else f" of {drift:+.4g}\u2009J"
    what = "the gain" if drift is not None and drift > 0.0 else "the loss"
    if acting:
        listed = ", ".join(acting)
        return Cause(
            text=f"likely some of {what}{how_much} is real: {listed} can do work here",
            advice="Watch the energy with these switched off to see what the integrator adds",
        )
    integrator = int(subject.model.opt.integrator)
    word = subject.module.mjtIntegrator(integrator).name.removeprefix("mjINT_").lower()
    offers: list[Offer] = [
        ("half the timestep", (option_edit("timestep", 0.5 * subject.timestep),))
    ]
    choices = option_info("integrator", adapter=subject.adapter).choices
    if word != "rk4" and "rk4" in choices:
        offers.insert(0, ('integrator="RK4"', (option_edit("integrator", choices.index("rk4")),)))
    return Cause(
        text=(
            f"no actuator, damping or contact accounts for {what}{how_much}: likely the "
            f"integrator ({word}, dt {subject.timestep:g}\u2009s)"
        ),
        advice=f"Try {' or '.join(label for label, _ in offers)}, simulated again from here",
        offers=tuple(offers),
    )


def _acting(subject: Subject) -> list[str]:
    """Return what may change the energy: in this step, or by what the model is made of."""
    model, data = subject.model, subject.data
    acting = []
    if _any(data, "actuator_force") or _any(model, "actuator_gainprm"):
        acting.append("actuators")
    if _any(model, "dof_damping") or _any(model, "tendon_damping"):
        acting.append("damping")
    if _any(model, "dof_frictionloss") or _any(model, "tendon_frictionloss"):
        acting.append("dry friction")
    if data is not None and data.ncon:
        acting.append("contacts")
    elif not subject.is_disabled("mjDSBL_CONTACT") and _may_touch(subject):
        acting.append("contacts of before")
    if _any(data, "qfrc_applied") or _any(data, "xfrc_applied"):
        acting.append("applied forces")
    if model.opt.density or model.opt.viscosity:
        acting.append("the medium")
    if data is not None and data.nefc > data.ne and not data.ncon:
        acting.append("joint limits")
    if model.neq and np.any(np.asarray(model.eq_active0)):
        acting.append("equality constraints")
    if model.nmocap:
        acting.append("mocap bodies")
    return acting


def _may_touch(subject: Subject) -> bool:
    model = subject.model
    masks = (np.asarray(model.geom_contype) | np.asarray(model.geom_conaffinity)) != 0
    return int(masks.sum()) > 1


def _any(holder: Any, name: str) -> bool:
    return holder is not None and bool(np.any(getattr(holder, name, 0)))
