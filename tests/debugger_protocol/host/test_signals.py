import numpy as np
import pytest
from oscillator import Oscillator

from stroboscope.debugger_protocol.host.signals import RingReader, RowRing, SignalRing, UserChannel


def fill(ring: RowRing, count: int) -> None:
    for _ in range(count):
        slot = ring.count % ring.capacity
        ring.axis[slot] = ring.count
        ring.time[slot] = ring.count * 0.5
        ring.values[slot] = [ring.count, -ring.count]
        ring.count += 1


def test_rows_come_out_in_order_and_once() -> None:
    ring = RowRing(2, capacity=8)
    reader = RingReader(ring, start=0)
    seen: list[int] = []
    for burst in (3, 0, 5, 1, 7):
        fill(ring, burst)
        rows = reader.read(100)
        assert rows.lost == 0
        assert np.array_equal(rows.values, np.stack([rows.axis, -rows.axis], axis=1))
        assert np.array_equal(rows.time, rows.axis * 0.5)
        seen += rows.axis.tolist()
    assert seen == list(range(16))


def test_rows_that_were_overwritten_are_counted_as_lost() -> None:
    ring = RowRing(2, capacity=8)
    reader = RingReader(ring, start=0)
    fill(ring, 20)
    rows = reader.read(100)
    assert rows.lost + len(rows.axis) == 20
    assert rows.axis.tolist() == list(range(rows.lost, 20))
    # The slot that may be being written now is not read.
    assert len(rows.axis) == 7


def test_a_limit_leaves_the_rest_for_the_next_time() -> None:
    ring = RowRing(2, capacity=8)
    reader = RingReader(ring, start=0)
    fill(ring, 6)
    assert reader.read(4).axis.tolist() == [0, 1, 2, 3]
    assert reader.read(4).axis.tolist() == [4, 5]
    assert len(reader.read(4).axis) == 0


def test_a_row_holds_inputs_of_before_and_results_of_after() -> None:
    scene = Oscillator()
    ring = SignalRing(scene.signal_source(["qacc", "qpos"]))
    expected = []
    for _ in range(3):
        ring.before(axis=scene.axis, time=scene.time)
        q, time = scene.q, scene.time
        scene.physics()
        ring.after()
        expected.append((time, q, scene.acceleration))
    rows = ring.read(0, limit=10)
    assert rows.axis.tolist() == [0, 1, 2]
    assert rows.time.tolist() == [time for time, _, _ in expected]
    assert rows.values[:, ring.columns["qpos"]].ravel().tolist() == [q for _, q, _ in expected]
    assert rows.values[:, ring.columns["qacc"]].ravel().tolist() == [a for *_, a in expected]


def test_a_wide_ring_is_bounded_in_bytes() -> None:
    class Wide(Oscillator):
        pass

    source = Wide().signal_source(["qpos"])
    source.width = 4000
    assert SignalRing(source).values.nbytes <= 12 << 20


def test_a_user_channel_keeps_the_instant_of_the_call() -> None:
    scene = Oscillator()
    channel = UserChannel("reward", width=2, names=("a", "b"))
    scene.physics()
    channel.append(scene.clock(), np.array([1.0, 2.0]))
    rows = channel.read(0, limit=10)
    assert rows.axis.tolist() == [1]
    assert rows.time.tolist() == pytest.approx([0.002])
    assert rows.values.tolist() == [[1.0, 2.0]]
