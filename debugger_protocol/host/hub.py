"""The middle of the server thread: scenes on one side, clients on the other.

Everything runs on the event loop's thread but :meth:`Hub.wake` and :meth:`Hub.released`. It
sleeps unless a client has said something, an owner thread has published something, or a scene
that somebody watches is running.
"""

import asyncio
import math
from collections.abc import Callable, Iterable

import msgspec

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.expressions import is_expression
from stroboscope.debugger_protocol.host.commands import Answer, CommandDesk
from stroboscope.debugger_protocol.host.control import Control, OnDisconnect
from stroboscope.debugger_protocol.host.descriptions import Descriptions
from stroboscope.debugger_protocol.host.end_watch import EndWatch
from stroboscope.debugger_protocol.host.host import Host, HostListener
from stroboscope.debugger_protocol.host.scene_link import SceneLink
from stroboscope.debugger_protocol.host.scene_news import SceneNews
from stroboscope.debugger_protocol.host.scene_playback import Interest
from stroboscope.debugger_protocol.host.status import SceneMeter, differs, is_news, scene_status
from stroboscope.debugger_protocol.host.subscriptions import FramePacker, SceneSubscription
from stroboscope.debugger_protocol.messages import (
    AssetRequest,
    ClientMessage,
    Command,
    CompareStates,
    ControlChanged,
    Done,
    Failed,
    FailureKind,
    Frame,
    OwnerActivity,
    PlaybackMode,
    ReadRows,
    ReleaseControl,
    RequestControl,
    SceneAdded,
    SceneDescribed,
    SceneRemoved,
    SceneRestored,
    SceneStatus,
    SessionStatus,
    Subscribe,
    Unsubscribe,
)
from stroboscope.debugger_protocol.server_connection import ServerConnection
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.debugger_protocol.version import PASSING, PLAYS, RELAY

__all__ = ["Hub"]

# Bursts of news are passed on together [s].
_FLUSH_INTERVAL = 0.004
_STATUS_INTERVAL = 0.1
_MAX_RATE_HZ = 1000.0
# For a client that has not taken its frames for this long, none are made any more [s].
_PATIENCE = 0.25


class _Client:
    """A connection and what it wants of each scene."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        self.scenes: dict[int, SceneSubscription] = {}
        self.stuck_since = math.inf
        """Since when [s] it has not taken the frames that were sent to it."""
        self.is_stuck = False
        """Whether that is so long ago that frames are not made for it any more."""


class Hub(HostListener):
    """Connects the clients of one session with the scenes of one host.

    ``end_session`` is called on the event loop when the session has to end, with the reason;
    ``tell_end`` when the script is over: it logs how that came, and returns it.
    """

    def __init__(
        self,
        host: Host,
        loop: asyncio.AbstractEventLoop,
        *,
        mode: PlaybackMode,
        grants_control: bool,
        on_disconnect: OnDisconnect,
        end_session: Callable[[str], None],
        clients_changed: Callable[[int], None],
        tell_end: Callable[[], str],
    ) -> None:
        self._host = host
        self._loop = loop
        self._end_session = end_session
        self._clients_changed = clients_changed
        self._clients: dict[int, _Client] = {}
        self.control = Control(
            host,
            mode=mode,
            grants_control=grants_control,
            on_disconnect=on_disconnect,
            announce=self._announce,
        )
        self._desk = CommandDesk(host, loop, answer=self._answer)
        self._descriptions = Descriptions(
            chunk_bytes=host.limits.asset_chunk_bytes,
            message_bytes=host.limits.server_message_bytes,
        )
        self._end_watch = EndWatch(host, loop, end_session=end_session, tell_end=tell_end)
        self._packer = FramePacker()
        self._known: dict[int, SceneLink] = {}
        self._meters: dict[int, SceneMeter] = {}
        self._news: dict[int, SceneNews] = {}
        self._statuses: dict[int, SceneStatus] = {}
        self._session_status: SessionStatus | None = None
        self._finished = host.finished.told
        self._untold = False
        """Whether a scene may have something to tell that was put off."""
        self._woken = False
        self._flush_timer: asyncio.TimerHandle | None = None
        self._flushed_at = -math.inf
        self._tick_timer: asyncio.TimerHandle | None = None
        self._is_ending = False
        self._closed = False

    # --- any thread

    def wake(self) -> None:
        """Have a look at the scenes soon."""
        if not self._woken:
            self._woken = True
            if not self._call(self._look):
                self._woken = False  # deep in the script's own recursion: the next time, then

    def released(self, reason: str) -> None:
        """End the session: every thread was released."""
        self._call(self._end_session, reason)

    def _call(self, function: Callable[..., None], *args: object) -> bool:
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError as error:  # the loop has ended: nobody listens; or no stack is left
            return not isinstance(error, RecursionError)
        return True

    # --- clients

    def client_joined(self, connection: ServerConnection) -> None:
        """Tell a new client everything, then let it take its place."""
        client = _Client(connection)
        self._update_scenes()
        self.control.joined(
            connection.client_id,
            connection.name,
            observe=connection.observe,
            passing=PASSING in connection.capabilities,
        )
        self._clients[connection.client_id] = client
        self._note_controller()
        connection.on_ready = lambda: self._ready(client)
        connection.send_snapshot(self._snapshot())
        # What the others were told last is not what this one knows: tell everybody anew.
        self._session_status = None
        self._statuses.clear()
        self._clients_changed(self.control.attached)
        self._look()

    def client_left(self, connection: ServerConnection, reason: str) -> None:
        """Let go of what a client held and wanted."""
        client = self._clients.pop(connection.client_id, None)
        if client is None:
            return
        # First the number: a thread that is let go may ask at once whether it is attached.
        self._clients_changed(self.control.attached_without(connection.client_id))
        self._desk.forget(connection)
        self.control.left(connection.client_id, reason)
        self._note_controller()
        if self._host.playback.attached:
            for scene_id in client.scenes:
                self._update_interest(scene_id)
        self._look()

    def client_message(self, connection: ServerConnection, message: ClientMessage) -> None:
        """Do what a client asks for, and answer."""
        client = self._clients.get(connection.client_id)
        if client is None or not isinstance(message, Command):
            return
        try:
            self._obey(client, message)
        except CommandError as error:
            failed = Failed(id=message.id, kind=FailureKind.REFUSED, reason=str(error))
            connection.send(failed)

    def _obey(self, client: _Client, message: Command) -> None:
        connection = client.connection
        match message:
            case Subscribe():
                self._subscribe(client, message)
            case Unsubscribe():
                self._unsubscribe(client, message)
            case AssetRequest():
                connection.send(self._descriptions.chunk(message))
                return
            case RequestControl():
                self.control.request(connection.client_id, connection.name)
                self._note_controller()
                self._clients_changed(self.control.attached)
            case ReleaseControl():
                self.control.release(connection.client_id)
                self._note_controller()
            case ReadRows() | CompareStates():
                self._desk.take(connection, message)  # who only looks may look back, too
                return
            case _:
                relays = RELAY in connection.capabilities
                refusal = self.control.refusal(connection.client_id, relays=relays)
                if refusal:
                    raise CommandError(refusal)
                self._desk.take(connection, message)
                return
        connection.send(Done(id=message.id))
        self._look()

    def _answer(self, connection: ServerConnection, answer: Answer, command: Command) -> None:
        """Answer a command, after a status that is at least as new as its effect."""
        scene_id = getattr(command, "scene_id", None)
        for known, news in self._news.items():
            if scene_id in (None, known):
                news.history_is_due()
        self._send_events()
        self._send_session_status()
        links = self._host.links
        for link in links.values() if scene_id is None else [links.get(scene_id)]:
            if link is not None:
                self._send_status(link, force=True)
        connection.send(answer)
        self._look()

    def _note_controller(self) -> None:
        """Note what the client that controls can do."""
        client = self._clients.get(self.control.controller or 0)
        plays = client is not None and PLAYS in client.connection.capabilities
        self._host.playback.plays_views = plays

    def _announce(self, change: ControlChanged) -> None:
        self._broadcast(change)

    # --- subscriptions

    def _subscribe(self, client: _Client, message: Subscribe) -> None:
        link = self._host.find_scene(message.scene_id)
        rate = message.max_rate_hz
        if not math.isfinite(rate) or rate <= 0.0:
            raise CommandError(f"max_rate_hz must be above 0 and at most 1000, got {rate}")
        if Topic.SIGNALS in message.topics and not message.channels:
            raise CommandError("signals need channels: name those to plot")
        description = self._descriptions.describe(link)
        self._descriptions.check_expressions(link, message.channels)
        subscription = client.scenes.get(link.scene_id)
        if subscription is None:
            subscription = client.scenes[link.scene_id] = SceneSubscription(link)
        if subscription.described_revision != description.revision:
            subscription.described_revision = description.revision
            client.connection.send(SceneDescribed(description=description))
        self._send_rest_of_signals(client, subscription)
        subscription.add(message.topics, message.channels, interval=1.0 / min(rate, _MAX_RATE_HZ))
        self._update_interest(link.scene_id)

    def _unsubscribe(self, client: _Client, message: Unsubscribe) -> None:
        link = self._host.find_scene(message.scene_id)
        subscription = client.scenes.get(link.scene_id)
        if subscription is not None:
            if Topic.SIGNALS in message.topics or message.channels:
                self._send_rest_of_signals(client, subscription)
            subscription.remove(message.topics, message.channels)
            self._update_interest(link.scene_id)

    def _send_rest_of_signals(self, client: _Client, subscription: SceneSubscription) -> None:
        """Send what was written for the channels of before, whatever rate was asked for.

        The lane of signals is bounded, and tells of what it drops.
        """
        self._send_signals(client, subscription.link, subscription.rest_of_signals(lambda: True))

    def _send_signals(self, client: _Client, link: SceneLink, frames: Iterable[Frame]) -> None:
        for frame in frames:
            # A restore is told before the first row that follows it, also one since the news.
            self._send_news(link)
            client.connection.send(frame)

    def _update_interest(self, scene_id: int) -> None:
        """Tell a scene's owner what all clients together want."""
        link = self._host.links.get(scene_id)
        if link is None:
            return
        intervals: dict[Topic, float] = {}
        signal_interval = math.inf
        channels: dict[str, None] = {}
        for client in self._clients.values():
            subscription = client.scenes.get(scene_id)
            if subscription is not None:
                channels.update(subscription.channels)
                of_signals = subscription.intervals.get(Topic.SIGNALS, math.inf)
                signal_interval = min(signal_interval, of_signals)
                for topic, interval in subscription.intervals.items():
                    if not client.is_stuck and topic not in (Topic.SIGNALS, Topic.LOG):
                        intervals[topic] = min(interval, intervals.get(topic, math.inf))
        known = self._descriptions.channels(link) if channels else frozenset()
        engines = tuple(name for name in channels if name in known or is_expression(name))
        self._host.set_interest(
            link,
            Interest(
                intervals=intervals,
                channels=engines,
                user_channels=len(engines) < len(channels),
                signal_interval=signal_interval,
            ),
        )

    # --- passing on

    def _look(self) -> None:
        """Flush now, or soon after the last time; on the event loop."""
        self._woken = False
        if self._closed or self._flush_timer is not None:
            return
        wait = self._flushed_at + _FLUSH_INTERVAL - self._loop.time()
        if wait > 0.0:
            self._flush_timer = self._loop.call_later(wait, self._flush)
        else:
            self._flush()

    def _flush(self) -> None:
        self._flush_timer = None
        if self._closed:
            return
        self._flushed_at = self._loop.time()
        self._update_scenes()
        self._send_events()
        self._send_session_status()
        self._untold = any(news.is_waiting for news in self._news.values())
        for link in self._known.values():
            self._send_status(link, force=False)
        for client in tuple(self._clients.values()):
            takes_frames = self._takes_frames(client)
            for subscription in tuple(client.scenes.values()):
                self._send_frames(client, subscription, takes_frames=takes_frames)
        self._set_timers()

    def _takes_frames(self, client: _Client) -> bool:
        """Return whether to make frames for a client; one that doesn't read costs nothing soon."""
        if client.connection.wants_frames():
            client.stuck_since = math.inf
            return True
        now = self._loop.time()
        client.stuck_since = min(client.stuck_since, now)
        if not client.is_stuck and now - client.stuck_since >= _PATIENCE:
            client.is_stuck = True
            for scene_id in client.scenes:
                self._update_interest(scene_id)
        return False

    def _ready(self, client: _Client) -> None:
        """Go on with the frames of a client that has taken what was sent to it."""
        client.stuck_since = math.inf
        if client.is_stuck:
            client.is_stuck = False
            for scene_id in client.scenes:
                self._update_interest(scene_id)
        self._look()

    def _update_scenes(self) -> None:
        """Announce scenes that were opened or closed."""
        links = self._host.links
        for scene_id in [known for known in self._known if known not in links]:
            link = self._known.pop(scene_id)
            self._descriptions.forget(link)
            self._packer.forget(scene_id)
            self._meters.pop(scene_id, None)
            self._news.pop(scene_id, None)
            self._statuses.pop(scene_id, None)
            for client in self._clients.values():
                client.scenes.pop(scene_id, None)
            self._broadcast(SceneRemoved(scene_id=scene_id))
        for scene_id, link in links.items():
            if scene_id not in self._known:
                self._known[scene_id] = link
                self._meters[scene_id] = SceneMeter()
                self._news[scene_id] = SceneNews(link)
                self._broadcast(_added(link))

    def _send_events(self) -> None:
        for event in self._host.take_events():
            self._broadcast(event)
        if self._host.finished.told is not self._finished:
            self._finished = self._host.finished.told
            self._broadcast(self._finished)
        for link in self._known.values():
            self._send_news(link)

    def _send_news(self, link: SceneLink) -> None:
        """Tell what has come of a scene: found by looking, so that none of it is ever lost."""
        for message in self._news[link.scene_id].take(self._host.monotonic(), ends=self._is_ending):
            if isinstance(message, SceneRestored):
                for client in self._clients.values():
                    client.connection.discard_values(link.scene_id, before=message.axis)
            self._broadcast(message)

    def _send_session_status(self) -> None:
        status = self._make_session_status()
        if status != self._session_status:
            self._session_status = status
            self._broadcast(status)

    def _make_session_status(self) -> SessionStatus:
        playback = self._host.playback
        return SessionStatus(
            # What nobody is attached to runs as if we were not there.
            mode=playback.mode if playback.attached else PlaybackMode.FAST_FORWARD,
            speed=playback.speed,
            controller=self.control.controller,
            clients=self.control.attached,
            free_running_scenes=self._host.unseen_scenes
            + sum(not link.follow for link in self._host.links.values()),
            hold_at_end=playback.hold_at_end,
        )

    def _send_status(self, link: SceneLink, *, force: bool) -> None:
        """Send a scene's status when it has changed, at once if it is news that one waits for."""
        if not self._clients:
            return
        meter = self._meters.get(link.scene_id)
        if meter is None:
            return
        now = self._host.monotonic()
        previous = self._statuses.get(link.scene_id)
        due = meter.status_due <= now
        if not due and not force and previous is not None and not is_news(link, previous):
            # A scene that has moved and stands still again already wakes nobody a second time.
            self._untold = True
            return
        if not self._host.playback.attached:
            link.refresh_clock()  # nobody else does; good enough to see how far it is
        meter.sample(link, now=now)
        status = scene_status(
            link, meter, playback=self._host.playback, links=self._host.links, now=now
        )
        # A little early, or an owner that reports itself as often would be late every other time.
        meter.status_due = now + 0.8 * _STATUS_INTERVAL
        if previous is None or differs(status, previous):
            self._statuses[link.scene_id] = status
            self._broadcast(status)

    def _send_frames(
        self, client: _Client, subscription: SceneSubscription, *, takes_frames: bool
    ) -> None:
        link = subscription.link
        connection = client.connection
        if connection.closing:
            return
        try:
            description = self._descriptions.describe(link)
            if subscription.described_revision != description.revision:
                subscription.described_revision = description.revision
                connection.send(SceneDescribed(description=description))
            standing = self._is_ending or link.owner.parked_in is not None
            now = self._host.monotonic()
            if takes_frames:
                for frame in subscription.frames(self._packer, now=now, standing=standing):
                    connection.send(frame)
            signals = subscription.signals(
                lambda: connection.wants_signals, now=now, standing=standing
            )
            self._send_signals(client, link, signals)
        except (CommandError, TypeError) as error:
            self._host.log_once(link, f"its frames can't be sent: {error}")

    def _snapshot(self) -> list[msgspec.Struct]:
        """Return what a client has to know of everything, the session's status last."""
        messages: list[msgspec.Struct] = []
        now = self._host.monotonic()
        links = self._host.links
        for link in self._known.values():
            messages.append(_added(link))
            meter = self._meters[link.scene_id]
            if not self._host.playback.attached:
                # Nobody else does; good enough to see that it runs, and what records it.
                link.refresh_clock()
                link.past.refresh_recordings()
            messages += self._news[link.scene_id].snapshot()
            messages.append(
                scene_status(link, meter, playback=self._host.playback, links=links, now=now)
            )
        if self._finished.rollouts:
            messages.append(self._finished)
        messages.append(self._make_session_status())
        return messages

    def _broadcast(self, message: msgspec.Struct) -> None:
        for client in tuple(self._clients.values()):
            client.connection.send(message)

    # --- the clock

    def _set_timers(self) -> None:
        self._end_watch.set_timer()
        moving = any(
            status.activity not in (OwnerActivity.PARKED, OwnerActivity.FINISHED)
            for status in self._statuses.values()
        )
        if self._clients and (moving or self._untold) and self._tick_timer is None:
            self._tick_timer = self._loop.call_later(_STATUS_INTERVAL, self._tick)

    def _tick(self) -> None:
        """Look at scenes that run: what owner threads do elsewhere, nobody else reports."""
        self._tick_timer = None
        if self._loop.time() - self._flushed_at < 0.9 * _STATUS_INTERVAL:
            self._set_timers()  # an owner has reported itself meanwhile
        else:
            self._look()

    async def send_rest(self, patience: float) -> None:
        """Send what the scenes have published last, for at most ``patience`` seconds.

        Nobody waits for those who did not read before.
        """
        self._is_ending = True
        awaited = [each.connection for each in self._clients.values() if not each.is_stuck]
        deadline = self._loop.time() + patience
        while self._loop.time() < deadline:
            self._flush()
            for link in self._known.values():
                self._send_status(link, force=True)
            await asyncio.sleep(_FLUSH_INTERVAL)
            if all(connection.has_sent_all for connection in awaited):
                return

    def close(self) -> None:
        """Stop looking; on the event loop."""
        self._closed = True
        self._desk.close()
        self._end_watch.close()
        for timer in (self._flush_timer, self._tick_timer):
            if timer is not None:
                timer.cancel()


def _added(link: SceneLink) -> SceneAdded:
    environments = link.past.environments.told
    return SceneAdded(
        scene_id=link.scene_id,
        name=link.name,
        n_envs=environments.count if environments is not None else 1,
        owner=link.owner.thread.name,
    )
