"""Functions that remember earlier steps: what a value was at first, and at the step before.

They need somebody who evaluates the expression at every physics step and says when another episode
begins, as conditions do; elsewhere they are refused.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from stroboscope.debugger_protocol.expressions.nodes import Inputs, Node, Run

__all__ = ["REMEMBERING", "Remembered", "remembering"]


@dataclasses.dataclass(slots=True)
class Remembered:
    """One value that is kept from step to step; ``text`` as it is written in the expression."""

    text: str
    run: Run
    width: int
    is_first: bool
    value: Any = None
    newest: Any = None

    def forget(self) -> None:
        """Begin anew: another episode, or another state."""
        self.value = self.newest = None

    def advance(self, inputs: Inputs) -> Any:
        """Return the value that counts in this step, having looked at the new one."""
        now = self.run(inputs)
        if self.width > 1:
            now = np.array(now)
        if self.is_first:
            self.newest = now
            if self.value is None:
                self.value = now
            return self.value
        self.value, self.newest = self.newest, now
        if self.value is None:
            return math.nan if self.width == 1 else np.full(self.width, math.nan)
        return self.value


REMEMBERING: Final = {
    "first": "first(x): x at the beginning of the episode",
    "previous": "previous(x): x at the step before",
    "change": "change(x): x less what it was at the step before",
}
"""By name, how each is written."""

Keep = Callable[[Node, bool], int]


def remembering(name: str, node: Node, keep: Keep) -> Node:
    """Return the value of a function of :data:`REMEMBERING`.

    ``keep`` notes a value to be remembered and returns its place.
    """
    place = keep(node, name == "first")
    run = node.run

    def of_before(inputs: Inputs) -> Any:
        return inputs.remembered[place]

    def change(inputs: Inputs) -> Any:
        return run(inputs) - inputs.remembered[place]

    chosen = change if name == "change" else of_before
    return Node(node.width, chosen, node.units, node.names, node.labels)
