"""Pictures of the window in its states, into ``pictures/``: run them, then look at them.

    python packaging/pictures.py [NAME...]        all of them, or those named
    python packaging/pictures.py --list

Real scripts run as processes of their own and the real window attaches to them; every picture has
a window of its own, because sizes and scales are a process's business. The display is an Xvfb that
is large enough for the window at 200 %.
"""

import argparse
import dataclasses
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from with_display import display_environment, virtual_display

if TYPE_CHECKING:
    from stroboscope.app.main.application import DesktopApplication
    from stroboscope.app.models.scene import SceneModel

FOLDER = Path(__file__).resolve().parent.parent / "pictures"
SCREEN = "2600x1700"
START_TIMEOUT = 90.0
STROBOSCOPE = [sys.executable, "-P", "-m", "stroboscope.app.main.cli"]
DEMO = "demo cross-thread"

MANY_SCENES = """
import stroboscope.engine as physics

BALL = '''<mujoco><worldbody><light pos="0 0 3"/><geom type="plane" size="2 2 .1"/>
<body name="ball" pos="0 0 1"><freejoint name="free"/><geom name="ball" size=".1"/></body>
</worldbody></mujoco>'''
scenes = [physics.create_scene(f"Rollout {i}", model=BALL) for i in range(64)]
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        for scene in scenes:
            scene.step()
"""

LONG_NAMES = """
import stroboscope.engine as physics

LONG = "a_joint_name_that_somebody_generated_from_a_path/left_arm/upper/shoulder_pitch_actuated"
ARM = f'''<mujoco><worldbody><light pos="0 0 3"/><geom type="plane" size="2 2 .1"/>
<body name="{LONG}_body" pos="0 0 1"><joint name="{LONG}" axis="0 1 0"/>
<geom name="{LONG}_geom" type="capsule" size=".05" fromto="0 0 0 .5 0 0"/>
<body name="forearm" pos=".5 0 0"><joint name="elbow" axis="0 1 0" range="-90 90"/>
<geom type="capsule" size=".04" fromto="0 0 0 .4 0 0"/></body></body></worldbody>
<actuator><motor name="{LONG}_motor" joint="{LONG}" ctrlrange="-5 5"/></actuator></mujoco>'''
scene = physics.create_scene("Sweep 2026-11-30 learning_rate=3e-4 seed=12345 " + LONG, model=ARM)
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.log("reward/" + LONG, scene.get_total_simulation_time() % 1.0)
        scene.step()
"""

FAILING = """
import stroboscope.engine as physics

BALL = '''<mujoco><worldbody><light pos="0 0 3"/><geom type="plane" size="2 2 .1"/>
<body name="ball" pos="0 0 1"><freejoint name="free"/><geom name="ball" size=".1"/></body>
</worldbody></mujoco>'''
scene = physics.create_scene("Ball", model=BALL)
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.step()
        if scene.get_total_simulation_time() > 0.4:
            raise RuntimeError("the reward is not a number")
"""

NO_SCENES = """
import time
import stroboscope.engine as physics

physics.initialize()
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        time.sleep(0.05)
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One state of the window.

    ``script`` is a demo ("demo NAME"), the text of a script, or "" for none; ``scenes`` is how many
    it must announce. ``prepare`` does what a person would do before the picture.
    """

    name: str
    script: str = DEMO
    scenes: int = 3
    size: tuple[int, int] = (1280, 800)
    scale: float = 1.0
    theme: str = "dark"
    prepare: "Callable[[Stage], None]"


class Stage:
    """A window on a display, driven from outside; one per process."""

    def __init__(
        self,
        picture: Picture,
        desktop: "DesktopApplication",
        script: "subprocess.Popen[bytes] | None",
    ) -> None:
        self.picture = picture
        self.script = script
        self.others: list[subprocess.Popen[bytes]] = []
        self.desktop = desktop
        self.window = desktop.window
        self.sessions = desktop.sessions

    def run_events(self, seconds: float) -> None:
        """Let the window live for a while."""
        self._wait(lambda: False, seconds)

    def wait(self, what: str, condition: Callable[[], object]) -> None:
        """Let the window live until ``condition`` holds; ends the program when it does not."""
        if not self._wait(condition, START_TIMEOUT):
            raise SystemExit(f"{self.picture.name}: waited {START_TIMEOUT:.0f} s for {what}")

    def _wait(self, condition: Callable[[], object], seconds: float) -> bool:
        from PySide6.QtWidgets import QApplication

        end = time.monotonic() + seconds
        while time.monotonic() < end:
            QApplication.processEvents()
            if condition():
                return True
            time.sleep(0.005)
        return False

    def attach(self) -> None:
        """Attach to the script and wait until its scenes are there and drawn."""
        from stroboscope.app.models.session_finder import find_sessions

        def opened() -> bool:
            if self.script is not None and self.script.poll() is not None:
                raise SystemExit(f"{self.picture.name}: the script ended; see what it said above")
            return bool(find_sessions()[0])

        self.wait("the script to open a session", opened)
        self.sessions.open(find_sessions()[0][0].path)
        count = self.picture.scenes
        self.wait(f"{count} scenes", lambda: len(self.sessions.all_scenes()) >= count)
        if count:
            self.wait("a description", lambda: self.shown().description is not None)
        self.run_events(1.0)

    def join(self, text: str) -> None:
        """Run another script and attach to it."""
        from stroboscope.app.models.session_finder import find_sessions

        known = {found.path for found in find_sessions()[0]}
        path = Path(os.environ["STROBOSCOPE_RUNTIME_DIR"]).parent / "second.py"
        path.write_text(text, encoding="utf-8")
        self.others.append(subprocess.Popen([sys.executable, "-P", str(path)]))
        self.wait("another session", lambda: {f.path for f in find_sessions()[0]} - known)
        (new,) = {f.path for f in find_sessions()[0]} - known
        session = self.sessions.open(new)
        self.wait("its scene", lambda: session.scenes)
        self.run_events(1.5)

    def shown(self) -> "SceneModel":
        """Return the shown scene."""
        if self.sessions.shown is None:
            self.sessions.show(self.sessions.all_scenes()[0])
        assert self.sessions.shown is not None
        return self.sessions.shown

    def show_scene(self, name: str) -> None:
        """Select a scene by name, as a click in the tree does."""
        for scene in self.sessions.all_scenes():
            if scene.name == name:
                self.sessions.show(scene)
        self.wait("a description", lambda: self.shown().description is not None)
        self.run_events(0.5)

    def plot(self, *channels: str, components: int = 2) -> None:
        """Plot the first components of the shown scene's channels."""
        from stroboscope.app.main.plot_feed import scene_key
        from stroboscope.app.models.plot_store import PlotSeriesId

        scene = self.shown()
        known = {channel.name: channel for channel in scene.channels}
        for name in channels:
            width = known[name].width if name in known else 0
            for component in range(min(width, components)):
                self.window.plots.add_signals(PlotSeriesId(scene_key(scene), name, component))

    def play(self, seconds: float) -> None:
        """Play for some wall time."""
        self.sessions.play()
        self.run_events(seconds)

    def play_to(self, earliest: float, latest: float) -> None:
        """Play until the shown scene's time [s] lies between the two."""
        self.sessions.play()

        def there() -> bool:
            status = self.shown().status
            return status is not None and earliest <= status.time <= latest

        self.wait(f"the scene's time to be in {earliest} … {latest} s", there)

    def pause(self) -> None:
        """Pause and wait until everything shows where the scene stands."""
        from stroboscope.debugger_protocol.messages import PlaybackMode

        self.sessions.pause()
        self.wait("a pause", lambda: self.shown().mode is PlaybackMode.PAUSED)
        self.run_events(1.5 * self.picture.scale**2)

    def select(self, kind: str, index: int) -> None:
        """Select an element, as a click in the tree does."""
        from stroboscope.app.models.selection import Element, ElementKind

        self.sessions.selection.select(Element(ElementKind(kind), index))
        self.run_events(0.5)


# --- what to do before each picture


def _welcome(stage: Stage) -> None:
    stage.run_events(1.0)


def _attached(stage: Stage) -> None:
    stage.attach()


def _playing(stage: Stage) -> None:
    stage.attach()
    stage.show_scene("Rollout 1")
    stage.select("joint", 1)
    stage.plot("qpos")
    stage.play(5.5)
    stage.play_to(1.9, 2.4)


def _played(stage: Stage) -> None:
    _playing(stage)
    stage.pause()


def _long_names(stage: Stage) -> None:
    stage.attach()
    stage.select("joint", 0)
    stage.plot("qpos", *(c.name for c in stage.shown().channels if c.name.startswith("reward")))
    stage.play(3.0)
    stage.plot(*(c.name for c in stage.shown().channels if c.name.startswith("reward")))
    stage.run_events(1.0)


def _many(stage: Stage) -> None:
    stage.attach()
    stage.show_scene("Rollout 17")
    stage.play(2.0)


def _stale(stage: Stage) -> None:
    _playing(stage)
    assert stage.script is not None
    stage.script.kill()
    stage.wait("the scene to be stale", lambda: stage.shown().is_stale)
    stage.run_events(1.0)


def _joined(stage: Stage) -> None:
    _playing(stage)
    stage.join(FAILING)


def _behind_a_dead_one(stage: Stage) -> None:
    _stale(stage)
    stage.join(FAILING)


def _failed(stage: Stage) -> None:
    stage.attach()
    stage.play(1.0)
    stage.wait("the script to fail", lambda: stage.shown().is_stale)
    stage.run_events(1.5)


OVERLAID = """
import stroboscope.engine as physics

ARM = '''<mujoco><option timestep=".002"/><worldbody><light pos="0 0 3"/>
<geom name="floor" type="plane" size="0 0 .1"/>
<body name="base" pos="0 0 .5"><geom type="cylinder" size=".1 .42" pos="0 0 -.08"/>
<body name="upper" pos="0 0 .5"><joint name="shoulder" axis="0 1 0" range="-120 60" damping="2"/>
<geom type="capsule" size=".06" fromto="0 0 0 .5 0 0" mass="2"/>
<body name="lower" pos=".5 0 0"><joint name="elbow" axis="0 1 0" range="-10 140" damping="1"/>
<geom name="hand" type="capsule" size=".05" fromto="0 0 0 .45 0 0" mass="1"/></body></body></body>
<body name="crate" pos=".7 .3 .2"><freejoint/>
<geom name="crate" type="box" size=".15 .15 .2" mass="3"/></body>
<body name="ball" pos=".7 .3 .7"><freejoint/>
<geom name="ball" size=".1" mass="1"/></body></worldbody><actuator>
<position name="shoulder_servo" joint="shoulder" kp="60"
 ctrlrange="-2 1" forcerange="-12 12"/>
<position name="elbow_servo" joint="elbow" kp="40" ctrlrange="-.1 2"/></actuator></mujoco>'''
scene = physics.create_scene("Arm and crate", model=ARM)
scene.data.ctrl[:] = [-0.6, 0.8]
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.step()
"""


def _overlays(stage: Stage) -> None:
    stage.attach()
    stage.play(0.8)
    stage.pause()
    actions = stage.window.actions_by_name
    for name in ("contacts", "contact_forces", "joint_limits", "actuators", "com", "target_pose"):
        actions[name].trigger()
    actions["labels"].trigger()
    stage.window.panels.show("view")
    stage.run_events(2.0)


EPISODES = """
import stroboscope.engine as physics

CART = '''<mujoco><option timestep=".005"/><worldbody><light pos="0 0 3"/>
<geom type="plane" size="0 0 .1"/><body name="cart" pos="0 0 .5">
<joint name="rail" type="slide" axis="1 0 0" damping=".2"/><geom type="box" size=".15 .1 .06"/>
<body name="pole"><joint name="pole" axis="0 1 0" damping=".02"/>
<geom type="capsule" size=".03" fromto="0 0 0 0 0 .8" mass=".3"/></body></body></worldbody>
<actuator><motor name="push" joint="rail" gear="8" ctrlrange="-1 1"/></actuator></mujoco>'''
scene = physics.create_scene("Cart and pole", model=CART)
lengths = [40 + (37 * n) % 160 for n in range(52)]
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    for n, length in enumerate(lengths):
        scene.reset()
        scene.data.qpos[1] = 0.02 * (n % 7 - 3)
        for k in range(length):
            scene.data.ctrl[0] = 0.6 if (k // 15) % 2 else -0.6
            scene.step()
        if n == 50:
            scene.pause("50 episodes")
    while physics.debugger.is_attached():
        scene.step()
"""


def _press(stage: Stage, name: str) -> None:
    """Do what a key does, and wait until it is done."""
    stage.window.actions_by_name[name].trigger()
    stage.wait("an answer", lambda: not stage.shown().session.pending)


def _go_to(stage: Stage, axis: int) -> None:
    """Look at a row of the past, as a click in the timeline does."""
    stage.window.timeline.strip.chosen.emit(axis)
    stage.wait("the view to be there", lambda: stage.shown().history.view == axis)
    stage.run_events(0.3)


def _play_to_axis(stage: Stage, axis: int) -> None:
    """Play until the scene has taken so many physics steps, and pause."""
    stage.sessions.fast_forward()

    def there() -> bool:
        status = stage.shown().status
        return status is not None and status.axis >= axis

    stage.wait(f"step {axis}", there)
    stage.pause()


def _past(stage: Stage) -> None:
    """Look half a second back, with plots: one instant everywhere."""
    stage.attach()
    stage.select("joint", 1)
    stage.plot("qpos", components=2)
    stage.run_events(0.5)
    stage.play(2.0)
    stage.pause()
    _press(stage, "checkpoint")
    stage.play(0.7)
    stage.pause()
    _go_to(stage, stage.shown().history.live - 250)
    stage.run_events(1.5)


def _asked(stage: Stage) -> None:
    """Ask before the script's own variables stay as they are."""
    _past(stage)
    _press(stage, "continue_here")
    stage.run_events(0.5)


def _branches(stage: Stage) -> None:
    """Continue three times from the past, and look at what was left behind."""
    stage.attach()
    _play_to_axis(stage, 600)
    for back, further in ((300, 250), (400, 300), (80, 200)):
        history = stage.shown().history
        _go_to(stage, history.live - back)
        stage.window.commands.time.continue_here(with_script=True, sure=True)
        stage.wait("a branch", lambda h=history: not h.is_away)
        _play_to_axis(stage, stage.shown().history.live + further)
    stage.window.timeline.strip.setFocus()
    _go_to(stage, 520)
    stage.run_events(1.0)


def _episodes(stage: Stage) -> None:
    """Look back over 50 episodes."""
    stage.attach()
    stage.sessions.fast_forward()

    def stands() -> bool:
        status = stage.shown().status
        return status is not None and status.held

    stage.wait("50 episodes", stands)
    stage.run_events(0.5)
    _go_to(stage, 3333)
    stage.run_events(1.0)


HUMANOID = """
import importlib.resources
import stroboscope.engine as physics

path = importlib.resources.files("stroboscope.resources") / "models" / "humanoid.xml"
scene = physics.create_scene("Humanoid", model=str(path))
for _ in range(150):
    scene.step()
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.step()
"""


def _robot(stage: Stage) -> None:
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


def _table(name: str) -> "Callable[[Stage], None]":
    """Return what brings a panel with a table to the front after some playing."""

    def prepare(stage: Stage) -> None:
        stage.attach()
        stage.window.panels.show(name)
        stage.play(1.5)
        stage.pause()
        stage.select("joint", 1)
        stage.run_events(1.0)

    return prepare


SERVO = """
import stroboscope.engine as physics

ARM = '''<mujoco><option timestep="0.002"/><worldbody><light pos="0 0 3"/>
<geom name="floor" type="plane" size="0 0 .1"/>
<body name="base" pos="0 0 .5"><geom type="cylinder" size=".1 .42" pos="0 0 -.08"/>
<body name="upper" pos="0 0 .5"><joint name="elbow" axis="0 1 0" damping="2" range="-120 120"/>
<geom name="upper" type="capsule" size=".06" fromto="0 0 0 .5 0 0" mass="1"/>
<body name="hand" pos=".55 0 0"><joint name="wrist" axis="0 1 0" damping="0.01"/>
<geom name="hand" type="box" size=".12 .06 .06" mass=".2"/></body></body></body></worldbody>
<actuator><position name="elbow_servo" joint="elbow" kp="60" kv="5"/>
<position name="wrist_servo" joint="wrist" kp="8" kv="{kv}"/></actuator></mujoco>'''
scene = physics.create_scene("Wrist", model=ARM.format(kv=1.26))
twin = physics.create_scene("Twin", model=ARM.format(kv=0.2))
like = physics.create_scene("Like the twin", model=ARM.format(kv=0.2))
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        for each in (scene, twin, like):
            time = each.get_total_simulation_time()
            each.data.ctrl[:] = [-0.4 - 0.5 * (time % 1.0), 0.6]
            each.step()
"""


def _stopped(stage: Stage) -> None:
    """Play until the stiff servo has stopped the scene."""
    stage.attach()
    stage.show_scene("Wrist")
    stage.window.panels.show("stops")
    stage.plot("qpos")
    stage.sessions.play()
    stage.wait("a stop", lambda: stage.shown().stops.standing is not None)
    stage.run_events(1.5 * stage.picture.scale**2)


def _tried(stage: Stage) -> None:
    """Try two of the offers: ghosts, curves, and the two compared."""
    _stopped(stage)
    scene = stage.shown()
    stop = scene.stops.standing
    assert stop is not None
    stage.window.actions_by_name["frame_all"].trigger()
    for label, _ in stop.what_if[:2]:
        scene.trials.start(stop, label)
    stage.wait("two rollouts", lambda: len(scene.rollouts.rollouts) == 2)
    stage.window.panels.show("rollouts")
    stage.wait("a comparison", lambda: stage.window.rollouts.comparison.result is not None)
    stage.run_events(1.5 * stage.picture.scale**2)


def _curves(stage: Stage) -> None:
    """Show the curves of what was tried, dashed, from a little before the stop."""
    _tried(stage)
    stage.window.panels.show("plots")
    _go_to(stage, stage.shown().history.live - 12)
    stage.run_events(1.5 * stage.picture.scale**2)


def _conditions(stage: Stage) -> None:
    """Watch a few conditions, one of which has stopped the scene."""
    from stroboscope.app.models.conditions import SavedCondition

    stage.attach()
    stage.show_scene("Twin")
    scene = stage.shown()
    stage.window.panels.show("stops")
    stage.window.stops.show_conditions()
    for each in (
        SavedCondition(expression="qpos['elbow'] < -0.3", name="too low"),
        SavedCondition(expression="max(abs(change(qvel))) > 10", enabled=False),
        SavedCondition(expression="min(joint.margin) < 0", log_only=True, hits=3),
    ):
        scene.conditions.add(each)
    stage.wait("conditions", lambda: len(scene.conditions.conditions) == 3)
    stage.sessions.play()
    stage.wait("a stop", lambda: scene.stops.standing is not None)
    stage.window.stops.conditions.field.line.setText("max(abs(qvel)) >")
    stage.window.stops.conditions.field.enter()
    stage.run_events(1.5 * stage.picture.scale**2)


def _checkpoints(stage: Stage) -> None:
    """Keep three states, compare two of them and show one as a ghost."""
    from stroboscope.app.models.checkpoints import capture, kept_checkpoints

    stage.attach()
    stage.show_scene("Twin")
    scene = stage.shown()
    for seconds, name, note in (
        (0.3, "before the swing", "the elbow begins to move"),
        (0.8, "", ""),
        (0.6, "at the top", ""),
    ):
        stage.play(seconds)
        stage.pause()
        capture(scene, name, note=note)
    stage.wait("checkpoints", lambda: len(scene.edits.checkpoints) == 3)
    panel = stage.window.checkpoints
    stage.window.panels.show("checkpoints")
    stage.run_events(0.5)
    refs = [each.ref for each in kept_checkpoints(scene.session)]
    panel.toggle_ghost(refs[0])
    panel.choose(refs[0], refs[2])
    panel.compare_chosen()
    stage.wait("a comparison", lambda: panel.comparison.result is not None)
    stage.run_events(1.5 * stage.picture.scale**2)


def _travel_pictures() -> "Iterator[Picture]":
    for name, prepare in (
        ("stopped", _stopped),
        ("tried", _tried),
        ("curves", _curves),
        ("conditions", _conditions),
        ("checkpoints", _checkpoints),
    ):
        for theme in ("dark", "light"):
            yield Picture(
                name=f"{name}_{theme}",
                script=SERVO,
                size=(1280, 800) if theme == "dark" else (1280, 720),
                theme=theme,
                prepare=prepare,
            )
        yield Picture(
            name=f"{name}_200", script=SERVO, size=(1280, 720), scale=2.0, prepare=prepare
        )


PICTURES = (
    Picture(name="welcome_dark", script="", scenes=0, prepare=_welcome),
    Picture(name="welcome_light", script="", scenes=0, theme="light", prepare=_welcome),
    Picture(name="attached_paused", prepare=_attached),
    Picture(name="playing_dark", prepare=_playing),
    Picture(name="playing_light", theme="light", prepare=_playing),
    Picture(name="paused_after_playing", prepare=_played),
    Picture(name="script_killed", prepare=_stale),
    Picture(name="script_failed", script=FAILING, scenes=1, prepare=_failed),
    Picture(name="another_joined", prepare=_joined),
    Picture(name="after_a_dead_one", prepare=_behind_a_dead_one),
    Picture(name="small_1280x720", size=(1280, 720), prepare=_played),
    Picture(name="large_1920x1080", size=(1920, 1080), prepare=_played),
    Picture(name="scale_200", size=(1280, 800), scale=2.0, prepare=_played),
    Picture(name="scale_200_light", size=(1280, 720), scale=2.0, theme="light", prepare=_played),
    Picture(name="long_names", script=LONG_NAMES, scenes=1, prepare=_long_names),
    Picture(name="robot_dark", script=HUMANOID, scenes=1, prepare=_robot),
    Picture(name="robot_light", script=HUMANOID, scenes=1, theme="light", prepare=_robot),
    Picture(name="overlays_dark", script=OVERLAID, scenes=1, prepare=_overlays),
    Picture(
        name="overlays_light",
        script=OVERLAID,
        scenes=1,
        size=(1280, 720),
        theme="light",
        prepare=_overlays,
    ),
    *(
        Picture(
            name=f"time_{name}_{theme}{suffix}",
            script=script,
            scenes=1,
            size=(1280, 720),
            theme=theme,
            scale=scale,
            prepare=prepare,
        )
        for name, script, prepare in (
            ("past", OVERLAID, _past),
            ("asked", OVERLAID, _asked),
            ("branches", EPISODES, _branches),
            ("episodes", EPISODES, _episodes),
        )
        for theme, scale, suffix in (("dark", 1.0, ""), ("light", 1.0, ""), ("dark", 2.0, "_200"))
    ),
    *_travel_pictures(),
    *(
        Picture(
            name=f"table_{name}_{theme}",
            script=OVERLAID,
            scenes=1,
            size=(1280, 720),
            theme=theme,
            prepare=_table(name),
        )
        for name in ("state", "contacts", "constraints", "why", "profiler", "findings")
        for theme in ("dark", "light")
    ),
    Picture(name="scenes_0", script=NO_SCENES, scenes=0, prepare=_attached),
    Picture(name="scenes_64", script=MANY_SCENES, scenes=64, prepare=_many),
)


# --- one picture, in a process of its own


@contextmanager
def running_script(picture: Picture, folder: Path) -> "Iterator[subprocess.Popen[bytes] | None]":
    """Run the picture's script until the picture is taken."""
    if not picture.script:
        yield None
        return
    if picture.script.startswith("demo "):
        command = [*STROBOSCOPE, *picture.script.split(), "--no-window"]
    else:
        path = folder / "script.py"
        path.write_text(picture.script, encoding="utf-8")
        command = [sys.executable, "-P", str(path)]
    process = subprocess.Popen(command, cwd=folder)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def take(picture: Picture) -> None:
    """Take one picture; the environment must have been prepared by :func:`main`."""
    from stroboscope.app.main.application import DesktopApplication, make_qapplication

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runtime = folder / "runtime"
        runtime.mkdir(mode=0o700)
        os.environ["STROBOSCOPE_RUNTIME_DIR"] = str(runtime)
        with running_script(picture, folder) as script:
            app = make_qapplication(["stroboscope"])
            desktop = DesktopApplication(app, settings_path=folder / "settings.json")
            desktop.window.set_theme(picture.theme)
            desktop.window.resize(*picture.size)
            desktop.window.show()
            stage = Stage(picture, desktop, script)
            picture.prepare(stage)
            FOLDER.mkdir(exist_ok=True)
            path = FOLDER / f"{picture.name}.png"
            path.write_bytes(desktop.window.picture_png())
            desktop.window.close()
            desktop.close()
            app.processEvents()
            for other in stage.others:
                other.kill()
                other.wait()
    print(path, flush=True)


def main() -> int:
    """Take the pictures asked for, each in a process of its own; return the exit status."""
    parser = argparse.ArgumentParser(description="Pictures of the window in its states.")
    parser.add_argument("names", nargs="*", help="pictures to take; none: all")
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--take", metavar="NAME", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    known = {picture.name: picture for picture in PICTURES}
    if arguments.list:
        print("\n".join(known))
        return 0
    if arguments.take:
        take(known[arguments.take])
        return 0
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        parser.error(f"no picture is called {unknown[0]!r}; there are {', '.join(known)}")
    failed = []
    with virtual_display(SCREEN) as display:
        for name in arguments.names or known:
            environment = display_environment(display)
            environment["QT_SCALE_FACTOR"] = str(known[name].scale)
            command = [sys.executable, __file__, "--take", name]
            if subprocess.call(command, env=environment, timeout=300) != 0:
                failed.append(name)
    if failed:
        print(f"not taken: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
