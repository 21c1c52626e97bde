"""The growing array of bytes."""

import numpy as np
import pytest

from stroboscope.engine import DynamicArrayUint8


def test_it_can_be_made_of_nothing_bytes_numbers_a_length_or_another_array() -> None:
    assert len(DynamicArrayUint8()) == 0
    assert bytes(DynamicArrayUint8(b"abc")) == b"abc"
    assert bytes(DynamicArrayUint8([1, 2, 255])) == b"\x01\x02\xff"
    assert bytes(DynamicArrayUint8(3)) == b"\0\0\0"
    assert bytes(DynamicArrayUint8(np.arange(3, dtype=np.uint8))) == b"\x00\x01\x02"
    assert bytes(DynamicArrayUint8(DynamicArrayUint8(b"xy"))) == b"xy"


def test_it_appends_extends_resizes_and_clears() -> None:
    array = DynamicArrayUint8()
    array.append(7)
    array.extend([8, 9])
    array.extend(b"!")
    assert list(array) == [7, 8, 9, 33]
    array.resize(2)
    assert list(array) == [7, 8]
    array.resize(4, 5)
    assert list(array) == [7, 8, 5, 5]
    array.resize(5)
    assert array[-1] == 0
    array.clear()
    assert len(array) == 0


def test_it_can_be_read_and_written_by_index() -> None:
    array = DynamicArrayUint8(b"abcd")
    array[1] = 0x58
    assert array[1] == 0x58
    assert bytes(array[1:3]) == b"Xc"
    with pytest.raises(IndexError):
        array[4]


@pytest.mark.parametrize("value", [-1, 256, 1000])
def test_a_number_that_is_no_byte_changes_nothing(value: int) -> None:
    array = DynamicArrayUint8(b"ab")
    with pytest.raises(ValueError, match="256"):
        array.append(value)
    with pytest.raises(ValueError, match="256"):
        array.extend([1, 2, value])
    with pytest.raises(ValueError, match="0…255"):
        array.resize(10, value)
    with pytest.raises(ValueError, match="0 or more"):
        array.resize(-1)
    assert bytes(array) == b"ab"


def test_it_is_a_buffer_that_is_shared_and_not_copied() -> None:
    array = DynamicArrayUint8(b"abc")
    view = memoryview(array)
    numbers = np.frombuffer(array, dtype=np.uint8)
    array[0] = 0x7A
    assert view[0] == 0x7A
    assert numbers[0] == 0x7A
    with pytest.raises(BufferError):
        array.append(1)
    assert bytes(array) == b"zbc"


def test_bytes_are_an_independent_copy_and_the_text_is_short() -> None:
    array = DynamicArrayUint8(range(100))
    copy = bytes(array)
    array.clear()
    assert len(copy) == 100
    assert str(DynamicArrayUint8(copy)) == "DynamicArrayUint8(100 bytes: 00 01 02 03 04 05 06 07 …)"
