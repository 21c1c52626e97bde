"""What a script logs: checked and handed on at the instant of the call."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.host.scene_link import check_channel_name
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine.signal_channels import ENGINE_CHANNELS

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_link import SceneLink

__all__ = ["log_values"]

_LIMITS = Limits()


def log_values(
    link: "SceneLink", name: object, value: object, *, names: Sequence[str] | None
) -> None:
    """Log one number, vector or text. Wrong values raise also when nobody is attached.

    A script that works alone must not fail because somebody looks at it.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"the name of a logged value must be a non-empty string, not {name!r}")
    check_channel_name(name, limit=_LIMITS.name_bytes)
    if isinstance(value, str):
        link.log_text(LogLevel.INFO, f"{name}: {value}")
        return
    values = _numbers(name, value)
    if names is not None:
        _check_labels(name, names, count=values.size)
    if link.active:
        # A row of numbers that the engine has itself stays apart from the script's.
        channel = f"{name} (script)" if name in ENGINE_CHANNELS else name
        try:
            link.log(channel, np.atleast_1d(values), names=names)
        except ValueError as error:
            # Only an attached host knows a channel's width: the run must not depend on that.
            link.log_problem(str(error))


def _numbers(name: str, value: object) -> NDArray[np.float64]:
    try:
        given = np.asarray(value)
        # NumPy would make numbers of None, bytes, texts and dates as well: those are mistakes.
        if value is None or given.dtype.kind not in "biufO":
            raise TypeError
        values = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"log({name!r}): a number, a vector of numbers or a text is needed, "
            f"not {type(value).__name__}"
        ) from None
    if values.ndim > 1 or not 1 <= values.size <= _LIMITS.channel_width:
        raise ValueError(
            f"log({name!r}): a number or a vector of up to {_LIMITS.channel_width} is needed, "
            f"not an array of shape {values.shape}; log its parts under names of their own"
        )
    return values


def _check_labels(name: str, labels: Sequence[str], *, count: int) -> None:
    if isinstance(labels, str) or not all(isinstance(label, str) for label in labels):
        raise TypeError(f"log({name!r}): names must be a list of strings, not {labels!r}")
    if len(labels) != count:
        raise ValueError(f"log({name!r}): {count} values but {len(labels)} names")
    for label in labels:
        check_channel_name(label, limit=_LIMITS.name_bytes)
