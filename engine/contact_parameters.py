"""The parameters that contacts have, and where each came from.

MuJoCo mixes the parameters of two geoms (``mj_contactParam``) and does not say how. The rules are
followed here to name the source of each; the numbers themselves are those of the contact.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.topics import ParameterOrigin
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["contact_parameters"]


def contact_parameters(model: Any, contact: Any, *, adapter: MujocoAdapter) -> Arrays:
    """Return what CONTACTS tells of effective parameters and of their origin, fresh copies.

    ``solref`` has its time constant raised where MuJoCo does that when it uses it.
    """
    geom = np.asarray(contact.geom).reshape(-1, 2)
    count = len(geom)
    solref = np.array(contact.solref, dtype=np.float64).reshape(count, 2)
    solreffriction = np.array(contact.solreffriction, dtype=np.float64).reshape(count, 2)
    clamped = _clamp(model, solref, adapter=adapter)
    _clamp(model, solreffriction, adapter=adapter)
    pair = _pairs(model, geom)
    return {
        "dim": np.array(contact.dim, dtype=np.int32).reshape(count),
        "friction": np.array(contact.friction, dtype=np.float64).reshape(count, 5),
        "solref": solref,
        "solreffriction": solreffriction,
        "solimp": np.array(contact.solimp, dtype=np.float64).reshape(count, 5),
        "includemargin": np.array(contact.includemargin, dtype=np.float64).reshape(count),
        "hull": _hulls(model, geom, adapter=adapter),
        "origin": _origins(model, geom, pair, adapter=adapter),
        "pair": pair,
        "clamped": clamped,
    }


def _clamp(model: Any, solref: NDArray[np.float64], *, adapter: MujocoAdapter) -> NDArray[np.int32]:
    """Raise time constants in place as ``refsafe`` does; return where, (n,)."""
    shortest = 2.0 * float(model.opt.timestep)
    safe = not model.opt.disableflags & int(adapter.module.mjtDisableBit.mjDSBL_REFSAFE)
    raised = (solref[:, 0] > 0.0) & (solref[:, 0] < shortest) & safe
    solref[raised, 0] = shortest
    return raised.astype(np.int32)


def _pairs(model: Any, geom: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the explicit contact pair that made each contact, -1 for none, (n,)."""
    pair = np.full(len(geom), -1, dtype=np.int32)
    if not model.npair:
        return pair
    first, second = np.asarray(model.pair_geom1), np.asarray(model.pair_geom2)
    keys = np.minimum(first, second) * np.int64(model.ngeom) + np.maximum(first, second)
    order = np.argsort(keys, kind="stable")
    key = geom.min(axis=1) * np.int64(model.ngeom) + geom.max(axis=1)
    at = np.minimum(np.searchsorted(keys[order], key), model.npair - 1)
    found = (keys[order][at] == key) & (geom >= 0).all(axis=1)
    pair[found] = order[at][found]
    return pair


def _hulls(model: Any, geom: NDArray[np.int32], *, adapter: MujocoAdapter) -> NDArray[np.int32]:
    hull = np.zeros(geom.shape, dtype=np.int32)
    has_geom = geom >= 0
    mesh = int(adapter.module.mjtGeom.mjGEOM_MESH)
    hull[has_geom] = model.geom_type[geom[has_geom]] == mesh
    return hull


# Columns of the table that _origins makes of all geoms, and where each parameter begins in it.
_COLUMNS = ("condim", "friction", "solref", "solimp", "margin", "gap")
_BEGINS = np.cumsum([0, 1, 3, 2, 5, 1])
_SOLREF, _MARGIN = 4, 11


def _origins(
    model: Any, geom: NDArray[np.int32], pair: NDArray[np.int32], *, adapter: MujocoAdapter
) -> NDArray[np.int32]:
    """Return the origins of condim, friction, solref, solimp, and margin with gap, (n, 5)."""
    origin = np.full((len(geom), 5), int(ParameterOrigin.FLEX), dtype=np.int32)
    rigid = (geom >= 0).all(axis=1)
    if rigid.any():
        origin[rigid] = _geom_origins(model, geom[rigid], adapter=adapter)
    origin[pair >= 0] = int(ParameterOrigin.PAIR)
    if model.opt.enableflags & int(adapter.module.mjtEnableBit.mjENBL_OVERRIDE):
        origin[:, 1:5] = int(ParameterOrigin.OVERRIDE)
    return origin


def _geom_origins(
    model: Any, geom: NDArray[np.int32], *, adapter: MujocoAdapter
) -> NDArray[np.int32]:
    """Return the origins for contacts of two geoms, (n, 5)."""
    origin = np.empty((len(geom), 5), dtype=np.int32)
    # All parameters at once: there are few contacts and many parameters.
    columns = [getattr(model, f"geom_{name}").reshape(model.ngeom, -1) for name in _COLUMNS]
    table = np.concatenate(columns, axis=1)
    priority = np.asarray(model.geom_priority)
    first, second = table[geom[:, 0]], table[geom[:, 1]]
    same = np.logical_and.reduceat(first == second, _BEGINS, axis=1)

    mixed = np.empty((len(geom), 4), dtype=np.int32)
    mixed[:] = (ParameterOrigin.MAXIMUM, ParameterOrigin.MAXIMUM, 0, ParameterOrigin.MIX)
    standard = (first[:, _SOLREF] > 0.0) & (second[:, _SOLREF] > 0.0)
    mixed[:, 2] = np.where(standard, int(ParameterOrigin.MIX), int(ParameterOrigin.MINIMUM))
    lead = priority[geom[:, 0]] - priority[geom[:, 1]]
    mixed[lead > 0] = int(ParameterOrigin.GEOM1)
    mixed[lead < 0] = int(ParameterOrigin.GEOM2)
    mixed[same[:, :4]] = int(ParameterOrigin.SAME)
    origin[:, :4] = mixed

    if adapter.sums_margins:
        nothing = first[:, _MARGIN:] == 0.0
        unmixed = (nothing & (second[:, _MARGIN:] == 0.0)).all(axis=1)
        rule = ParameterOrigin.SUM
    else:
        unmixed, rule = same[:, 4] & same[:, 5], ParameterOrigin.MAXIMUM
    origin[:, 4] = np.where(unmixed, int(ParameterOrigin.SAME), int(rule))
    return origin
