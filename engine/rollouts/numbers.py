"""Numbers that say in a table what became of a rollout."""

from collections.abc import Iterable, Iterator

import numpy as np

from stroboscope.debugger_protocol.host.signals import UserChannel
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.rollouts.row_probe import RowProbe
from stroboscope.engine.rollouts.stored import StoredRollout
from stroboscope.engine.rollouts.stored_rows import StoredRows
from stroboscope.engine.row_layout import RowLayout

__all__ = ["derived_numbers", "logged_numbers"]

# More columns than a table has place for.
_MOST_LOGGED = 16


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
    # Not of the last step: where that has gone wrong, MuJoCo would warn of it once more.
    if rollout.steps in rollout.unsure or not StoredRows(rollout, adapter=adapter).is_known(0):
        return
    probe = probe or RowProbe(model, adapter=adapter)
    yield "energy drift [J]", probe.energy(rows[-1]) - probe.energy(rows[0])


def logged_numbers(channels: Iterable[UserChannel]) -> Iterator[tuple[str, float]]:
    """Yield the mean, and where all of it is still there the sum, of the numbers that were logged.

    Vectors are left out: they have no one number.
    """
    scalars = (channel for channel in channels if channel.width == 1 and channel.count)
    for channel, _ in zip(scalars, range(_MOST_LOGGED), strict=False):
        values = channel.values[: min(channel.count, channel.capacity), 0]
        yield f"{channel.name} (mean)", float(values.mean())
        if channel.count <= channel.capacity:
            yield f"{channel.name} (sum)", float(values.sum())
