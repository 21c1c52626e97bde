"""Numbers that say in a table what became of a rollout."""

from collections.abc import Iterator

import numpy as np

from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.rollouts.row_probe import RowProbe
from stroboscope.engine.rollouts.stored import StoredRollout
from stroboscope.engine.row_layout import RowLayout

__all__ = ["derived_numbers"]


def derived_numbers(
    rollout: StoredRollout, adapter: MujocoAdapter, probe: RowProbe | None = None
) -> Iterator[tuple[str, float]]:
    """Yield what follows from a rollout's rows: names with units, and values.

    ``probe`` may serve several rollouts of one model.
    """
    rows, model = rollout.rows, rollout.model
    parts = RowLayout(model, adapter=adapter).parts
    if "qvel" in parts:
        yield "max |qvel|", float(np.abs(rows[:, parts["qvel"]]).max())
    if "ctrl" in parts:
        yield "max |ctrl|", float(np.abs(rows[:, parts["ctrl"]]).max())
    probe = probe or RowProbe(model, adapter=adapter)
    yield "energy drift [J]", probe.energy(rows[-1]) - probe.energy(rows[0])
