"""What people call each value of a row, and its unit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.edit_labels import label
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.signal_channels import ChannelTable

__all__ = ["RowNames"]

# Parts whose values are called like those of a channel.
_LIKE_CHANNELS = {"warmstart": "qacc"}
_WITH_LABELS = frozenset({"eq_active", "mocap_pos", "mocap_quat", "xfrc_applied"})
# What MuJoCo keeps for itself: exact, but nothing that people look for.
_INTERNAL = frozenset({"warmstart", "history", "plugin"})


class RowNames:
    """Names, units and kinds of all values of a row, in its order; any thread.

    ``channels``: the model's engine channels, whose names and units these are where they fit.
    """

    def __init__(
        self, model: Any, *, layout: RowLayout, channels: ChannelTable, adapter: MujocoAdapter
    ) -> None:
        self._model = model
        self._adapter = adapter
        names: list[str] = []
        units: list[str] = []
        self.kinds: NDArray[np.intp] = np.empty(layout.size, dtype=np.intp)
        """Which part of the row each value belongs to."""
        self.internal: NDArray[np.bool_] = np.zeros(layout.size, dtype=np.bool_)
        """Whether a value is MuJoCo's own: where its solver begins, what it delays."""
        for kind, (part, place) in enumerate(layout.parts.items()):
            its_names, its_units = self._names_of(part, place.stop - place.start, channels)
            names += its_names
            units += its_units
            self.kinds[place] = kind
            self.internal[place] = part in _INTERNAL
        self.names, self.units = tuple(names), tuple(units)

    def _names_of(
        self, part: str, width: int, channels: ChannelTable
    ) -> tuple[list[str], list[str]]:
        if part == "time":
            return ["time"], ["s"]
        channel = channels.get(_LIKE_CHANNELS.get(part, part))
        if channel is not None and channel.width == width:
            names = channel.names or tuple(f"[{index}]" for index in range(width))
            units = channel.units or (channel.unit,) * width
            return [f"{part} {name}" for name in names], list(units)
        if part in _WITH_LABELS:
            found = [
                label(self._model, part, index, adapter=self._adapter) for index in range(width)
            ]
            return [f"{part} {name}" for name, _ in found], [unit for _, unit in found]
        return [f"{part}[{index}]" for index in range(width)], [""] * width
