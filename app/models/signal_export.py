"""Plotted signals as NumPy arrays: every physics step, every bit."""

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.plot_store import PlotSeriesId, PlotStore, SceneKey

__all__ = ["TimeRange", "npz_arrays", "write_npz"]

TimeRange = tuple[float, float]
"""Session times [s] between which rows are taken."""


def npz_arrays(
    store: PlotStore, series: Sequence[PlotSeriesId], *, between: TimeRange | None = None
) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of an export, by name.

    Per channel, under its own name (after the scene's, where there are several): ``…/axis`` (n,)
    physics steps, ``…/time`` and ``…/session_time`` (n,) [s], ``…/values`` (n, k) of the k plotted
    columns, ``…/names`` and ``…/units`` (k,), ``…/missing`` (n,) rows absent before each.
    """
    groups: dict[tuple[SceneKey, str], list[PlotSeriesId]] = {}
    for each in series:
        groups.setdefault((each.scene, each.channel), []).append(each)
    several = len({key for key, _ in groups}) > 1
    arrays: dict[str, NDArray[np.generic]] = {}
    for (key, channel), members in groups.items():
        columns = store.columns(key, channel)
        if columns is None:
            continue
        rows = columns.rows()
        if between is not None:
            rows = rows.between(*between)
        name = _file_name(channel)
        if several:
            name = f"{_file_name(store.scenes[key].name)} › {name}"
        arrays |= {
            f"{name}/axis": rows.axis,
            f"{name}/time": rows.time,
            f"{name}/session_time": rows.session_time,
            f"{name}/values": rows.values[:, [each.component for each in members]],
            f"{name}/names": np.array([store.label(each) for each in members]),
            f"{name}/units": np.array([store.unit(each) for each in members]),
            f"{name}/missing": rows.missing,
        }
    return arrays


def _file_name(text: str) -> str:
    """Return a name for a file in the archive: a slash would make a folder of half of it."""
    return re.sub(r"[/\\]", "∕", text)


def write_npz(path: Path, arrays: dict[str, NDArray[np.generic]]) -> None:
    """Write arrays to ``path``, whole or not at all; raises OSError."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, suffix=".npz.part")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        # mkstemp makes files that only we may read; an export is an ordinary document.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
