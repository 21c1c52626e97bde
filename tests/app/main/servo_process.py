"""Two arms with a wrist servo that is too stiff for its timestep: they blow up within steps.

With ``STIFF = 0`` the servo is a good one, and nothing ever stops.
"""

import stroboscope.engine as physics

STIFF = 1
MODEL = """<mujoco model="wrist"><option timestep="0.002"/><worldbody>
<light pos="0 0 3"/><geom name="floor" type="plane" size="2 2 .1"/>
<body name="arm" pos="0 0 1"><joint name="elbow" axis="0 1 0" damping="1" range="-120 120"/>
<geom name="arm" type="capsule" size=".05" fromto="0 0 0 .4 0 0" mass="1"/>
<body name="hand" pos=".4 0 0"><joint name="wrist" axis="0 1 0" damping="0.01"/>
<geom name="hand" type="box" size=".06 .05 .05" mass=".2"/></body></body></worldbody>
<actuator><position name="wrist_servo" joint="wrist" kp="4" kv="{kv}"/>
<position name="elbow_servo" joint="elbow" kp="60" kv="5"/></actuator></mujoco>"""
# kv·dt/I passes 2 for the stiff one, by so little that it takes a while to show.
model = MODEL.format(kv=0.43 if STIFF else 0.05)
scene = physics.create_scene("Wrist", model=model)
twin = physics.create_scene("Twin", model=MODEL.format(kv=0.05))
like = physics.create_scene("Like the twin", model=MODEL.format(kv=0.05))
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        for each in (scene, twin, like):
            each.data.ctrl[:] = [0.5, 0.3]
            each.step()
