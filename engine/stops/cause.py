"""What likely made a physics step go wrong: a sentence, what to try, and what can be tried."""

import dataclasses

from stroboscope.debugger_protocol.messages import ElementRef
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf

__all__ = ["Cause", "Offer", "field_edit", "option_edit"]

Offer = tuple[str, tuple[WhatIf, ...]]
"""What to call an attempt ("half the timestep"), and its edits."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """``text`` says "likely" unless it is known; ``elements`` are those that it is about.

    ``actuator`` -1 where none takes part. ``offers``: what can be simulated again, best first.
    """

    text: str
    advice: str = ""
    elements: tuple[ElementRef, ...] = ()
    actuator: int = -1
    offers: tuple[Offer, ...] = ()


def option_edit(name: str, *values: float) -> WhatIf:
    """Return the edit of a physics option."""
    return WhatIf(kind=EditKind.OPTION, name=name, values=tuple(map(float, values)))


def field_edit(name: str, index: int, *values: float) -> WhatIf:
    """Return the edit of a field of the model, ``index`` counted flat."""
    return WhatIf(
        kind=EditKind.MODEL, name=name, index=int(index), values=tuple(map(float, values))
    )
