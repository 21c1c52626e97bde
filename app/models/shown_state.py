"""Which state the window shows, in a word and a sentence: what the badge says."""

import dataclasses
import enum
import time

from stroboscope.app.models.numbers import MINUS, count_text, number_text, speed_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.session import EndKind, SessionModel, SessionState
from stroboscope.debugger_protocol.messages import OwnerActivity, PlaybackMode, SceneStatus
from stroboscope.debugger_protocol.topics import Instant

__all__ = [
    "ShownState",
    "StateKind",
    "activity",
    "activity_text",
    "is_served",
    "rate_text",
    "shown_state",
]

# A pause that takes longer than this is said to be on its way; shorter ones would only flicker.
_NOTICEABLE_S = 0.08
# A scene that did not step for this long while playing is only being looked at.
_BUSY_S = 1.0
# Shorter stays in one place are normal and would only flicker.
_SHORT_S = 0.3


class StateKind(enum.StrEnum):
    """What the badge can say."""

    NONE = "none"
    CONNECTING = "connecting"
    LIVE = "live"
    PLAYING = "playing"
    FAST_FORWARD = "fast_forward"
    PAUSING = "pausing"
    PAUSED = "paused"
    PAST = "past"
    REPLAY = "replay"
    BUSY = "busy"
    HELD = "held"
    STALE = "stale"
    ENDED = "ended"
    FAILED = "failed"
    DISCONNECTED = "disconnected"


@dataclasses.dataclass(frozen=True, slots=True)
class ShownState:
    """A word for the badge and a sentence for its tooltip and the line beside it."""

    kind: StateKind
    word: str
    detail: str = ""


def activity_text(status: SceneStatus, *, elapsed: float = 0.0) -> str:
    """Return what the owner thread is doing: "busy in your code 3.2 s, train.py:118".

    ``elapsed`` is how old the status is [s].
    """
    return ", ".join(part for part in activity(status, elapsed=elapsed) if part)


def activity(status: SceneStatus, *, elapsed: float = 0.0) -> tuple[str, str]:
    """Return what the owner thread is doing, and at which line; "" while it goes on and on."""
    if is_served(status, elapsed=elapsed):
        return "served, not stepped", ""
    # A status comes when something changes: an owner that was stepping freely still is.
    lasts = status.activity_s
    if status.activity is not OwnerActivity.STEPPING or lasts > 0.0:
        lasts += elapsed
    seconds, place = f"{number_text(lasts, 1)} s", status.location
    match status.activity:
        case OwnerActivity.USER_CODE:
            long = lasts > _SHORT_S
            return (f"busy in your code {seconds}", place) if long else ("in your code", "")
        case OwnerActivity.STEPPING:
            long = lasts > _SHORT_S
            return (f"in a physics step {seconds}", place) if long else ("stepping", "")
        case OwnerActivity.PARKED:
            return "stands at its step", place
        case OwnerActivity.PACING:
            return "waits for the clock", ""
        case OwnerActivity.STARTING:
            return "has not stepped yet", place
        case OwnerActivity.FINISHED:
            return "its thread has ended", ""


def is_served(status: SceneStatus, *, elapsed: float = 0.0) -> bool:
    """Return whether the owner keeps the scene up to date without stepping it.

    It is neither inside a step nor elsewhere, and nothing moves. ``elapsed`` is how old the status
    is [s]: one that only just stopped moving may be between two steps.
    """
    attentive = status.activity is OwnerActivity.STEPPING and status.activity_s == 0.0
    still = status.rtf is None and (status.total_steps == 0 or elapsed > _BUSY_S)
    return attentive and still


def rate_text(scene: SceneModel) -> str:
    """Return measured and target real-time factor: "0.98× of 1×"."""
    status = scene.status
    if status is None or status.rtf is None or status.mode is PlaybackMode.PAUSED:
        return ""
    measured = f"{number_text(status.rtf, 2 if status.rtf < 10 else 1)}×"
    if status.mode is PlaybackMode.FAST_FORWARD:
        return f"{measured} of max"
    return f"{measured} of {speed_text(scene.session.speed)}"


def shown_state(
    scene: SceneModel | None,
    session: SessionModel | None,
    *,
    preferred: Instant = Instant.NOW,
    now: float | None = None,
) -> ShownState:
    """Return what to say about ``scene``, or about ``session`` when it has no scene yet."""
    clock = time.monotonic() if now is None else now
    if scene is None:
        return _without_scene(session)
    if scene.session.state is not SessionState.CONNECTED:
        return _of_lost(scene.session)
    if scene.gone:
        return ShownState(
            StateKind.STALE, "STALE", "The scene was destroyed; its last state stays."
        )
    if scene.status is None:
        return ShownState(StateKind.CONNECTING, "CONNECTING", "Waiting for the first status.")
    return _of_status(scene, scene.status, preferred, clock)


def _is_busy(scene: SceneModel, status: SceneStatus) -> bool:
    """Whether a paused scene has not come to its next step yet: it can't be looked at exactly."""
    if is_served(status):
        return False
    busy = status.activity in (OwnerActivity.USER_CODE, OwnerActivity.STEPPING)
    return busy and not scene.stands_still


def _without_scene(session: SessionModel | None) -> ShownState:
    if session is None:
        return ShownState(StateKind.NONE, "NOT CONNECTED", "No application is attached.")
    if session.state is SessionState.CONNECTING:
        return ShownState(StateKind.CONNECTING, "CONNECTING", f"Waiting for {session.name}.")
    if session.state is SessionState.LOST:
        return _of_lost(session)
    return ShownState(StateKind.LIVE, "LIVE", "The application has no scene yet.")


def _of_lost(session: SessionModel) -> ShownState:
    if session.state is SessionState.CONNECTING:
        return ShownState(StateKind.CONNECTING, "CONNECTING", f"Waiting for {session.name}.")
    kind, word = {
        EndKind.ENDED: (StateKind.ENDED, "ENDED"),
        EndKind.FAILED: (StateKind.FAILED, "FAILED"),
        EndKind.BROKEN: (StateKind.DISCONNECTED, "DISCONNECTED"),
    }[session.end]
    return ShownState(kind, word, session.lost_reason or "the connection is gone")


def _of_past(scene: SceneModel) -> ShownState | None:
    """Return what to say while the past is looked at or re-simulated; None: the view is live."""
    told = scene.history.told
    if told is None:
        return None
    if told.busy:
        done = f"{round(100.0 * told.progress)} %"
        return ShownState(StateKind.BUSY, f"RE-SIMULATING {done}", f"{told.busy}; Esc ends it")
    if told.view is None or scene.instant() not in (Instant.PAST, None):
        return None  # its values are on their way, and say themselves what they are
    if scene.history.is_replay:
        word = "REPLAYING" if scene.history.is_playing else "REPLAY"
        return ShownState(
            StateKind.REPLAY, word, _joined(told.recording, told.view_note, told.invalid)
        )
    word = f"PAUSED {MINUS}{count_text(told.view_back)}"
    if scene.history.is_playing:
        word = f"PLAYING {MINUS}{count_text(told.view_back)}"
    return ShownState(StateKind.PAST, word, _joined(told.view_note, told.invalid))


def _known_against(scene: SceneModel) -> tuple[str, str]:
    """Return why a live state is not what the physics makes; empty texts: nothing is known."""
    return scene.history.invalid, scene.stops.resetting


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _of_status(
    scene: SceneModel, status: SceneStatus, preferred: Instant, clock: float
) -> ShownState:
    if (past := _of_past(scene)) is not None:
        return past
    elapsed = max(0.0, clock - scene.status_received)
    doing = _joined(scene.stops.resetting, activity_text(status, elapsed=elapsed))
    if status.waiting_for:
        return ShownState(StateKind.HELD, "WAITING", f"waiting for {status.waiting_for}")
    since = scene.session.pausing_since or scene.session.stepping_since
    if since is not None and clock - since > _NOTICEABLE_S:
        waited = f"{number_text(clock - since, 1)} s"
        word = "PAUSING…" if scene.session.pausing_since is not None else "STEPPING…"
        return ShownState(StateKind.PAUSING, f"{word} {waited}", doing)
    if status.mode is PlaybackMode.PAUSED and _is_busy(scene, status):
        waited = f"{number_text(status.activity_s + elapsed, 1)} s"
        return ShownState(StateKind.PAUSING, f"PAUSING… {waited}", doing)
    if status.mode is PlaybackMode.PAUSED:
        if status.held and (status.hold_reason or scene.session.mode is not PlaybackMode.PAUSED):
            place = f" ({status.location})" if status.location else ""
            reason = f"{status.hold_reason or 'held'}{place}"
            return ShownState(StateKind.HELD, "HELD", _joined(reason, *_known_against(scene)))
        if scene.history.is_replay:
            ends = f"The last frame of {scene.history.recording}. Enter: continue simulating."
            return ShownState(
                StateKind.REPLAY, "REPLAY · END", _joined(scene.history.invalid, ends)
            )
        instant = scene.instant(preferred)
        which = {
            Instant.NOW: "The state the scene stands at; forces are predicted.",
            Instant.EXECUTED: "The last executed step, exactly as it was computed.",
            Instant.PAST: "",  # the view is about to be live
        }
        detail = which[instant] if instant else doing
        detail = _joined(*_known_against(scene), detail)
        if branch := scene.history.branch_text:
            began = f"It continued from {branch} of the past"
            return ShownState(StateKind.PAUSED, "PAUSED · BRANCH", f"{began}. {detail}")
        return ShownState(StateKind.PAUSED, "PAUSED", detail)
    if is_served(status, elapsed=elapsed):
        return ShownState(
            StateKind.LIVE, "LIVE", "Its script serves this scene and does not step it."
        )
    if status.rtf is None and status.activity_s + elapsed > _BUSY_S:
        return ShownState(StateKind.LIVE, "LIVE", f"Not stepping: {doing}")
    if status.mode is PlaybackMode.FAST_FORWARD:
        return ShownState(StateKind.FAST_FORWARD, "FAST FORWARD", doing)
    return ShownState(StateKind.PLAYING, "PLAYING", doing)
