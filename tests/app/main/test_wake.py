"""What the network brings leaves the user time, however much it is."""

import itertools
import time

from stroboscope.app.main.wake import Waker


def test_a_poll_that_takes_long_is_followed_by_as_much_time_for_the_user(qapp, wait_until):
    waker = Waker()
    spans: list[tuple[float, float]] = []

    def poll() -> None:
        start = time.monotonic()
        while time.monotonic() < start + 0.2:
            waker.wake()
        spans.append((start, time.monotonic()))

    waker.poll = poll
    waker.wake()
    wait_until(lambda: len(spans) > 2)
    waker.close()
    for (start, end), (following, _) in itertools.pairwise(spans):
        assert following - end > 0.95 * (end - start)
