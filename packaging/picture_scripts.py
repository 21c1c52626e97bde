"""The scripts whose windows are photographed: small, each with something to see."""

__all__ = [
    "EPISODES",
    "FAILING",
    "HERD",
    "HUMANOID",
    "LONG_NAMES",
    "MANY_SCENES",
    "NO_SCENES",
    "OVERLAID",
    "SERVO",
]

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

HERD = """
import numpy as np
import stroboscope.engine as physics

CART = '''<mujoco><option timestep=".005"/><worldbody><light pos="0 0 3"/>
<geom type="plane" size="0 0 .1"/><body name="cart" pos="0 0 .6">
<joint name="rail" type="slide" axis="1 0 0"/><geom type="box" size=".15 .1 .06"/>
<body name="pole"><joint name="pole" type="hinge" axis="0 1 0"/>
<geom type="capsule" size=".03" fromto="0 0 0 0 0 .6"/></body></body></worldbody></mujoco>'''
scene = physics.create_scene("Carts", model=CART, n_envs=64)
start = np.random.default_rng(1)
scene.qvel[:] = start.normal(size=scene.qvel.shape)
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.step()
"""
