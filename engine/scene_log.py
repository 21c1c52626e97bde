"""What a script logs: checked and handed on at the instant of the call."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stroboscope.debugger_protocol.messages import LogLevel

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_link import SceneLink

__all__ = ["log_values"]


def log_values(
    link: "SceneLink", name: object, value: object, *, names: Sequence[str] | None
) -> None:
    """Log one number, vector or text. Wrong values raise also when nobody is attached.

    A script that works alone must not fail because somebody looks at it.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"the name of a logged value must be a non-empty string, not {name!r}")
    if isinstance(value, str):
        link.log_text(LogLevel.INFO, f"{name}: {value}")
        return
    try:
        if value is None:  # NumPy would make it NaN, but it is a value that was forgotten
            raise TypeError
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"log({name!r}): a number, a vector of numbers or a text is needed, "
            f"not {type(value).__name__}"
        ) from None
    if values.ndim > 1 or values.size == 0:
        raise ValueError(
            f"log({name!r}): a number or a vector is needed, not an array of shape {values.shape}; "
            "log its rows under names of their own"
        )
    if names is not None and len(names) != values.size:
        raise ValueError(f"log({name!r}): {values.size} values but {len(names)} names")
    if link.active:
        try:
            link.log(name, np.atleast_1d(values), names=names)
        except ValueError as error:
            # Only an attached host knows a channel's width: the run must not depend on that.
            link.log_text(LogLevel.WARNING, f"a value was not recorded: {error}")
