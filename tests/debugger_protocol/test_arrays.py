"""Arrays as one blob with an offset table, and assets by content."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stroboscope.debugger_protocol.arrays import (
    asset_bytes,
    asset_digest,
    pack_arrays,
    parse_asset,
    unpack_arrays,
)
from stroboscope.debugger_protocol.exceptions import InvalidMessage
from stroboscope.debugger_protocol.messages import ArrayEntry

DTYPES = ["<f8", "<f4", "<i8", "<i4", "<u8", "<u4", "<i2", "<u2", "|u1", "|i1", "|b1"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (5, 3), (1, 1, 1, 7)])
def test_arrays_come_back_equal_and_read_only(dtype, shape):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    [back] = unpack_arrays(*pack_arrays({"x": array})).values()
    assert back.dtype == array.dtype
    assert back.shape == shape
    np.testing.assert_array_equal(back, array)
    assert not back.flags.writeable


def test_offsets_are_aligned_and_big_endian_and_strided_arrays_are_converted():
    arrays = {
        "odd": np.arange(3, dtype=np.uint8),
        "big": np.arange(4, dtype=">f8"),
        "strided": np.arange(12).reshape(3, 4)[:, ::2],
    }
    entries, blob = pack_arrays(arrays)
    assert [entry.offset % 8 for entry in entries] == [0, 0, 0]
    assert entries[1].dtype == "<f8"
    for name, back in unpack_arrays(entries, blob).items():
        np.testing.assert_array_equal(back, arrays[name])


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([object()]), np.array([1j])])
def test_what_is_not_plain_numbers_can_not_be_sent(array):
    with pytest.raises(TypeError, match="can't be sent"):
        pack_arrays({"x": array})


@pytest.mark.parametrize(
    "entry",
    [
        ArrayEntry("x", "|O", (1,), 0),
        ArrayEntry("x", "<f16", (1,), 0),
        ArrayEntry("x", "nonsense", (1,), 0),
        ArrayEntry("x", "<f8", (3,), 0),
        ArrayEntry("x", "<f8", (-1,), 0),
        ArrayEntry("x", "<f8", (1,), 9),
        ArrayEntry("x", "<f8", (1,), 4),
        ArrayEntry("x", "<f8", (1,), -8),
        ArrayEntry("x", "<f8", (2**40, 2**40), 0),
        ArrayEntry("x", "<f8", (0, 2**62, 2**62), 0),
        ArrayEntry("x", "<f8", (1,) * 9, 0),
    ],
)
def test_a_table_that_is_not_true_is_refused(entry):
    with pytest.raises(InvalidMessage):
        unpack_arrays([entry], bytes(16))


def test_a_name_that_appears_twice_is_refused():
    entry = ArrayEntry("x", "<f8", (1,), 0)
    with pytest.raises(InvalidMessage, match="twice"):
        unpack_arrays([entry, entry], bytes(16))


@given(
    st.lists(st.integers(-(2**63), 2**64 - 1), max_size=10),
    st.integers(-(2**63), 2**64 - 1),
    st.sampled_from(DTYPES),
)
def test_no_table_makes_anything_but_an_invalid_message(shape, offset, dtype):
    with contextlib.suppress(InvalidMessage):
        unpack_arrays([ArrayEntry("x", dtype, tuple(shape), offset)], bytes(64))


def test_an_asset_is_named_by_its_content_and_checked():
    data = asset_bytes({"vertices": np.eye(3, dtype=np.float32)})
    digest = asset_digest(data)
    np.testing.assert_array_equal(parse_asset(data, digest)["vertices"], np.eye(3))
    with pytest.raises(InvalidMessage, match="discarded"):
        parse_asset(data[:-1] + b"x", digest)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc0",
        b"\x91" * 100_000,
        b"\x92\x91\x94\xa1x\xa3<f8",
        b"\x93\x90\xc4\x00" + b"\x91" * 100_000 + b"\xc0",
    ],
)
def test_an_asset_that_is_no_asset_is_refused_even_with_the_right_digest(data):
    with pytest.raises(InvalidMessage):
        parse_asset(data, asset_digest(data))
