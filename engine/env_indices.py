"""Which environments of a batched scene somebody means: integers, slices, masks, tensors."""

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.arguments import shown

__all__ = ["env_indices", "refuse_environments"]

_EXAMPLES = "give integers, a slice, a boolean mask, or a NumPy array or torch tensor of these"


def env_indices(envs_idx: object, *, n_envs: int) -> NDArray[np.intp]:
    """Return the environments meant by ``envs_idx`` in the order given, each once.

    None means all. One integer, a slice, a sequence, NumPy array or torch tensor of integers, or a
    boolean mask of exactly ``n_envs`` entries; negative integers count from the end. Raises
    IndexError out of range, ValueError for duplicates and masks of another length, TypeError for
    anything else.
    """
    if envs_idx is None:
        return np.arange(n_envs)
    if isinstance(envs_idx, slice):
        return _slice(envs_idx, n_envs)
    array = _as_array(envs_idx)
    if array.ndim > 1:
        raise ValueError(
            f"envs_idx must have one dimension, not the shape {array.shape}: {shown(envs_idx)}"
        )
    if array.dtype == np.bool_:
        return _mask(array, n_envs)
    if array.size == 0:
        # An empty list has no type of its own.
        return np.empty(0, dtype=np.intp)
    if array.dtype.kind not in "iu":
        raise TypeError(f"envs_idx must be whole numbers, not {shown(envs_idx)}: {_EXAMPLES}")
    return _integers(np.atleast_1d(array), n_envs)


def refuse_environments(envs_idx: object, *, scene_name: str) -> None:
    """Raise ValueError unless ``envs_idx`` is None: the scene has no environments."""
    if envs_idx is not None:
        raise ValueError(
            f"scene {scene_name!r} has no environments to choose from (envs_idx is "
            f"{shown(envs_idx)}): leave envs_idx out, or make the scene with n_envs"
        )


def _slice(chosen: slice, n_envs: int) -> NDArray[np.intp]:
    try:
        return np.arange(n_envs)[chosen]
    except TypeError as error:
        raise TypeError(f"envs_idx is no slice of whole numbers: {chosen!r}") from error


def _as_array(envs_idx: Any) -> NDArray[Any]:
    if isinstance(envs_idx, bool | np.bool_):
        # As an integer it would silently be environment 0 or 1.
        raise TypeError(f"envs_idx must not be a single {shown(envs_idx)}: {_EXAMPLES}")
    if isinstance(envs_idx, str | bytes):
        raise TypeError(f"envs_idx must be whole numbers, not {shown(envs_idx)}")
    # A tensor, possibly on a device or with a gradient; torch itself is not needed for this.
    if callable(getattr(envs_idx, "detach", None)) and callable(getattr(envs_idx, "cpu", None)):
        envs_idx = envs_idx.detach().cpu().numpy()
    if not isinstance(envs_idx, np.ndarray | list | tuple | range | np.generic):
        try:
            envs_idx = operator.index(envs_idx)
        except TypeError:
            envs_idx = _listed(envs_idx)
    try:
        array = np.asarray(envs_idx)
    except ValueError as error:
        raise TypeError(
            f"envs_idx is no array of whole numbers: {shown(envs_idx)}; {_EXAMPLES}"
        ) from error
    is_list = isinstance(envs_idx, list | tuple) and array.dtype != np.bool_
    if is_list and any(isinstance(each, bool | np.bool_) for each in envs_idx):
        # NumPy takes them for environments 0 and 1.
        raise TypeError(
            f"envs_idx has both truth values and numbers: {shown(envs_idx)}; {_EXAMPLES}"
        )
    return array


def _listed(envs_idx: Any) -> list[Any]:
    try:
        return list(envs_idx)
    except TypeError:
        raise TypeError(f"envs_idx must not be {shown(envs_idx)}: {_EXAMPLES}") from None


def _mask(mask: NDArray[Any], n_envs: int) -> NDArray[np.intp]:
    if mask.shape != (n_envs,):
        raise ValueError(
            f"a boolean mask needs an entry per environment: {mask.size} were given, there are "
            f"{n_envs}"
        )
    return np.flatnonzero(mask)


def _integers(indices: NDArray[Any], n_envs: int) -> NDArray[np.intp]:
    outside = (indices >= n_envs) | (indices < -n_envs) if n_envs else np.full(len(indices), True)
    if outside.any():
        raise IndexError(
            f"there is no environment {indices[outside][0]}: there are {n_envs}, from 0 on"
        )
    chosen = indices.astype(np.intp)
    chosen[chosen < 0] += n_envs
    values, counts = np.unique(chosen, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"environment {values[counts > 1][0]} is named {counts[counts > 1][0]} times in "
            "envs_idx: name each one once"
        )
    return chosen
