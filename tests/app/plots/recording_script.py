"""A script that writes down every state itself, for comparison with what the plots got.

Run as ``python recording_script.py OUT.npz STEPS``: attaches, makes STEPS physics steps with two
resets and a user channel, saves ``axis``, ``time``, ``qpos``, ``reward`` and waits for the end.
"""

import sys
import threading

import mujoco
import numpy as np

import stroboscope.engine as physics

PENDULUM = """<mujoco><option timestep="0.002"/><worldbody><body pos="0 0 1">
<joint name="shoulder" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/>
<body pos=".3 0 0"><joint name="elbow" axis="0 1 0"/>
<geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body></body></worldbody></mujoco>"""


def main() -> None:
    path, steps = sys.argv[1], int(sys.argv[2])
    scene = physics.create_scene("Pendulum", model=PENDULUM)
    if not physics.debugger.attach(timeout_seconds=60.0, launch=False):
        sys.exit("nobody came")
    axis, time, qpos, reward = [], [], [], []
    for step in range(steps):
        if step in (steps // 3, steps // 2):
            mujoco.mj_resetData(scene.model, scene.data)
            scene.data.qpos[:] = 0.1 * step / steps
        axis.append(scene.total_steps)
        time.append(scene.data.time)
        qpos.append(scene.data.qpos.copy())
        reward.append(float(np.sin(step / 7)))
        scene.log("reward", reward[-1])
        scene.step()
    np.savez(path, axis=axis, time=time, qpos=qpos, reward=reward)
    pause = threading.Event()
    while physics.debugger.is_attached():
        scene.update_debugger()
        pause.wait(0.02)


if __name__ == "__main__":
    main()
