"""What the contacts between two sets of geoms do together."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["contact_part", "pair_of_contacts"]

Array = NDArray[np.float64]


def pair_of_contacts(
    geom: NDArray[np.int32], first: frozenset[int], second: frozenset[int] | None
) -> tuple[NDArray[np.intp], Array]:
    """Return the contacts between two sets of geoms, and +1 where ``first`` is the second one.

    ``geom`` (n, 2); ``second`` None: with anything. The sign is that of the force on ``first``.
    """
    indices, signs = [], []
    for index, (a, b) in enumerate(geom.tolist()):
        if b in first and (second is None or a in second):
            indices.append(index)
            signs.append(1.0)
        elif a in first and (second is None or b in second):
            indices.append(index)
            signs.append(-1.0)
    return np.array(indices, np.intp), np.array(signs)


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
    chosen, sign = pair_of_contacts(geom, first, second)
    if part == "count":
        return np.array((float(len(chosen)),))
    if not len(chosen):
        return np.zeros(3 if part == "force" else 1)
    if part == "depth":
        dist = np.asarray(arrays["dist"], np.float64)[chosen]
        return np.array((max(0.0, -float(dist.min())),))
    force = np.asarray(arrays["force"], np.float64).reshape(-1, 6)[chosen, :3]
    if part == "normal":
        return np.array((float(force[:, 0].sum()),))
    axes = np.asarray(arrays["frame"], np.float64).reshape(-1, 3, 3)[chosen]
    if part == "friction":
        force = force.copy()
        force[:, 0] = 0.0
    world = (force[:, :, None] * axes).sum(axis=1) * sign[:, None]
    total: Array = world.sum(axis=0)
    if part == "friction":
        return np.array((float(np.sqrt((total * total).sum())),))
    return total
