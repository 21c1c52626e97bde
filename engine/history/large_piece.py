"""An array of a model that is too large to be kept twice: sums tell whether it was written into."""

from time import perf_counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.model_memory import Place

__all__ = ["LargePiece"]

# So many numbers all over the array are compared in passing: whoever writes it anew is seen.
_SAMPLES: Final = 1024
_COLUMNS: Final = 1024
_WORD: Final = 8
# What nearly nobody writes may take this part of the time of those who look: 1 in so many.
_PART: Final = 10


class LargePiece:
    """Looks at its memory like a MemoryPiece; ``is_asset``: what nearly nobody ever writes.

    In passing a look costs some microseconds, and finds what was written all over the array. One at
    all of it takes 0.2 ms per MB; of assets it is taken as often as it costs a tenth of the time.
    It keeps nothing alive: use it only while something else does.
    """

    def __init__(self, view: memoryview, name: str, *, is_asset: bool) -> None:
        self._bytes = np.frombuffer(view, dtype=np.uint8)
        self._words = np.frombuffer(view[: len(view) // _WORD * _WORD], dtype=np.uint64)
        self._is_asset = is_asset
        self.places = (Place(0, len(view), (name,)),)
        self.names = (name,)
        self._due = 0.0
        self._samples = b""
        self._sums: tuple[bytes, ...] = ()
        self.remember()

    def remember(self) -> None:
        """Note what all bytes are."""
        self._samples, self._sums = self._sampled(), self._summed()

    def is_unchanged(self, *, in_passing: bool = False) -> bool:
        """Return whether its bytes are as they were noted last, as far as looked at; any thread."""
        if self._sampled() != self._samples:
            return False
        begun = perf_counter()
        if in_passing or (self._is_asset and begun < self._due):
            return True
        is_same = self._summed() == self._sums
        end = perf_counter()
        self._due = end + _PART * (end - begun)
        return is_same

    def written(self) -> set[str]:
        """Return its field, if that has other bytes than what was noted last."""
        return set() if self._summed() == self._sums else set(self.names)

    def _sampled(self) -> bytes:
        return self._words[:: max(1, len(self._words) // _SAMPLES)].tobytes()

    def _summed(self) -> tuple[bytes, ...]:
        """Return sums of rows and of columns: numbers that changed places change one of them."""
        whole = len(self._words) // _COLUMNS
        table: NDArray[np.uint64] = self._words[: whole * _COLUMNS].reshape(whole, _COLUMNS)
        rest = self._bytes[whole * _COLUMNS * _WORD :]
        return table.sum(axis=0).tobytes(), table.sum(axis=1).tobytes(), rest.tobytes()
