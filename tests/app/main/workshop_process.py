"""A scene with something of everything that people can touch, as a script of its own.

It says at its end (``report.json`` beside it) what it has seen of xfrc_applied and ctrl.
"""

import json
from pathlib import Path

import stroboscope.engine as physics

MODEL = """<mujoco model="workshop"><option timestep="0.005" gravity="0 0 0"/><worldbody>
<light pos="0 0 3"/><geom name="floor" type="plane" size="2 2 .1" pos="0 0 -1"/>
<body name="arm" pos="0 0 0"><joint name="swing" axis="0 1 0" range="-120 120" damping="1"/>
<geom name="arm" type="capsule" size=".05" fromto="0 0 0 0 0 .6" mass="1"/>
<body name="hand" pos="0 0 .6"><joint name="wrist" axis="0 1 0" damping=".5"/>
<geom name="hand" type="box" size=".1 .1 .1" mass=".5"/></body></body>
<body name="crate" pos="1 0 0"><freejoint name="free"/>
<geom name="crate" type="box" size=".15 .15 .15" mass="1"/></body>
<body name="guide" mocap="true" pos="-1 0 0"><geom name="guide" type="sphere" size=".15"
 contype="0" conaffinity="0"/></body>
<body name="post" pos="0 1 0"><geom name="post" type="cylinder" size=".1 .3"/></body>
</worldbody>
<equality><weld name="tie" body1="crate" body2="hand" active="false"/></equality>
<actuator><motor name="push" joint="swing" ctrlrange="-5 5" gear="0.001"/>
<position name="hold" joint="wrist" kp="3"/></actuator>
<keyframe><key name="up" qpos="1 0 1 0 0.5 1 0 0 0"/></keyframe>
</mujoco>"""
scene = physics.create_scene("Workshop", model=MODEL)
seen = {"xfrc": 0.0, "ctrl": 0.0}
report = Path(__file__).with_name("report.json")
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        seen["xfrc"] = max(seen["xfrc"], float(abs(scene.data.xfrc_applied).max()))
        seen["ctrl"] = max(seen["ctrl"], float(abs(scene.data.ctrl).max()))
        scene.log("seen/xfrc", seen["xfrc"])
        scene.step()
# At once: whoever waits for the file reads all of it.
report.with_suffix(".part").write_text(json.dumps(seen))
report.with_suffix(".part").replace(report)
