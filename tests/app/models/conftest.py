"""Scenes and frames made by hand, for models that know neither sockets nor Qt."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from stroboscope.app.models.frames import SceneFrame
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.session import SessionModel
from stroboscope.debugger_protocol.messages import (
    Command,
    OwnerActivity,
    PlaybackMode,
    SceneAdded,
    SceneStatus,
    SessionInfo,
    SessionStatus,
    Welcome,
)
from stroboscope.debugger_protocol.topics import Instant, Topic


class Sent(list):
    """The commands that a session has sent."""

    def of(self, kind: type[Command]) -> list[Command]:
        """Return those of one kind."""
        return [message for message in self if isinstance(message, kind)]


@pytest.fixture
def sent() -> Sent:
    """What went out to the network."""
    return Sent()


@pytest.fixture
def session(sent: Sent) -> SessionModel:
    """A connected session that this client controls, playing."""
    session = SessionModel(Path("session.json"), lambda _session, message: sent.append(message))
    session.welcomed(
        Welcome(session=SessionInfo(session_id="s1", pid=4711, script="/x/train.py"), client_id=1)
    )
    session.receive(SessionStatus(mode=PlaybackMode.PLAYING, speed=1.0, controller=1, clients=1))
    return session


@pytest.fixture
def scene(session: SessionModel) -> SceneModel:
    """Its only scene."""
    session.receive(SceneAdded(scene_id=7, name="Arm", owner="MainThread"))
    return session.scenes[7]


@pytest.fixture
def make_frame() -> Callable[..., SceneFrame]:
    """``make_frame(Topic.POSE, Instant.NOW, axis=3)``."""

    def make(topic: Topic, instant: Instant, *, axis: int = 0, **arrays: object) -> SceneFrame:
        return SceneFrame(
            topic=topic,
            instant=instant,
            revision=0,
            axis=axis,
            step=axis,
            time=axis * 0.002,
            arrays={name: np.asarray(values) for name, values in arrays.items()},
        )

    return make


@pytest.fixture
def make_status() -> Callable[..., SceneStatus]:
    """``make_status(mode=PlaybackMode.PAUSED)``."""

    def make(**changes: object) -> SceneStatus:
        fields: dict[str, object] = {
            "scene_id": 7,
            "mode": PlaybackMode.PLAYING,
            "held": False,
            "hold_reason": "",
            "step_count": 10,
            "physics_step_count": 10,
            "total_steps": 10,
            "axis": 10,
            "time": 0.02,
            "rtf": 0.98,
            "throttled": True,
            "activity": OwnerActivity.PACING,
            "activity_s": 0.0,
            "location": "train.py:118",
        }
        return SceneStatus(**{**fields, **changes})

    return make
