"""One scene of one session, as the window knows it. GUI thread only."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from stroboscope.app.models.conditions import ConditionsModel
from stroboscope.app.models.edits import SceneEdits
from stroboscope.app.models.environments import EnvironmentsModel
from stroboscope.app.models.frames import FrameHistory, FrameSet, SceneFrame
from stroboscope.app.models.ghosts import GhostsModel
from stroboscope.app.models.history import HistoryModel
from stroboscope.app.models.recording import RecordingModel
from stroboscope.app.models.rollouts import RolloutsModel
from stroboscope.app.models.signal import Signal
from stroboscope.app.models.stops import StopsModel
from stroboscope.app.models.trials import TrialsModel
from stroboscope.debugger_protocol.expressions import SignalTable, table_of
from stroboscope.debugger_protocol.messages import (
    PlaybackMode,
    SceneAdded,
    SceneRestored,
    SceneStatus,
    Subscribe,
    Unsubscribe,
)
from stroboscope.debugger_protocol.scene_description import ChannelInfo, SceneDescription
from stroboscope.debugger_protocol.time_messages import (
    Environments,
    SceneConditions,
    SceneGhosts,
    SceneHistory,
    SceneRollouts,
    SceneStops,
)
from stroboscope.debugger_protocol.topics import Instant, Topic

if TYPE_CHECKING:
    from stroboscope.app.models.session import SessionModel

__all__ = ["USUAL_RATE", "SceneModel"]

USUAL_RATE = 60.0
"""Frames per second that are asked for unless somebody says otherwise."""


class SceneModel:
    """Description, status and newest frames of a scene, and who wants which topics of it."""

    def __init__(self, session: "SessionModel", added: SceneAdded) -> None:
        self.status_changed: Signal[[]] = Signal()
        self.described: Signal[[]] = Signal()
        self.frame_arrived: Signal[[SceneFrame]] = Signal()
        self.channels_changed: Signal[[]] = Signal()
        self.restored: Signal[[str]] = Signal()
        self.removed: Signal[[]] = Signal()
        self.signal_rate_changed: Signal[[]] = Signal()
        self.session = session
        self.scene_id = added.scene_id
        self.name = added.name
        self.n_envs = added.n_envs
        self.owner = added.owner
        self.status: SceneStatus | None = None
        self.status_received = 0.0
        self.description: SceneDescription | None = None
        self.user_channels: dict[str, ChannelInfo] = {}
        self.gone = False
        self.restored_at: tuple[int, float] | None = None
        self.has_diverged = False
        """Whether a pose has come, since the state was last replaced, that is no place at all."""
        self.edits = SceneEdits(self)
        self.history = HistoryModel(self)
        self.stops = StopsModel(self)
        self.conditions = ConditionsModel(self)
        self.rollouts = RolloutsModel(self)
        self.ghosts = GhostsModel(self)
        self.trials = TrialsModel(self)
        self.environments = EnvironmentsModel(self)
        self.recording = RecordingModel(self)
        self._histories = {instant: FrameHistory(instant) for instant in Instant}
        self._wanted: dict[str, tuple[frozenset[Topic], float | None]] = {}
        # The rate [Hz] at which each topic is subscribed.
        self._subscribed: dict[Topic, float] = {}
        self._rate = USUAL_RATE
        self._value_rate = USUAL_RATE
        self.signal_rate = USUAL_RATE
        """How often [Hz] rows of signals are to be sent; each has every step since the last."""

    # --- what it is doing

    @property
    def mode(self) -> PlaybackMode:
        """The scene's own mode: PAUSED while it is held."""
        return self.status.mode if self.status is not None else self.session.mode

    @property
    def is_stale(self) -> bool:
        """Whether what is known of the scene can't change any more."""
        return self.gone or not self.session.is_connected

    @property
    def channels(self) -> tuple[ChannelInfo, ...]:
        """Engine channels, then the script's own."""
        engine = self.description.channels if self.description is not None else ()
        return (*engine, *self.user_channels.values())

    def signal_table(self) -> SignalTable:
        """Return what an expression about this scene may name; made anew when asked."""
        if self.description is None:
            return SignalTable(self.channels)
        return table_of(self.description, self.user_channels.values())

    @property
    def stands_still(self) -> bool:
        """Whether the state that the scene stands at has arrived."""
        now = self._histories[Instant.NOW].latest(Topic.POSE)
        return now is not None and self.status is not None and now.axis >= self.status.axis

    def instant(self, preferred: Instant = Instant.NOW) -> Instant | None:
        """Return the instant to show, or None before the first frame.

        While the past is looked at it is PAST, as soon as that has come. While paused it is
        ``preferred`` when that is known; NOW counts only when it is not older than the last
        executed frame. While running it is whatever is newest.
        """
        newest = {
            instant: frame
            for instant, history in self._histories.items()
            if (frame := history.latest(Topic.POSE) or history.latest(Topic.STATE)) is not None
        }
        past = newest.pop(Instant.PAST, None)
        if past is not None and self.history.is_away:
            return Instant.PAST
        if not newest:
            return None
        if len(newest) == 1:
            return next(iter(newest))
        now_is_current = newest[Instant.NOW].axis >= newest[Instant.EXECUTED].axis
        if self.mode is PlaybackMode.PAUSED and preferred is Instant.EXECUTED:
            return Instant.EXECUTED
        return Instant.NOW if now_is_current else Instant.EXECUTED

    def has_instant(self, instant: Instant) -> bool:
        """Return whether a frame of that instant is known."""
        return self._histories[instant].latest(Topic.POSE) is not None

    def latest(self, topic: Topic, preferred: Instant = Instant.NOW) -> SceneFrame | None:
        """Return the newest frame of a topic at the instant that is shown."""
        instant = self.instant(preferred)
        return None if instant is None else self._histories[instant].latest(topic)

    def frame_set(
        self, topics: Iterable[Topic], preferred: Instant = Instant.NOW
    ) -> FrameSet | None:
        """Return the newest instant at which all ``topics`` are known, or None."""
        instant = self.instant(preferred)
        return None if instant is None else self._histories[instant].newest_set(topics)

    # --- what arrives

    def set_status(self, status: SceneStatus) -> None:
        """Take a new status."""
        if self.status is not None and self.status.axis != status.axis:
            self.stops.note_steps()
        self.status = status
        self.status_received = time.monotonic()
        self.history.note_mode(status.mode, status.axis)
        self.status_changed.emit()

    def set_history(self, message: SceneHistory | SceneStops) -> None:
        """Take what the scene remembers and where the view stands, or what has stopped it."""
        if isinstance(message, SceneHistory):
            before, view = self.history.view, message.view
            if view is None:
                self._histories[Instant.PAST].clear()
            elif before is None:
                # Frames of an earlier look may have come after it had ended.
                self._histories[Instant.PAST].keep_only(view)
            self.history.receive(message)
            if view != before:
                self.status_changed.emit()  # another instant is shown
            return
        self.history.receive(message)
        self.stops.receive(message)

    def set_time_news(
        self, message: SceneConditions | SceneRollouts | Environments | SceneGhosts
    ) -> None:
        """Take what is new of its conditions, rollouts, environments or ghosts."""
        match message:
            case SceneConditions():
                self.conditions.receive(message)
            case SceneRollouts():
                self.rollouts.receive(message)
            case Environments():
                self.environments.receive(message)
            case SceneGhosts():
                self.ghosts.receive(message)

    def set_description(self, description: SceneDescription) -> None:
        """Take a description; a lower revision than the known one is ignored."""
        if self.description is not None:
            if description.revision < self.description.revision:
                return
            if description.revision > self.description.revision:
                for history in self._histories.values():
                    history.clear()
        self.description = description
        self.described.emit()

    def add_channels(self, channels: Iterable[ChannelInfo]) -> None:
        """Take user channels that appeared."""
        self.user_channels.update((channel.name, channel) for channel in channels)
        self.channels_changed.emit()

    def add_frame(self, frame: SceneFrame) -> None:
        """Take a frame; those of another revision than the description's are ignored."""
        if self.description is not None and frame.revision != self.description.revision:
            return
        if frame.topic is Topic.SIGNALS:
            self.frame_arrived.emit(frame)
            return
        decides = frame.topic in (Topic.POSE, Topic.STATE)
        before = self._shown_instants() if decides else None
        self._histories[frame.instant].add(frame)
        self.frame_arrived.emit(frame)
        if decides and self._shown_instants() != before:
            # What others show of that instant may have come before.
            self.status_changed.emit()

    def _shown_instants(self) -> tuple[Instant | None, ...]:
        return tuple(self.instant(preferred) for preferred in (Instant.NOW, Instant.EXECUTED))

    def set_restored(self, restored: SceneRestored) -> None:
        """The state was replaced: executed frames of before don't belong to it any more."""
        for history in self._histories.values():
            history.clear()
        self.has_diverged = False
        self.restored_at = (restored.axis, restored.time)
        self.restored.emit(restored.reason)

    def set_gone(self) -> None:
        """The scene was destroyed, or its session is over; the last state stays."""
        self.gone = True
        self._subscribed = {}
        self.edits.close()
        self.history.close()
        self.recording.close()
        self.removed.emit()

    # --- what is wanted

    def want(self, who: str, topics: Iterable[Topic], *, rate: float | None = None) -> None:
        """Replace what ``who`` (a view) wants of this scene; empty: nothing any more.

        ``rate`` [Hz] is as often as ``who`` can use; None: as often as pictures are drawn.
        """
        wanted = frozenset(topics)
        if wanted:
            self._wanted[who] = (wanted, rate)
        else:
            self._wanted.pop(who, None)
        self.synchronize()

    def set_rate(
        self,
        frames_per_second: float,
        *,
        values: float = USUAL_RATE,
        signals: float = USUAL_RATE,
    ) -> None:
        """Ask for frames at most this often: those that nobody draws cost the script its time.

        ``values`` [Hz] is the same for those who said how often they can use them (tables),
        ``signals`` for rows of signals.
        """
        rates = (frames_per_second, values)
        if rates != (self._rate, self._value_rate):
            self._rate, self._value_rate = rates
            self.synchronize()
        if signals != self.signal_rate:
            self.signal_rate = signals
            self.signal_rate_changed.emit()

    def _rates(self) -> dict[Topic, float]:
        """Return every topic that is wanted, and how often."""
        rates: dict[Topic, float] = {}
        each = min(self._rate, self._value_rate)
        for topics, rate in self._wanted.values():
            most = self._rate if rate is None else min(rate, each)
            for topic in topics:
                rates[topic] = max(most, rates.get(topic, 0.0))
        return rates

    def _subscribe(self, topics: Iterable[Topic], rate: float) -> None:
        ordered = tuple(sorted(topics))
        self.session.send(
            lambda i: Subscribe(id=i, scene_id=self.scene_id, topics=ordered, max_rate_hz=rate)
        )

    def synchronize(self) -> None:
        """Ask the session for what is wanted and not yet subscribed, and stop the rest."""
        if self.is_stale:
            return
        wanted = self._rates()
        scene_id = self.scene_id
        more: dict[float, list[Topic]] = {}
        for topic, rate in wanted.items():
            if self._subscribed.get(topic) != rate:
                more.setdefault(rate, []).append(topic)
        for rate, topics in more.items():
            self._subscribe(topics, rate)
        topics_less = tuple(sorted(self._subscribed.keys() - wanted.keys()))
        if topics_less:
            self.session.send(lambda i: Unsubscribe(id=i, scene_id=scene_id, topics=topics_less))
            for topic in topics_less:
                for history in self._histories.values():
                    history.forget(topic)
        self._subscribed = wanted
