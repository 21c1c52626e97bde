"""Several scenes at one time: recorded runs that are linked, and ghosts of other scenes."""

import dataclasses
import math

from PySide6.QtCore import QTimer

from stroboscope.app.models.frames import SceneFrame
from stroboscope.app.models.numbers import number_text, with_unit
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.time_messages import GoLive, Goto
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["LinkedTimes"]


@dataclasses.dataclass(slots=True)
class _Follower:
    """``ahead``: by how many episodes it is; ``wanted``: where it is to go when it has answered."""

    ahead: int = 0
    wanted: tuple[int, float] | None = None
    is_asked: bool = False
    has_refused: bool = False


class LinkedTimes:
    """Moves the views of other scenes to the simulation time of the shown one; GUI thread only.

    While ``linked`` all others follow, and always those that are ghosts in the shown scene: to the
    same time of the episode that is as far from the shown one's as when they began to follow; to
    the nearest that they have. A scene that runs is never moved: looking at its past would pause
    it. ``changed``: whether there is something to link, or it is linked.
    """

    def __init__(self, sessions: SessionsModel) -> None:
        self.changed: Signal[[]] = Signal()
        self.linked = False
        self.can_link = False
        self._sessions = sessions
        self._leader: SceneModel | None = None
        self._followers: dict[SceneModel, _Follower] = {}
        # Where the leader was when the others were moved last.
        self._place: tuple[int, float] | None = None
        # News of one moment come one after the other: the answer before where the view is now.
        self._soon = QTimer()
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self._look)
        sessions.shown_changed.connect(self._follow)
        sessions.scene_added.connect(self._on_added)
        sessions.scene_removed.connect(self._on_removed)
        sessions.session_changed.connect(self._on_session)
        for scene in sessions.all_scenes():
            scene.history.changed.connect(self._on_history)
        self._follow(sessions.shown)

    def close(self) -> None:
        """Stop listening."""
        self._soon.stop()
        sessions = self._sessions
        sessions.shown_changed.disconnect(self._follow)
        sessions.scene_added.disconnect(self._on_added)
        sessions.scene_removed.disconnect(self._on_removed)
        sessions.session_changed.disconnect(self._on_session)
        for scene in sessions.all_scenes():
            scene.history.changed.disconnect(self._on_history)
        self._follow(None)

    def link(self, *, linked: bool) -> None:
        """Have all others follow the shown scene, or only its ghosts."""
        if linked != self.linked:
            self.linked = linked
            self._followers.clear()
            self._move(self._others())
            self.changed.emit()

    # --- following

    def _follow(self, scene: SceneModel | None) -> None:
        before = self._leader
        if before is not None:
            before.history.changed.disconnect(self._on_news)
            before.ghosts.changed.disconnect(self._on_ghosts)
            before.frame_arrived.disconnect(self._on_frame)
        self._leader = scene
        if scene is not None:
            scene.history.changed.connect(self._on_news)
            scene.ghosts.changed.connect(self._on_ghosts)
            scene.frame_arrived.connect(self._on_frame)
        # Who is shown next stands where it stands: linked ones follow when it moves.
        self._followers.clear()
        self._place = None if scene is None else _place(scene)
        self._on_ghosts()

    def _on_frame(self, frame: SceneFrame) -> None:
        if frame.topic is Topic.POSE:
            self._on_news()

    def _on_news(self) -> None:
        if not self._soon.isActive():
            self._soon.start()

    def _look(self) -> None:
        """See whether the leader has moved, and who has come where it was sent."""
        if self._leader is not None and _place(self._leader) != self._place:
            self._move(self._others())
        for scene, follower in tuple(self._followers.items()):
            self._ask(scene, follower)
        self._note()

    def _on_ghosts(self) -> None:
        others = self._others()
        for scene in [each for each in self._followers if each not in others]:
            del self._followers[scene]
        self._move(self._ghosts())

    def _on_added(self, scene: SceneModel) -> None:
        scene.history.changed.connect(self._on_history)

    def _on_removed(self, scene: SceneModel) -> None:
        scene.history.changed.disconnect(self._on_history)
        self._followers.pop(scene, None)
        self._count()

    def _on_session(self, _session: object) -> None:
        self._count()

    def _on_history(self) -> None:
        """Somebody may be free to move now who was not when the leader did."""
        self._count()
        waits = any(follower.wanted is not None for follower in self._followers.values())
        if waits or self._ghosts():
            self._on_news()

    def _count(self) -> None:
        """Find out whether there is something to link: a recorded run, and another past."""
        pasts = [s for s in self._sessions.all_scenes() if s.history.has_rows and not s.is_stale]
        can_link = len(pasts) > 1 and any(scene.history.recording for scene in pasts)
        if can_link != self.can_link:
            self.can_link = can_link
            self.changed.emit()

    # --- moving

    def _ghosts(self) -> list[SceneModel]:
        leader = self._leader
        return [ghost.ref for ghost in leader.ghosts.scenes if ghost.on] if leader else []

    def _others(self) -> list[SceneModel]:
        if not self.linked:
            return self._ghosts()
        return [scene for scene in self._sessions.all_scenes() if scene is not self._leader]

    def _move(self, others: list[SceneModel]) -> None:
        leader = self._leader
        place = _place(leader) if leader is not None else None
        if place is None:
            return
        self._place = place
        for scene in others:
            follower = self._followers.get(scene)
            if follower is None:
                if (there := _place(scene)) is None:
                    continue
                follower = self._followers[scene] = _Follower(there[0] - place[0])
            episode, time = place[0] + follower.ahead, place[1]
            follower.wanted = (episode, time)
            self._ask(scene, follower)
        self._note()

    def _note(self) -> None:
        """Say of ghosts that are not of the shown one's time of which they are."""
        leader = self._leader
        place = _place(leader) if leader is not None else None
        if leader is None or place is None:
            return
        for scene in self._ghosts():
            follower = self._followers.get(scene)
            on_way = follower is not None and (follower.is_asked or follower.wanted is not None)
            # While it is on its way it says nothing where it still stands.
            if not (on_way and _may_move(scene)):
                leader.ghosts.note_scene(scene, _why_elsewhere(scene, *place))

    def _ask(self, scene: SceneModel, follower: _Follower) -> None:
        """Send the newest place, one after the other is answered."""
        if follower.wanted is None or follower.is_asked or follower.has_refused:
            return
        if not _may_move(scene):
            return
        (episode, time), follower.wanted = follower.wanted, None
        axis = scene.history.axis_at(time, episode=episode)
        view = scene.history.view
        if axis is not None and axis == (scene.history.live if view is None else view):
            return

        def done(_id: int, _value: int | None) -> None:
            follower.is_asked = False
            self._on_news()

        def refused(_id: int, _reason: str) -> None:
            # It was told once, and would be again with every move.
            follower.is_asked, follower.has_refused = False, True

        number, is_live = scene.scene_id, axis == scene.history.live
        sent = scene.session.send(
            lambda i: (
                GoLive(id=i, scene_id=number)
                if is_live
                else Goto(id=i, scene_id=number, axis=axis)
                if axis is not None
                else Goto(id=i, scene_id=number, time=time)
            ),
            then=done,
            otherwise=refused,
        )
        follower.is_asked = sent is not None


def _place(scene: SceneModel) -> tuple[int, float] | None:
    """Return the episode and the time [s] that are looked at, or will be; None: not known."""
    history = scene.history
    if history.is_away or history.wanted is not None:
        place = history.place(history.near)
        if place is not None and math.isfinite(place.time):
            return place.episode, place.time
    frame = scene.latest(Topic.POSE)
    time = frame.time if frame is not None else scene.status.time if scene.status else None
    if time is None or not math.isfinite(time):
        return None
    return (history.segments[-1].episode if history.segments else 0), time


def _why_elsewhere(scene: SceneModel, episode: int, time: float) -> str:
    """Say why a scene is not seen at a time of an episode, and of which; empty: it is."""
    history = scene.history
    if scene.is_stale:
        return "as last seen"
    if scene.mode is not PlaybackMode.PAUSED:
        return "as it runs"
    if not scene.session.has_control:
        return "not controlled from here"
    there = _place(scene)
    if there is None:
        return ""
    parts = [] if there[0] == episode else [f"episode {there[0]}"]
    if abs(there[1] - time) > 1.5 * history.pace_at(history.near):
        parts.append(f"at {with_unit(number_text(there[1]), 's')}")
    return ", ".join(parts)


def _may_move(scene: SceneModel) -> bool:
    told = scene.history.told
    return (
        not scene.is_stale
        and scene.session.has_control
        and scene.history.has_rows
        and scene.mode is PlaybackMode.PAUSED
        and not (told is not None and told.busy)
    )
