"""The word of ``stroboscope ctl`` that prints rows of numbers, as CSV."""

import argparse
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.column_names import column_names
from stroboscope.debugger_protocol.ctl_words import Add, Command
from stroboscope.debugger_protocol.exceptions import CommandError

__all__ = ["COMMANDS", "add_arguments", "only_looks"]

# What read_rows returns besides the channels.
_OF_EVERY_ROW = frozenset({"axis", "time"})


def add_arguments(add: Add) -> None:
    """Add the parsers of :data:`COMMANDS`; ``add`` makes one from a name and a help text."""
    rows = add("rows", "print channels of the history, or of a rollout, as CSV")
    rows.add_argument("channels", nargs="+", help="qpos, ctrl, energy.total, …")
    rows.add_argument("--rollout", type=int, default=0)
    rows.add_argument("--ended", action="store_true", help="a rollout of scenes that have ended")
    rows.add_argument(
        "--first",
        type=int,
        default=0,
        help="begin at this axis, or step of the rollout (not how many)",
    )
    rows.add_argument("--last", type=int)
    rows.add_argument("--max-rows", type=int, default=1000)


def only_looks(name: str, _: argparse.Namespace) -> bool:
    """Return whether a command changes nothing, so that it needs no control."""
    return name == "rows"


def _rows(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    wanted = [name for name in dict.fromkeys(a.channels) if name not in _OF_EVERY_ROW]
    rows = _read_rows(client, scene_id, a, wanted or ["time"])
    labels = [
        name if rows[name].shape[1] == 1 else f"{name}[{column}]"
        for name in wanted
        for column in range(rows[name].shape[1])
    ]
    out.write(",".join(column_names(["axis", "time", *labels])) + "\n")
    for index, (axis, time) in enumerate(zip(rows["axis"], rows["time"].ravel(), strict=True)):
        values = [float(value) for name in wanted for value in rows[name][index]]
        out.write(",".join([str(int(axis)), *map(repr, [float(time), *values])]) + "\n")


def _read_rows(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, channels: list[str]
) -> dict[str, NDArray[np.float64]]:
    """Return ``axis`` (n,), ``time`` (n,) [s] and each channel (n, width), as asked for in ``a``.

    What a script has logged in a recorded run can only be read alone: where they can't be read
    together, they are read one after another; nan where one has no value.
    """
    try:
        return client.read_rows(
            scene_id,
            channels,
            rollout_id=a.rollout,
            first=a.first,
            last=a.last,
            max_rows=a.max_rows,
        )
    except CommandError as error:
        if len(channels) > 1:
            return _joined({name: _read_rows(client, scene_id, a, [name]) for name in channels})
        if "there is no signal" not in str(error):
            raise
        raise CommandError(
            f"{error}. What a script logs is only read from a recording that was opened, by its "
            "name alone: rows 'ball height'"
        ) from error


def _joined(
    read: dict[str, dict[str, NDArray[np.float64]]],
) -> dict[str, NDArray[np.float64]]:
    """Return the rows of channels that were read one after another, in the order of the axis."""
    axis, first = np.unique(
        np.concatenate([rows["axis"] for rows in read.values()]), return_index=True
    )
    joined = {"axis": axis, "time": np.concatenate([r["time"] for r in read.values()])[first]}
    for name, rows in read.items():
        joined[name] = np.full((len(axis), rows[name].shape[1]), np.nan)
        joined[name][np.searchsorted(axis, rows["axis"])] = rows[name]
    return joined


COMMANDS: dict[str, Command] = {
    "rows": _rows,
}
"""What each word does with a client, a scene and its arguments."""
