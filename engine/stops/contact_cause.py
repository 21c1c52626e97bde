"""Contacts that push too hard: which, how deep, and whether the timestep is up to them."""

from typing import Any

import numpy as np

from stroboscope.engine.contacts import contact_forces
from stroboscope.engine.lint.subject import Subject, length
from stroboscope.engine.stops.cause import Cause, Offer, option_edit

__all__ = ["contact_cause"]


def contact_cause(subject: Subject, *, dof: int, by: str) -> Cause | None:
    """Return the contact that pushes hardest on what ``dof`` moves; None when there is none."""
    model, data = subject.model, subject.data
    contact: Any = data.contact
    geoms = np.asarray(contact.geom).reshape(-1, 2)
    if not len(geoms):
        return None
    normal = np.abs(contact_forces(model, data, adapter=subject.adapter)[:, 0])
    body = int(model.dof_bodyid[dof])
    tree = int(model.body_rootid[body])
    roots = np.where(geoms >= 0, np.asarray(model.body_rootid)[model.geom_bodyid[geoms]], -1)
    near = (roots == tree).any(axis=1)
    chosen = np.where(near, normal, -1.0) if near.any() else normal
    worst = int(np.argmax(chosen))
    first, second = (int(g) for g in geoms[worst])
    if min(first, second) < 0:
        return None
    names, dt = subject.names, subject.timestep
    one, two = names.geom(first), names.geom(second)
    depth = max(0.0, -float(contact.dist[worst]))
    time_constant = float(np.asarray(contact.solref)[worst][0])
    stiff = 0.0 < time_constant < 2.0 * dt
    hint = (
        f", whose solref time constant {time_constant:.3g}\u2009s is below two timesteps"
        if stiff
        else ""
    )
    offers: tuple[Offer, ...] = (("half the timestep", (option_edit("timestep", 0.5 * dt),)),)
    return Cause(
        text=(
            f"likely the contact of {one!r} and {two!r}{hint}: {length(depth)} deep, "
            f"{normal[worst]:.3g}\u2009N; {by} comes from contacts"
        ),
        advice=(
            "Try half the timestep, which can be simulated again from here; softer contacts "
            "(solref, solimp) need the model's file"
        ),
        elements=subject.refs("geom", (first, second)),
        offers=offers,
    )
