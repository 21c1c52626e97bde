"""What owner threads are doing, for people: "busy in your code for 3.2 s, train.py:118".

Read by the server thread without a lock: every value is one reference, and a picture that is a
few microseconds old is still true enough.
"""

from collections.abc import Iterable
from typing import Final

from stroboscope.debugger_protocol.host.frames import frames_of_thread
from stroboscope.debugger_protocol.host.scene_link import SceneLink
from stroboscope.debugger_protocol.host.script_place import script_place
from stroboscope.debugger_protocol.messages import OwnerActivity

__all__ = ["describe_owner", "observe_owner", "owner_location", "waits_for"]

# A script between two steps is stepping, not busy, unless it takes longer than this [s].
_PAUSE_FOR_THOUGHT: Final = 0.05
# Before this [s] a stepped scene that stands still is not said to wait for a parked one.
_PATIENCE: Final = 0.25


def observe_owner(link: SceneLink, *, now: float) -> tuple[OwnerActivity, float]:
    """Return what the owner of a scene is doing, and since how many seconds."""
    owner = link.owner
    if owner.thread.ident is None:
        return OwnerActivity.STARTING, 0.0
    if not owner.thread.is_alive():
        return OwnerActivity.FINISHED, 0.0
    if owner.parked_in is not None:
        return OwnerActivity.PARKED, max(0.0, now - owner.since)
    if owner.pacing_in is not None:
        return OwnerActivity.PACING, 0.0
    if not link.touched:
        return OwnerActivity.STARTING, max(0.0, now - link.opened)
    stamp = max((each.stamp for each in owner.links), default=now)
    quiet = max(0.0, now - stamp)
    if any(each.in_step for each in owner.links):
        return OwnerActivity.STEPPING, quiet if quiet > _PAUSE_FOR_THOUGHT else 0.0
    if quiet > _PAUSE_FOR_THOUGHT:
        return OwnerActivity.USER_CODE, quiet
    return OwnerActivity.STEPPING, 0.0


def owner_location(link: SceneLink) -> str:
    """Return where in the script the owner is, as "train.py:118"; empty when it can't be seen.

    Where it is parked it has said so itself.
    """
    owner = link.owner
    if owner.parked_in is not None:
        return owner.parked_at
    with frames_of_thread(owner.thread.ident) as frames:
        return script_place(frames)


def waits_for(link: SceneLink, links: Iterable[SceneLink], *, now: float) -> str:
    """Return the names of the parked scenes that a stepped scene probably waits for, or "".

    On its own thread that is certain; otherwise it is what a script that blocks in its own code
    while others are parked most likely does.
    """
    if not link.grants:
        return ""
    parked_in = link.owner.parked_in
    if parked_in is not None:
        return parked_in.name if parked_in is not link else ""
    if link.in_step or now - link.stamp < _PATIENCE:
        return ""
    names = [each.name for each in links if each is not link and each.owner.parked_in is each]
    if len(names) > 1:
        return f"{names[0]} (+{len(names) - 1} more)"
    return names[0] if names else ""


def describe_owner(link: SceneLink, links: Iterable[SceneLink], *, now: float) -> str:
    """Return a sentence part that says where the owner of a scene is."""
    waiting_for = waits_for(link, links, now=now)
    if waiting_for:
        return f"waiting for {waiting_for}, which stands still: step with dependents, or play"
    activity, seconds = observe_owner(link, now=now)
    location = owner_location(link)
    at = f", {location}" if location else ""
    match activity:
        case OwnerActivity.STARTING:
            return f"not stepped or served yet{at}"
        case OwnerActivity.PARKED:
            return f"parked{at}"
        case OwnerActivity.PACING:
            return f"waiting for real time{at}"
        case OwnerActivity.STEPPING:
            return f"in a physics step for {seconds:.1f} s{at}"
        case OwnerActivity.USER_CODE:
            return f"busy in your code for {seconds:.1f} s{at}"
        case OwnerActivity.FINISHED:
            return f"the thread {link.owner.thread.name} has ended"
