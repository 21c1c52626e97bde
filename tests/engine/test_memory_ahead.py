"""Memory of histories that another thread has made ready: in time, within the limit, given back."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.engine.history.ahead import BlocksAhead
from stroboscope.engine.history.block import Block
from stroboscope.engine.history.ring import RowRing

Make = Callable[..., physics.Scene]
Wait = Callable[..., None]
Ours = Callable[[], list[Block]]

THREAD = "stroboscope history"
PAGE = 4096


@pytest.fixture(autouse=True)
def no_thread_of_earlier_tests(wait_until: Callable[..., None]) -> None:
    """Wait for the thread of an earlier test's scene, which may linger."""
    wait_until(lambda: THREAD not in {thread.name for thread in threading.enumerate()})


def fill(scene: physics.Scene) -> None:
    """Step until the block that is being filled is full."""
    ring = scene.history.ring
    while ring.at < ring.size:
        scene.step()


def is_ready(ring: RowRing) -> bool:
    return ring._order is not None and ring._order.block is not None


def blocks() -> list[Block]:
    return [each for each in gc.get_objects() if isinstance(each, Block)]


@pytest.fixture
def ours() -> Callable[[], list[Block]]:
    """``ours()``: the blocks that were made since the test began; it looks at every object."""
    gc.collect()
    of_others = {id(each): each for each in blocks()}  # held, so that no number is used again
    return lambda: [each for each in blocks() if id(each) not in of_others]


@pytest.mark.skipif(sys.platform != "linux", reason="faults of one thread are told by Linux only")
def test_the_thread_that_steps_does_not_wait_for_memory(make_scene: Make, wait_until: Wait) -> None:
    import resource

    scene = make_scene("humanoid")
    scene.keep_history()
    scene.step()
    pages = faults = 0
    for _ in range(6):
        fill(scene)
        wait_until(lambda: is_ready(scene.history.ring))
        scene.step()  # into the block that has been made
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        fill(scene)
        faults += resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before
        pages += scene.history.ring.size * scene.history.ring.width // PAGE
    assert pages > 100
    assert faults < pages / 4


def test_what_is_being_prepared_counts_and_keeps_to_the_limit(
    make_scene: Make, wait_until: Wait, ours: Ours
) -> None:
    limit = 5 << 20
    scene = make_scene("humanoid")
    scene.keep_history(max_bytes=limit)
    scene.step()
    ring = scene.history.ring
    were_ready = 0
    for turn in range(70):
        fill(scene)
        scene.step()
        if ring._order is not None:
            wait_until(lambda: is_ready(ring))
            were_ready += 1
        assert ring.nbytes <= limit
        if turn % 7:
            continue
        # One that was given up while it was made goes as soon as it is there.
        wait_until(lambda: sum(block.nbytes for block in ours()) <= ring.nbytes)
    assert were_ready > 40
    assert ring.dense > 0  # it had come to the limit


def test_rows_are_the_same_in_memory_that_was_made_ready(
    make_scene: Make, state_of: Callable[[physics.Scene], np.ndarray]
) -> None:
    scene = make_scene("humanoid")
    scene.keep_history()
    random = np.random.default_rng(0)
    rows = []
    for _ in range(1500):
        scene.ctrl[:] = random.uniform(-1, 1, scene.model.nu)
        rows.append(state_of(scene))
        scene.step()
    for axis, row in enumerate(rows):
        kept = scene.history.ring.row(axis)
        assert kept is not None
        assert kept.tobytes() == row.tobytes()


def test_what_is_left_of_old_rows_is_worked_out_in_time_and_right(
    make_scene: Make, state_of: Callable[[physics.Scene], np.ndarray], wait_until: Wait
) -> None:
    scene = make_scene("humanoid")
    scene.keep_history(max_bytes=5 << 20)
    random = np.random.default_rng(0)
    rows: list[np.ndarray] = []
    ring = scene.history.ring
    ready = 0
    while ring.dense <= 1000:
        if ring.at == ring.size and ring.dense >= 0:
            orders = [block.order for block in ring._blocks if block.order is not None]
            wait_until(lambda: all(order.dropped is not None for order in orders))  # noqa: B023
            ready += bool(orders)
        scene.ctrl[:] = random.uniform(-1, 1, scene.model.nu)
        rows.append(state_of(scene))
        scene.step()
        ring = scene.history.ring
    assert ready > 5
    inputs = scene.history.packing.layout.inputs
    thinned_out = 0
    for axis in range(ring.first, len(rows)):
        assert ring.time(axis) == rows[axis][0]
        assert ring.step(axis) == axis
        assert ring.inputs(axis).tobytes() == rows[axis][inputs].tobytes()
        if not ring.is_stored(axis):
            thinned_out += 1
            assert ring.is_hash_of(rows[axis], axis)
            assert not ring.is_hash_of(rows[axis - 1], axis)
    assert thinned_out > 300


def test_memory_goes_when_the_rows_are_forgotten_and_so_does_the_thread(
    make_scene: Make, wait_until: Wait, ours: Ours
) -> None:
    scene = make_scene("humanoid")
    scene.keep_history()
    scene.step()
    fill(scene)
    assert [thread.name for thread in threading.enumerate()].count(THREAD) <= 1
    scene.history.forget()
    assert scene.history.nbytes == 0
    wait_until(lambda: THREAD not in {thread.name for thread in threading.enumerate()})
    assert not ours()
    scene.step()
    wait_until(lambda: is_ready(scene.history.ring))  # with another one


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells the memory")
def test_memory_of_forgotten_rows_goes_back_to_the_system(
    make_scene: Make, wait_until: Wait
) -> None:
    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    scene = make_scene("humanoid")
    scene.keep_history(max_bytes=16 << 20)
    while scene.history.ring.first <= 0:
        scene.step()
    kept, before = scene.history.nbytes, resident()
    assert kept > 12 << 20
    scene.history.forget()
    wait_until(lambda: before - resident() > 0.7 * kept)


def test_a_lower_limit_gives_up_what_was_prepared(
    make_scene: Make, wait_until: Wait, ours: Ours
) -> None:
    scene = make_scene("humanoid")
    scene.keep_history()
    scene.step()
    fill(scene)
    scene.step()
    ring = scene.history.ring
    assert ring._order is not None
    scene.keep_history(max_bytes=ring.nbytes - 1)
    fill(scene)
    scene.step()
    assert ring.nbytes <= scene.history.limit or ring.first == 0
    wait_until(lambda: sum(block.nbytes for block in ours()) <= ring.nbytes)


def test_small_blocks_are_not_worth_a_thread() -> None:
    ahead = BlocksAhead()
    assert ahead.order(8, 20, nbytes=8 * 20 * 8) is None
    assert THREAD not in {thread.name for thread in threading.enumerate()}


def test_a_forked_child_has_rows_of_its_own_and_a_thread_that_makes_more() -> None:
    script = """
        import os, time, warnings
        from stroboscope.engine.history.budget import HistoryBudget
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 on: fork with threads
        def is_made(order):
            end = time.monotonic() + 20
            while order.block is None and time.monotonic() < end:
                time.sleep(0.001)
            return order.block is not None
        budget = HistoryBudget()
        order = budget.ahead.order(512, 100, nbytes=1 << 20)
        assert is_made(order)
        rows = order.block.rows
        child = os.fork()
        if child == 0:
            rows[:] = 1.0
            budget.forget_parent()
            os._exit(0 if is_made(budget.ahead.order(512, 100, nbytes=1 << 20)) else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), rows.any())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True, text=True, timeout=60, check=False, env=dict(os.environ),
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("0 False\n", "")
