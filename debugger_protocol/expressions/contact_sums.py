"""What the contacts between two sets of geoms do together."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["contact_part", "contact_sum", "geom_mask", "pair_of_contacts"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def geom_mask(geoms: Iterable[int] | None, ngeom: int) -> Mask:
    """Return (ngeom + 1,): which geoms belong to a set (None: all). The last stands for none."""
    mask = np.full(ngeom + 1, geoms is None)
    if geoms is not None:
        mask[list(geoms)] = True
    return mask


def pair_of_contacts(
    geom: NDArray[np.int32], first: Mask, second: Mask
) -> tuple[NDArray[np.intp], Array]:
    """Return the contacts between two sets of geoms, and the sign of their force on ``first``.

    ``geom`` (n, 2), -1 where there is none (a flex); contact forces act on the second geom.
    """
    a, b = geom[:, 0], geom[:, 1]
    plus = first[b] & second[a]
    chosen = np.flatnonzero(plus | (first[a] & second[b]))
    return chosen, np.where(plus[chosen], 1.0, -1.0)


def contact_sum(part: str, force: Array, frame: Array, sign: Array) -> Array:
    """Return the sum over contacts: ``force`` (k, 3) and ``frame`` (k, 3, 3) of each [N]."""
    if part == "normal":
        return np.array((float(force[:, 0].sum()),))
    if part == "friction":
        force = force * (0.0, 1.0, 1.0)
    world = (force[:, :, None] * frame).sum(axis=1) * sign[:, None]
    total: Array = world.sum(axis=0)
    if part == "friction":
        return np.array((float(np.sqrt((total * total).sum())),))
    return total


def contact_part(
    part: str,
    arrays: Mapping[str, NDArray[np.generic]],
    first: frozenset[int],
    second: frozenset[int] | None,
) -> Array:
    """Return one quantity of the contacts of a pair, from the arrays of the topic CONTACTS.

    ``force`` (3,) [N] in the world, on ``first``; ``normal`` (1,) sum of normal forces [N];
    ``friction`` (1,) size of the sum of all tangential forces [N]; ``count`` (1,); ``depth`` (1,)
    deepest penetration [m], 0 when nothing overlaps.
    """
    geom = np.asarray(arrays["geom"], np.int32).reshape(-1, 2)
    ngeom = 1 + max((int(geom.max(initial=-1)), *first, *(second or ())))
    chosen, sign = pair_of_contacts(geom, geom_mask(first, ngeom), geom_mask(second, ngeom))
    if part == "count":
        return np.array((float(len(chosen)),))
    if not len(chosen):
        return np.zeros(3 if part == "force" else 1)
    if part == "depth":
        dist = np.asarray(arrays["dist"], np.float64)[chosen]
        return np.array((max(0.0, -float(dist.min())),))
    force = np.asarray(arrays["force"], np.float64).reshape(-1, 6)[chosen, :3]
    frame = np.asarray(arrays["frame"], np.float64).reshape(-1, 3, 3)[chosen]
    return contact_sum(part, force, frame, sign)
