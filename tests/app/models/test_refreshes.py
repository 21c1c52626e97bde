"""Panels share the drawing thread: a stated part of it, by what each refresh costs."""

import pytest

from stroboscope.app.models.refreshes import (
    LEAST_RATE,
    MOST_RATE,
    PAUSED,
    Pace,
    Refreshes,
    RefreshTurn,
)

RUNNING = Pace(share=0.2, saved=0.01)


class Clocks:
    """The wall's and the thread's time [s], moved by hand."""

    def __init__(self) -> None:
        self.wall = 100.0
        self.thread = 0.0

    def work(self, seconds: float) -> None:
        """Use the processor."""
        self.wall += seconds
        self.thread += seconds


class Panel:
    """Always has news; each refresh takes ``cost`` [s]."""

    def __init__(
        self, refreshes: Refreshes, clocks: Clocks, cost: float, **options: object
    ) -> None:
        self.turn: RefreshTurn = refreshes.join(**options)  # type: ignore[arg-type]
        self.times: list[float] = []
        self._clocks, self._cost = clocks, cost

    def go_on(self) -> None:
        """Do what its timer does."""
        if self.turn.wait() <= 0.0:
            self.turn.run(self._refresh)

    def _refresh(self) -> None:
        self.times.append(self._clocks.wall)
        self._clocks.work(self._cost)

    def rate(self, seconds: float) -> float:
        """Return the refreshes per second of the last ``seconds``."""
        since = self._clocks.wall - seconds
        return sum(time > since for time in self.times) / seconds


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def refreshes(clocks: Clocks) -> Refreshes:
    return Refreshes(clock=lambda: clocks.wall, thread_clock=lambda: clocks.thread)


def live(clocks: Clocks, panels: list[Panel], seconds: float) -> float:
    """Let everybody refresh whenever they may; return the share of the thread that this took."""
    end, before = clocks.wall + seconds, clocks.thread
    while clocks.wall < end:
        for panel in panels:
            panel.go_on()
        clocks.wall += 0.001
    return (clocks.thread - before) / seconds


def test_panels_together_use_no_more_than_their_share(refreshes, clocks):
    refreshes.set_pace(RUNNING)
    panels = [Panel(refreshes, clocks, cost) for cost in (0.002, 0.005, 0.010, 0.004)]
    live(clocks, panels, 1.0)
    assert live(clocks, panels, 5.0) == pytest.approx(0.2, abs=0.02)
    rates = [panel.rate(5.0) for panel in panels]
    assert max(rates) - min(rates) < 1.0  # each in its turn, whatever it costs


def test_cheap_panels_refresh_as_often_as_can_be_read_and_not_more(refreshes, clocks):
    refreshes.set_pace(RUNNING)
    fast, slow = Panel(refreshes, clocks, 1e-4), Panel(refreshes, clocks, 1e-4, rate=5.0)
    live(clocks, [fast, slow], 4.0)
    assert fast.rate(4.0) == pytest.approx(MOST_RATE, abs=1.5)
    assert slow.rate(4.0) == pytest.approx(5.0, abs=0.5)


def test_no_panel_waits_for_ever_however_expensive_the_others_are(refreshes, clocks):
    refreshes.set_pace(Pace(share=0.02, saved=0.01))
    panels = [Panel(refreshes, clocks, 0.02) for _ in range(5)]
    live(clocks, panels, 6.0)
    for panel in panels:
        assert panel.rate(5.0) == pytest.approx(LEAST_RATE, abs=0.3)


def test_a_pace_may_let_panels_wait_longer_than_usual(refreshes, clocks):
    refreshes.set_pace(Pace(share=0.02, saved=0.01, least=1.0))
    panels = [Panel(refreshes, clocks, 0.02) for _ in range(5)]
    live(clocks, panels, 6.0)
    for panel in panels:
        assert panel.rate(5.0) == pytest.approx(1.0, abs=0.3)
    assert refreshes.rate == 1.0


def test_a_refresh_waits_until_a_picture_is_drawn_beside_it_but_not_for_ever(refreshes, clocks):
    refreshes.set_pace(RUNNING)
    panel = Panel(refreshes, clocks, 0.001)
    prepared = [True]
    refreshes.prepares_picture = lambda: prepared[0]
    clocks.wall += 10.0
    live(clocks, [panel], 0.05)
    assert panel.times == []
    prepared[0] = False
    live(clocks, [panel], 0.01)
    assert len(panel.times) == 1
    prepared[0] = True
    begin = clocks.wall
    live(clocks, [panel], 1.0)
    assert panel.times[1] - begin == pytest.approx(1.0 / MOST_RATE + 0.1, abs=0.02)
    # In a scene that stands each picture is of a step, which the panels show as well.
    refreshes.set_pace(PAUSED)
    clocks.wall += 1.0
    begin = clocks.wall
    panel.go_on()
    assert panel.times[-1] == begin


def test_the_panel_that_is_looked_at_comes_first(refreshes, clocks):
    refreshes.set_pace(RUNNING)
    others = [Panel(refreshes, clocks, 0.01) for _ in range(6)]
    looked_at = Panel(refreshes, clocks, 0.01, favoured=lambda: True)
    live(clocks, [*others, looked_at], 6.0)
    assert looked_at.rate(5.0) > 1.8 * max(panel.rate(5.0) for panel in others)
    assert min(panel.rate(5.0) for panel in others) > 0.8 * LEAST_RATE


def test_a_step_is_shown_by_every_panel_at_once_and_by_each_once(refreshes, clocks):
    refreshes.set_pace(PAUSED)
    panels = [Panel(refreshes, clocks, 0.02) for _ in range(15)]
    live(clocks, panels, 1.0)
    clocks.wall += 10.0
    begin = clocks.wall
    for panel in panels:
        panel.go_on()
    assert [len([t for t in panel.times if t >= begin]) for panel in panels] == [1] * 15
    assert clocks.wall - begin == pytest.approx(15 * 0.02)


def test_coming_to_a_stop_there_is_time_for_every_panel(refreshes, clocks):
    refreshes.set_pace(RUNNING)
    panels = [Panel(refreshes, clocks, 0.01) for _ in range(10)]
    live(clocks, panels, 3.0)
    refreshes.set_pace(PAUSED)
    begin = clocks.wall
    live(clocks, panels, 0.3)
    assert all(panel.times[-1] >= begin for panel in panels)


def test_a_panel_that_nobody_sees_takes_nothing_from_the_others(refreshes, clocks):
    refreshes.set_pace(RUNNING)
    hidden = Panel(refreshes, clocks, 0.05)
    seen = Panel(refreshes, clocks, 0.01)
    live(clocks, [hidden, seen], 2.0)
    hidden.turn.forget()
    live(clocks, [seen], 2.0)
    assert live(clocks, [seen], 5.0) == pytest.approx(0.15, abs=0.02)
    assert seen.rate(5.0) == pytest.approx(MOST_RATE, abs=1.0)


def test_news_are_asked_for_as_often_as_the_panels_take_them(refreshes, clocks):
    told: list[float] = []
    refreshes.rate_changed.connect(told.append)
    refreshes.set_pace(RUNNING)
    panels = [Panel(refreshes, clocks, 0.005) for _ in range(8)]  # 40 ms: five times a second
    live(clocks, panels, 3.0)
    assert refreshes.rate == told[-1] == 5.0
    refreshes.set_pace(Pace(share=0.04, saved=0.01))
    assert refreshes.rate == told[-1] == LEAST_RATE
    assert len(told) < 8


def test_what_is_painted_counts_as_the_panel_s_cost(refreshes, clocks):
    turn = refreshes.join()
    refreshes.paint = lambda: clocks.work(0.03)
    turn.run(lambda: clocks.work(0.01))
    assert turn.cost == pytest.approx(0.04)


def test_a_refresh_that_another_one_brings_about_is_a_part_of_it(refreshes, clocks):
    outer, inner = refreshes.join(), refreshes.join()
    outer.run(lambda: inner.run(lambda: clocks.work(0.01)))
    assert outer.cost == pytest.approx(0.01)
    assert inner.cost == 0.0


def test_a_refresh_that_fails_counts_and_is_told(refreshes, clocks):
    turn = refreshes.join()

    def fail() -> None:
        clocks.work(0.01)
        raise ValueError("no such element")

    with pytest.raises(ValueError, match="no such element"):
        turn.run(fail)
    assert turn.cost == pytest.approx(0.01)
    assert turn.wait() > 0.0
