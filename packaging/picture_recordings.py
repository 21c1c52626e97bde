"""What a person does before each picture of recorded runs: replayed, damaged, linked, recorded."""

from picture_stage import Stage

__all__ = [
    "RECORDING",
    "REPLAYED",
    "REPLAYED_DAMAGED",
    "REPLAYED_NOTES",
    "damaged",
    "linked",
    "noted",
    "recordings",
    "repaired",
    "repairing",
    "replayed",
]

_ARM = """'''<mujoco model="Arm"><option timestep=".002"/><worldbody><light pos="0 0 3"/>
<geom type="plane" size="2 2 .1"/>
<body name="upper" pos="0 0 .9"><joint name="shoulder" axis="0 1 0" damping=".3"/>
<geom type="capsule" fromto="0 0 0 .35 0 0" size=".03" rgba=".3 .6 .9 1"/>
<body name="lower" pos=".35 0 0"><joint name="elbow" axis="0 1 0" damping=".1"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".025" rgba=".9 .6 .3 1"/></body></body>
</worldbody><actuator><position name="push" joint="shoulder" kp="{kp}"/></actuator></mujoco>'''"""

_REPLAYED = """
import math
import sys
import stroboscope.engine as physics
from stroboscope.engine.files.reader import TrajectoryReader

scene = physics.create_scene("Arm", {model})
with scene.start_recording("{name}.mcap"):
    for k in range(1500):
        scene.ctrl[0] = .8 * math.sin(.01 * k)
        scene.log("reward", -abs(float(scene.data.qpos[1])))
        scene.step()
physics.shutdown()
if {damaged}:
    with TrajectoryReader("{name}.mcap") as reader:
        at = int(reader.index(0).offset[1]) + 200
    with open("{name}.mcap", "r+b") as file:
        file.seek(at)
        file.write(b"damaged")
from stroboscope.engine.showing.opening import main
sys.exit(main(["--wait", "90", "{name}.mcap"]))
"""
REPLAYED = _REPLAYED.format(model=_ARM.format(kp=12), name="swing", damaged=False)
REPLAYED_DAMAGED = _REPLAYED.format(model=_ARM.format(kp=12), name="swing", damaged=True)
_SOFTER = _REPLAYED.format(model=_ARM.format(kp=5), name="softer", damaged=False)

# The same with much that was said: some thousand texts, warnings, named checkpoints.
_SAYS = """        scene.log("reward", -abs(float(scene.data.qpos[1])))
        scene.log("phase", f"{['reach', 'grasp', 'lift'][k // 100 % 3]}, step {k}")
        scene.log("gripper", "closed" if k % 200 < 90 else "open")
        if k % 400 == 250:
            scene.checkpoint(f"before the lift {k // 400}")
        if k in (480, 1130):
            scene.recorders.happened("warning", "the shoulder is within 2 % of its limit")
        if k == 900:
            scene.reset()
"""
_REWARDS = """        scene.log("reward", -abs(float(scene.data.qpos[1])))
"""
REPLAYED_NOTES = REPLAYED.replace(_REWARDS, _SAYS)

RECORDING = f"""
from pathlib import Path
import stroboscope.engine as physics

for folder in ("runs", "elsewhere"):
    Path(folder).mkdir()

left, right = physics.create_scene("Left arm", {_ARM.format(kp=12)}), physics.create_scene(
    "Right arm", {_ARM.format(kp=5)})
physics.start_recording("runs/both arms.mcap", scenes=[left, right])
left.start_recording("runs/left.mcap")
right.start_recording(physics.TrajectoryFile("elsewhere/right, every tenth step.mcap", every=10))
if physics.debugger.attach(90, launch=False):
    while physics.debugger.is_attached():
        left.step()
        right.step()
"""


def _settle(stage: Stage) -> None:
    stage.run_events(1.5 * stage.picture.scale**2)


def _go_to(stage: Stage, axis: int) -> None:
    stage.window.timeline.strip.chosen.emit(axis)
    stage.wait("the view to be there", lambda: stage.shown().history.view == axis)


def replayed(stage: Stage) -> None:
    """Look at the middle of a recorded run, with plots."""
    stage.attach()
    stage.select("joint", 1)
    stage.plot("qpos", "reward", components=2)
    _go_to(stage, 700)
    _settle(stage)


def noted(stage: Stage) -> None:
    """Look at a run in which much was said."""
    stage.attach()
    stage.plot("qpos", "reward", components=2)
    _go_to(stage, 700)
    _settle(stage)


def damaged(stage: Stage) -> None:
    """Look at a run with flipped bytes."""
    replayed(stage)
    notice = stage.window.damaged_files.notice
    stage.wait("what is wrong", lambda: notice.isVisible())
    _settle(stage)


def repairing(stage: Stage) -> None:
    """See how far a repair has come; this one would be over at once."""
    damaged(stage)
    text = "Repairing swing.mcap into swing.repaired.mcap"
    stage.window.damaged_files.notice.show_progress(text, 0.42)
    _settle(stage)


def repaired(stage: Stage) -> None:
    """Come back to a damaged run of which there is a copy."""
    damaged(stage)
    files = stage.window.damaged_files
    (file,) = files._files.values()
    files._show = lambda path: None  # type: ignore[method-assign] # stay here
    files._repair(file, file.path.with_name("swing.repaired.mcap"))
    stage.wait("the copy", lambda: file.made is not None)
    _settle(stage)


def linked(stage: Stage) -> None:
    """Look at two runs at the same time, one as a ghost in the other."""
    stage.attach()
    first = stage.shown()
    stage.join(_SOFTER)
    other = next(scene for scene in stage.sessions.all_scenes() if scene is not first)
    stage.wait("its description", lambda: other.history.is_replay)
    stage.sessions.show(first)
    stage.plot("qpos", components=2)
    stage.window.commands.beside.toggle_ghost(other)
    stage.window.commands.beside.link_times()
    _go_to(stage, 700)
    stage.wait("the other one there", lambda: other.history.view == 700)
    stage.window.actions_by_name["frame_all"].trigger()
    _settle(stage)


def recordings(stage: Stage) -> None:
    """Look which recordings run."""
    stage.attach()
    stage.play(2.5)
    stage.pause()
    stage.window.status.recorded.open_menu()
    _settle(stage)
