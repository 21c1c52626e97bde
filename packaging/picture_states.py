"""What a person does before each picture of the window."""

from collections.abc import Callable

from picture_scripts import FAILING
from picture_stage import Stage

__all__ = [
    "attached",
    "behind_a_dead_one",
    "failed",
    "joined",
    "long_names",
    "many",
    "overlays",
    "played",
    "playing",
    "robot",
    "stale",
    "table",
    "welcome",
]


def welcome(stage: Stage) -> None:
    stage.run_events(1.0)


def attached(stage: Stage) -> None:
    stage.attach()


def playing(stage: Stage) -> None:
    stage.attach()
    stage.show_scene("Rollout 1")
    stage.select("joint", 1)
    stage.plot("qpos")
    stage.play(5.5)
    stage.play_to(1.9, 2.4)


def played(stage: Stage) -> None:
    playing(stage)
    stage.pause()


def long_names(stage: Stage) -> None:
    stage.attach()
    stage.select("joint", 0)
    stage.plot("qpos", *(c.name for c in stage.shown().channels if c.name.startswith("reward")))
    stage.play(3.0)
    stage.plot(*(c.name for c in stage.shown().channels if c.name.startswith("reward")))
    stage.run_events(1.0)


def many(stage: Stage) -> None:
    stage.attach()
    stage.show_scene("Rollout 17")
    stage.play(2.0)


def stale(stage: Stage) -> None:
    playing(stage)
    assert stage.script is not None
    stage.script.kill()
    stage.wait("the scene to be stale", lambda: stage.shown().is_stale)
    stage.run_events(1.0)


def joined(stage: Stage) -> None:
    playing(stage)
    stage.join(FAILING)


def behind_a_dead_one(stage: Stage) -> None:
    stale(stage)
    stage.join(FAILING)


def failed(stage: Stage) -> None:
    stage.attach()
    stage.play(1.0)
    stage.wait("the script to fail", lambda: stage.shown().is_stale)
    stage.run_events(1.5)


def overlays(stage: Stage) -> None:
    stage.attach()
    stage.play(0.8)
    stage.pause()
    actions = stage.window.actions_by_name
    for name in ("contacts", "contact_forces", "joint_limits", "actuators", "com", "target_pose"):
        actions[name].trigger()
    actions["labels"].trigger()
    stage.window.panels.show("view")
    stage.run_events(2.0)


def robot(stage: Stage) -> None:
    """Show why a robot stands or falls: the pictures of the documentation."""
    stage.attach()
    actions, window = stage.window.actions_by_name, stage.window
    names = [body.name for body in stage.shown().description.bodies]
    stage.select("body", names.index("torso"))
    actions["look_corner"].trigger()
    actions["frame_all"].trigger()
    actions["track"].trigger()
    for name in ("contacts", "contact_forces"):
        actions[name].trigger()
    window.panels.show("contacts")
    window.panels.show("findings")
    for _ in range(3):
        stage.sessions.step()
        stage.run_events(0.5)
    stage.select("body", names.index("left_foot"))
    stage.run_events(2.0)


def table(name: str) -> "Callable[[Stage], None]":
    """Return what brings a panel with a table to the front after some playing."""

    def prepare(stage: Stage) -> None:
        stage.attach()
        stage.window.panels.show(name)
        stage.play(1.5)
        stage.pause()
        stage.select("joint", 1)
        stage.run_events(1.0)

    return prepare
