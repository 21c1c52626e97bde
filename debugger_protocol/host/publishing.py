"""Frames on their way out: which are due, and the latest-value slots they are left in.

Everything here runs on the owner thread, except that the server thread replaces ``interest`` and
reads ``slots``. A failing backend never hurts the simulation: the topic is switched off and the
reason is reported once.
"""

import math
import time
from collections.abc import Callable, Mapping

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.backend import Clock, SceneBackend, TopicFrames
from stroboscope.debugger_protocol.host.publishing_time import PublishingTime
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.signal_handlers import is_of_handler
from stroboscope.debugger_protocol.topics import Instant, Topic

__all__ = ["FramePublisher", "PublishedFrame"]

Report = Callable[[str], None]
"""Tells the user about a failure; owner thread."""

_NEVER = math.inf
# However long frames take, they come so often [s].
_LONGEST_INTERVAL = 0.5
# What they take is remembered for a while: not every one holds all topics.
_FORGETTING = 0.8
_LITTLE = 1e-3
# From this size on, arrays that stay the very same objects are not sent again with every frame.
_LARGE_BYTES = Limits().repeated_drawing_bytes


class PublishedFrame:
    """One topic at one instant, as the owner left it; never changed afterwards.

    ``sequence`` counts the frames of its slot, so that a reader knows how many it missed.
    """

    __slots__ = ("arrays", "clock", "instant", "notes", "revision", "sequence", "topic")

    def __init__(
        self,
        *,
        topic: Topic,
        instant: Instant,
        revision: int,
        clock: Clock,
        arrays: Arrays,
        notes: tuple[str, ...],
        sequence: int,
    ) -> None:
        self.topic = topic
        self.instant = instant
        self.revision = revision
        self.clock = clock
        self.arrays = arrays
        self.notes = notes
        self.sequence = sequence


class FramePublisher:
    """Decides when frames of one scene are due, gets them from the backend, leaves them in slots.

    ``report`` tells the user about a backend that failed. ``share`` returns the part of the owner
    thread's time that frames may take.
    """

    def __init__(
        self,
        backend: SceneBackend,
        *,
        report: Report,
        share: Callable[[], float] = lambda: Limits().frames_share,
    ) -> None:
        self._backend = backend
        self._report = report
        self._share = share
        self.interest: Mapping[Topic, float] = {}
        """Subscribed topics and their shortest interval [s]; replaced by the server thread."""
        self.slots: dict[tuple[Topic, Instant], PublishedFrame] = {}
        self.revision = 0
        self.time: PublishingTime | None = None
        """What all this takes; None while nobody asks for TIMING."""
        self._due: dict[Topic, float] = {}
        self._due_of: Mapping[Topic, float] = self.interest
        self._disabled: frozenset[Topic] = frozenset()
        self._begun: frozenset[Topic] = frozenset()
        self._begun_clock: Clock | None = None
        self._cost = 0.0
        self._begun_cost = 0.0
        self._now_published: set[Topic] = set()
        self._past_published: set[Topic] = set()
        # Which NOW frames are of a state that was edited since, by their numbers.
        self._outdated: dict[Topic, int] = {}
        self.ghosts: Callable[[float], tuple[Arrays, tuple[str, ...]]] = _no_ghosts
        """Returns the topic GHOSTS at a time [s], and notes; the engine knows nothing of it."""
        self._sequences: dict[tuple[Topic, Instant], int] = {}

    # --- executed frames

    def begin(self, now: float, *, every_step: bool) -> bool:
        """Before a physics step at wall time ``now``: return whether a frame was begun."""
        topics = self._due_topics(now, every_step=every_step)
        if not topics:
            return False
        since, used = PublishingTime.now(), time.thread_time()
        try:
            clock = self._backend.clock()
            self._backend.begin_frame(topics - {Topic.GHOSTS})
        except Exception as error:  # the user's simulation goes on
            if is_of_handler(error):
                raise
            self._disable(topics, error, doing="preparing")
            return False
        self._begun, self._begun_clock = topics, clock
        self._begun_cost = time.thread_time() - used
        if self.time is not None:
            self.time.add(since)
        return True

    def end(self) -> None:
        """After the physics step: publish what it computed, as of the state before it."""
        topics, clock = self._begun, self._begun_clock
        self._begun, self._begun_clock = frozenset(), None
        if clock is None:
            return
        since, used = PublishingTime.now(), time.thread_time()
        frames = self._collect(self._backend.end_frame, topics)
        frames = self._with_ghosts(frames, topics, time=clock.time)
        self._publish(frames, clock=clock, instant=Instant.EXECUTED)
        cost = self._begun_cost + time.thread_time() - used
        # One that took long for once, like the first of all, is no reason to wait.
        cost = min(cost, max(2.0 * self._cost, _LITTLE))
        self._cost = max(cost, _FORGETTING * self._cost)
        if self.time is not None:
            self.time.add(since)

    def next_due(self) -> float:
        """Return the wall time [s] at which the next frame is due."""
        if self._due_of is not self.interest:
            return 0.0
        # Slower topics wait for these.
        fastest = self._fastest()
        return min(
            (at for topic, at in self._due.items() if self.interest[topic] <= fastest),
            default=_NEVER,
        )

    def _fastest(self) -> float:
        """Return the shortest interval [s] of the topics that there are frames of."""
        return min((self.interest[topic] for topic in self._due), default=_NEVER)

    def _due_topics(self, now: float, *, every_step: bool) -> frozenset[Topic]:
        interest = self.interest
        if self._due_of is not interest:
            self._due = {
                topic: self._due.get(topic, 0.0)
                for topic in interest
                if topic not in self._disabled
            }
            self._due_of = interest
            self._measure(wanted=Topic.TIMING in interest)
        due = self._due
        topics = frozenset(due) if every_step else self._due_together(now)
        affordable = min(self._cost / self._share(), _LONGEST_INTERVAL)
        for topic in topics:
            interval = max(interest[topic], affordable)
            # Steps don't end when a frame is due; the next is due as if this one had been in time.
            late = now - due[topic]
            due[topic] = due[topic] + interval if 0.0 <= late < interval else now + interval
        return topics

    def _measure(self, *, wanted: bool) -> None:
        if not wanted:
            self.time = None
        elif self.time is None:
            self.time = PublishingTime(self._backend.clock().axis)

    def _due_together(self, now: float) -> frozenset[Topic]:
        """Return what is due, so that topics that are shown side by side have instants in common.

        The fastest topics set the pace; those almost due come along, and slower ones with them.
        """
        due, interest = self._due, self.interest
        fastest = self._fastest()
        if not any(at <= now and interest[topic] <= fastest for topic, at in due.items()):
            return frozenset()
        soon = now + 0.5 * fastest
        return frozenset(topic for topic, at in due.items() if at <= soon)

    # --- the state as it stands

    def state_changed(self) -> None:
        """Forget which NOW frames were published: the scene stands somewhere else."""
        self._now_published.clear()

    def state_edited(self) -> None:
        """Forget the same where the scene stands at the same axis: the state is another one.

        Who has those frames already gets others soon, but nobody else is to have them.
        """
        self._now_published.clear()
        for topic in Topic:
            # What a script has drawn stays drawn, and is not published anew.
            if topic is not Topic.DRAWING:
                self._outdate(topic)

    def topic_changed(self, topic: Topic) -> None:
        """Forget that a topic's NOW frame was published: its values are others now."""
        self._now_published.discard(topic)
        self._outdate(topic)

    def _outdate(self, topic: Topic) -> None:
        frame = self.slots.get((topic, Instant.NOW))
        if frame is not None:
            self._outdated[topic] = frame.sequence

    def is_outdated(self, frame: PublishedFrame) -> bool:
        """Return whether a frame tells of the same axis what is not so any more; any thread."""
        return frame.instant is Instant.NOW and self._outdated.get(frame.topic) == frame.sequence

    def model_replaced(self) -> None:
        """Forget everything: frames of another model have other sizes."""
        self.revision += 1
        self._now_published.clear()
        self._past_published.clear()
        self._enable_all()
        for key in tuple(self.slots):
            self.slots.pop(key, None)

    def state_replaced(self) -> None:
        """Forget what was published about the state that was replaced, and what failed there."""
        self.state_edited()
        self._enable_all()
        for topic in Topic:
            self.slots.pop((topic, Instant.EXECUTED), None)
        # Large drawings are not published twice, but what is shown of another state must be newer.
        self.slots.pop((Topic.DRAWING, Instant.NOW), None)

    def has_stale_now(self) -> bool:
        """Return whether a subscribed topic has no NOW frame of the present state."""
        return any(t not in self._now_published and t not in self._disabled for t in self.interest)

    def publish_now(self) -> None:
        """Publish the subscribed topics of the present state that are not published yet."""
        topics = frozenset(self.interest) - self._now_published - self._disabled
        if topics:
            self._publish_last_executed(topics)
            self._publish_now(topics, only_changed=False)

    def _publish_last_executed(self, topics: frozenset[Topic]) -> None:
        """Publish what the last physics step computed where only an earlier step's is known.

        While a scene runs, frames are made at the rate of pictures, not of steps.
        """
        try:
            made = self._backend.frame_last_executed(topics - {Topic.GHOSTS})
        except Exception as error:  # the user's simulation goes on
            if is_of_handler(error):
                raise
            self._report(f"the last executed step could not be shown: {error!r}")
            return
        if made is None:
            return
        clock, frames = made
        frames = self._with_ghosts(frames, topics, time=clock.time)
        slots = {topic: self.slots.get((topic, Instant.EXECUTED)) for topic in frames.arrays}
        new = {
            topic: arrays
            for topic, arrays in frames.arrays.items()
            if (slot := slots[topic]) is None or slot.clock.axis < clock.axis
        }
        self._publish(TopicFrames(new, frames.notes), clock=clock, instant=Instant.EXECUTED)

    def publish_now_if_changed(self, now: float) -> None:
        """Publish due topics of the present state whose values differ from the last ones.

        For scenes that aren't stepped: nobody says when the script has moved something.
        """
        topics = self._due_topics(now, every_step=False)
        if topics:
            self._publish_now(topics, only_changed=True)

    def _publish_now(self, topics: frozenset[Topic], *, only_changed: bool) -> None:
        try:
            clock = self._backend.clock()
        except Exception as error:  # the user's simulation goes on
            if is_of_handler(error):
                raise
            self._disable(topics, error, doing="reading the clock for")
            return
        frames = self._collect(self._backend.frame_now, topics)
        frames = self._with_ghosts(frames, topics, time=clock.time)
        self._now_published |= topics
        self._publish(frames, clock=clock, instant=Instant.NOW, only_changed=only_changed)

    # --- a row that is looked at

    def past_changed(self) -> None:
        """Forget which PAST frames were published: another row is looked at."""
        self._past_published.clear()

    def leave_past(self) -> None:
        """Nobody looks at the past any more."""
        self._past_published.clear()
        for topic in Topic:
            self.slots.pop((topic, Instant.PAST), None)

    def stale_past(self) -> frozenset[Topic]:
        """Return the subscribed topics that have no PAST frame of the row that is looked at."""
        return frozenset(self.interest) - self._past_published - self._disabled

    def has_stale_past(self) -> bool:
        """Return whether there are such topics."""
        return any(t not in self._past_published and t not in self._disabled for t in self.interest)

    def publish_past(self, topics: frozenset[Topic], frames: TopicFrames, *, clock: Clock) -> None:
        """Publish a row; ``topics`` were asked for, some of which may have nothing in the past."""
        self._past_published |= topics
        frames = self._with_ghosts(frames, topics, time=clock.time)
        self._publish(frames, clock=clock, instant=Instant.PAST)

    # --- all

    def _with_ghosts(
        self, frames: TopicFrames, topics: frozenset[Topic], *, time: float
    ) -> TopicFrames:
        if Topic.GHOSTS not in topics:
            return frames
        arrays, notes = self.ghosts(time)
        return TopicFrames({**frames.arrays, Topic.GHOSTS: arrays}, frames.notes + notes)

    def _collect(
        self, get: Callable[[frozenset[Topic]], TopicFrames], topics: frozenset[Topic]
    ) -> TopicFrames:
        """Return the frames; after a failure ask for each topic alone to find the culprit."""
        topics -= {Topic.GHOSTS}
        if not topics:
            return TopicFrames({})
        try:
            return get(topics)
        except Exception as error:  # the user's simulation goes on
            if is_of_handler(error):
                raise
            if len(topics) == 1:
                self._disable(topics, error, doing="reading")
                return TopicFrames({})
        arrays: dict[Topic, Arrays] = {}
        notes: tuple[str, ...] = ()
        for topic in topics:
            single = self._collect(get, frozenset((topic,)))
            arrays.update(single.arrays)
            notes += tuple(note for note in single.notes if note not in notes)
        return TopicFrames(arrays, notes)

    def _publish(
        self, frames: TopicFrames, *, clock: Clock, instant: Instant, only_changed: bool = False
    ) -> None:
        for topic, arrays in frames.arrays.items():
            if topic is Topic.TIMING and self.time is not None:
                arrays = {**arrays, "publish": self.time.take(clock.axis)}
            key = (topic, instant)
            previous = self.slots.get(key)
            if (
                only_changed
                and previous is not None
                and previous.revision == self.revision
                and previous.clock == clock
                and not self.is_outdated(previous)
                and _same_arrays(previous.arrays, arrays)
            ):
                continue
            if previous is not None and _holds_still(previous, arrays, revision=self.revision):
                continue
            self._sequences[key] = sequence = self._sequences.get(key, 0) + 1
            self.slots[key] = PublishedFrame(
                topic=topic,
                instant=instant,
                revision=self.revision,
                clock=clock,
                arrays=arrays,
                notes=frames.notes,
                sequence=sequence,
            )

    def _enable_all(self) -> None:
        """Try again what failed: another state or model may be a sound one."""
        if self._disabled:
            self._disabled = frozenset()
            self._due_of = {}

    def _disable(self, topics: frozenset[Topic], error: Exception, *, doing: str) -> None:
        self._disabled |= topics
        for topic in topics:
            self._due.pop(topic, None)
        names = ", ".join(sorted(topics))
        self._report(
            f"{doing} {names} failed, so it is switched off until the state is replaced: "
            f"{type(error).__name__}: {error}"
        )


def _no_ghosts(_: float) -> tuple[Arrays, tuple[str, ...]]:
    return {}, ()


def _holds_still(previous: PublishedFrame, arrays: Arrays, *, revision: int) -> bool:
    """Return whether a frame would repeat much data that its receivers have."""
    if previous.arrays is not arrays or previous.revision != revision:
        return False
    return sum(array.nbytes for array in arrays.values()) >= _LARGE_BYTES


def _same_arrays(a: Arrays, b: Arrays) -> bool:
    if a is b:
        return True
    if a.keys() != b.keys():
        return False
    return all(
        x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes()
        for x, y in ((a[name], b[name]) for name in a)
    )
