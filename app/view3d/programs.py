"""Shader programs that send only what has changed."""

from typing import Any

import numpy as np
from vispy import gloo
from vispy.gloo.buffer import DataBuffer
from vispy.gloo.texture import BaseTexture

__all__ = ["Program"]

# Larger arrays are sent without a look: comparing them takes as long.
_SMALL = 16


class Program(gloo.Program):  # type: ignore[misc]
    """A gloo program that remembers what its variables are.

    A picture sets some hundred of them, most to what they were; gloo takes 50 µs for each, which
    is a quarter of the time that a moving picture takes on the thread that draws.
    """

    def __init__(self, vertex: str, fragment: str) -> None:
        self._sent: dict[str, Any] = {}
        super().__init__(vertex, fragment)

    def __setitem__(self, name: str, data: Any) -> None:
        """Set a uniform, a texture or an attribute, unless it is just that already."""
        known: Any = data
        if isinstance(data, np.ndarray):
            known = (data.dtype.str, data.tobytes()) if data.size <= _SMALL else None
        elif not isinstance(data, float | int | tuple | BaseTexture | DataBuffer):
            known = None
        if known is not None:
            before = self._sent.get(name)
            if before is known or (type(before) is type(known) and before == known):
                return
        self._sent[name] = known
        super().__setitem__(name, data)
