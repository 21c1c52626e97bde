"""How rows lie in memory: as MuJoCo's own memory lies, so that keeping one is copying bytes.

``MjData`` has all arrays of a state one after the other, with some padding between them. Copying
that stretch takes a fifth of the time of ``mj_getState``; which number is which is worked out when
somebody looks. Where it is laid out differently, packed rows are rows.
"""

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.data_views import raw_view
from stroboscope.engine.live_data import LiveData
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.row_layout import RowLayout

__all__ = ["RowPacking"]

_WORD = 8
# Arrays whose name in MjData is another one than that of the part of a state.
_NAMES = {"warmstart": "qacc_warmstart", "plugin": "plugin_state"}
# A stretch with more than this that belongs to no state is not worth it.
_MOST_STRANGE = 1.5
_HALF = np.uint64(31)

Row = NDArray[np.float64]


class RowPacking:
    """Packs rows of one data, (row,) float64, into ``words`` numbers, and back; owner thread only.

    ``memory``: what to copy, None where :meth:`RowPacking.capture` has to ask MuJoCo. The time is
    kept apart.
    """

    def __init__(self, model: Any, live: LiveData, *, adapter: MujocoAdapter) -> None:
        self._model, self._live, self._adapter = model, live, adapter
        self.layout = layout = RowLayout(model, adapter=adapter)
        self.memory: memoryview | None = None
        self.words = layout.size
        self.inputs = layout.inputs
        """Where the inputs stand among the words."""
        self._columns: NDArray[np.int64] = np.arange(layout.size)
        self._switches: tuple[slice, int] | None = None
        if not self._find_memory():
            self.memory, self.words, self.inputs = None, layout.size, layout.inputs
            self._columns, self._switches = np.arange(layout.size), None
        self.width = _WORD * self.words
        """Bytes of a packed row."""
        self._weights = self._make_weights()

    def _find_memory(self) -> bool:
        """Find where the numbers of a row stand in the data; False when they don't stand well."""
        layout, data = self.layout, self._live()
        begin = end = int(data.qpos.ctypes.data)
        columns = np.zeros(layout.size, dtype=np.int64)
        for name, part in layout.parts.items():
            if name == "time":
                continue
            array = getattr(data, _NAMES.get(name, name), None)
            count = part.stop - part.start
            if not isinstance(array, np.ndarray) or array.size != count:
                return False
            offset = int(array.ctypes.data) - begin
            if offset < 0 or not array.flags.c_contiguous:
                return False
            if array.itemsize == 1:
                self._switches = (part, offset)
            elif array.dtype != np.float64 or offset % _WORD:
                return False
            else:
                columns[part] = offset // _WORD + np.arange(count)
            end = max(end, begin + offset + array.nbytes)
        self.words = -(-(end - begin) // _WORD)
        if self.words > _MOST_STRANGE * layout.size + 64 or not self.words:
            return False
        self._columns = columns
        self.memory = raw_view(begin, _WORD * self.words)
        self.inputs = self._input_words()
        probe = np.frombuffer(bytes(self.memory), dtype=np.float64)
        row = np.empty(layout.size)
        self._adapter.mj_getState(self._model, data, row, self._adapter.integration)
        return self.unpack(probe, float(data.time)).tobytes() == row.tobytes()

    def _input_words(self) -> slice:
        words = self._words_of(self.layout.inputs)
        return slice(min(words), max(words) + 1) if words else slice(0, 0)

    def _words_of(self, part: slice) -> list[int]:
        """Return the words that hold some numbers of a row."""
        switches, first = self._switches or (slice(0, 0), 0)
        found = []
        for index in range(part.start, part.stop):
            if switches.start <= index < switches.stop:
                found.append((first + index - switches.start) // _WORD)
            else:
                found.append(int(self._columns[index]))
        return found

    def place_of(self, name: str) -> slice | None:
        """Return where an array stands among the words; None where it isn't in one piece."""
        part = self.layout.parts.get(name)
        switches, _ = self._switches or (slice(0, 0), 0)
        if part is None or switches.start <= part.start < switches.stop:
            return None
        words = self._columns[part]
        first, last = int(words[0]), int(words[-1])
        is_whole = last - first + 1 == len(words) and bool((np.diff(words) == 1).all())
        return slice(first, last + 1) if is_whole else None

    def _make_weights(self) -> NDArray[np.uint64]:
        """Return odd numbers, always the same ones, for words of a state, and 0 for others."""
        # Not NumPy's: importing that within a step would eat a Ctrl+C.
        drawn = random.Random(self.words).randbytes(_WORD * self.words)  # noqa: S311
        numbers = np.frombuffer(drawn, dtype=np.uint64)
        weights: NDArray[np.uint64] = numbers * np.uint64(2) + np.uint64(1)
        inputs = self.layout.inputs
        first = 0 if self.memory is None else 1  # the time is compared by itself
        state = [*range(first, inputs.start), *range(inputs.stop, self.layout.size)]
        is_state = np.zeros(self.words, dtype=bool)
        is_state[self._columns[state]] = True
        weights[~is_state] = 0
        return weights

    def capture(self, words: memoryview) -> None:
        """Write the state and the inputs as they stand into ``width`` bytes."""
        if self.memory is not None:
            words[:] = self.memory
            return
        row = np.frombuffer(words, dtype=np.float64)
        self._adapter.mj_getState(self._model, self._live(), row, self._adapter.integration)

    def unpack(self, words: Row, time: float) -> Row:
        """Return the row, (row,), of packed ``words``, (words,)."""
        row: Row = words[self._columns]
        row[0] = time
        if self._switches is not None:
            part, offset = self._switches
            row[part] = words.view(np.uint8)[offset : offset + part.stop - part.start]
        return row

    def unpack_rows(self, words: Row, times: Row, out: Row) -> None:
        """Unpack many rows, (n, words) with their times (n,), into ``out``, (n, row)."""
        np.take(words, self._columns, axis=1, out=out, mode="clip")
        out[:, 0] = times
        if self._switches is not None:
            part, offset = self._switches
            count = part.stop - part.start
            out[:, part] = words.view(np.uint8)[:, offset : offset + count]

    def pack(self, row: Row) -> Row:
        """Return the words of a row; what belongs to none is 0."""
        words = np.zeros(self.words)
        if self._switches is None:
            words[self._columns] = row
            return words
        part, offset = self._switches
        others = np.r_[0 : part.start, part.stop : len(row)]
        words[self._columns[others]] = row[others]
        words.view(np.uint8)[offset : offset + part.stop - part.start] = row[part]
        return words

    def unpack_inputs(self, words: Row) -> Row:
        """Return the inputs, as in a row, of the words at :attr:`inputs`."""
        whole = np.zeros(self.words)
        whole[self.inputs] = words
        return self.unpack(whole, 0.0)[self.layout.inputs]

    def hashes(self, words: Row) -> NDArray[np.uint64]:
        """Return an 8-byte hash of the state in each packed row, (n, words) to (n,).

        All of a row but its time and inputs, which are remembered themselves. States that are
        equal to the bit have equal hashes, others practically never.
        """
        bits, weights = words.view(np.uint64), self._weights
        hashes: NDArray[np.uint64] = np.zeros(len(bits), dtype=np.uint64)
        for part in (slice(0, self.inputs.start), slice(self.inputs.stop, self.words)):
            if weights[part].any():
                state = bits[:, part]
                # The upper bits come into the lower ones: signs alone would cancel each other.
                hashes += (state ^ (state >> _HALF)) @ weights[part]
        return hashes
