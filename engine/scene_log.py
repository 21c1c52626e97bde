"""What a script logs: checked and handed on at the instant of the call."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.host.scene_link import check_channel_name
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine.arguments import plain_text, shown
from stroboscope.engine.signal_channels import ENGINE_CHANNELS

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_link import SceneLink
    from stroboscope.engine.recording.scene_recorders import SceneRecorders

__all__ = ["LoggedNames", "check_values", "log_values"]

LoggedNames = dict[str, tuple[str, ...]]
"""What a script has logged, by channel: what its numbers are called."""

_LIMITS = Limits()


def log_values(
    link: "SceneLink",
    recorders: "SceneRecorders",
    name: object,
    value: object,
    *,
    names: object,
    logged: LoggedNames,
    is_followed: bool = False,
) -> None:
    """Log and record a number, vector or text. Wrong values raise also when nobody is attached.

    A script that works alone must not fail because somebody looks at it. The name of a new channel
    goes into ``logged``. ``is_followed``: numbers count although nothing is attached.
    """
    name, values, labels = check_values(name, value, names=names)
    if isinstance(values, str):
        link.log_text(LogLevel.INFO, f"{name}: {values}", channel=name)
        recorders.happened("log", values, data={"channel": name})
        return
    # A row of numbers that the engine has itself stays apart from the script's.
    channel = f"{name} (script)" if name in ENGINE_CHANNELS else name
    if channel not in logged and len(logged) < _LIMITS.channels:
        logged[channel] = tuple(labels or ())
    recorders.logged(channel, values, labels)
    if link.active or is_followed:
        try:
            link.log(channel, np.atleast_1d(values), names=labels, detached=is_followed)
        except ValueError as error:
            # Only an attached host knows a channel's width: the run must not depend on that.
            link.log_problem(str(error))


def check_values(
    name: object, value: object, *, names: object
) -> tuple[str, NDArray[np.float64] | str, list[str] | None]:
    """Return name, values and labels as they are logged; TypeError and ValueError for others."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"the name of a logged value must be a non-empty string, not {shown(name)}")
    check_channel_name(name, limit=_LIMITS.name_bytes)
    if isinstance(value, str):
        return name, plain_text(value, "what is logged"), None
    values = _numbers(name, value)
    return name, values, None if names is None else _labels(name, names, count=values.size)


def _numbers(name: str, value: object) -> NDArray[np.float64]:
    try:
        given = np.asarray(value)
        # NumPy would make numbers of None, bytes, texts and dates as well: those are mistakes.
        if value is None or given.dtype.kind not in "biufO":
            raise TypeError
        values = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"log({name!r}): a number, a vector of numbers or a text is needed, not {shown(value)}"
        ) from None
    if values.ndim > 1 or not 1 <= values.size <= _LIMITS.channel_width:
        raise ValueError(
            f"log({name!r}): a number or a vector of up to {_LIMITS.channel_width} is needed, "
            f"not an array of shape {values.shape} ({shown(value)}); log its parts under "
            "names of their own"
        )
    return values


def _labels(name: str, labels: object, *, count: int) -> list[str]:
    if isinstance(labels, str) or not isinstance(labels, Sequence | np.ndarray):
        raise TypeError(f"log({name!r}): names must be a list of strings, not {shown(labels)}")
    if len(labels) != count:
        raise ValueError(f"log({name!r}): {count} values but {len(labels)} names: {shown(labels)}")
    if not all(isinstance(label, str) for label in labels):
        raise TypeError(f"log({name!r}): names must be a list of strings, not {shown(labels)}")
    plain = [str(label) for label in labels]
    for label in plain:
        check_channel_name(label, limit=_LIMITS.name_bytes)
    return plain
