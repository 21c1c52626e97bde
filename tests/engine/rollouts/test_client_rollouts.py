"""A script plans and a client looks: candidates, re-simulations, comparing, over a real socket."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stroboscope.debugger_protocol.time_messages import (
    EditKind,
    GhostRef,
    GhostSource,
    RolloutInfo,
    WhatIf,
)
from stroboscope.debugger_protocol.topics import Topic

PLANNER = """
    import numpy as np
    import stroboscope.engine as physics

    MODEL = '''<mujoco><option timestep="0.005"/><worldbody>
      <body name="upper"><joint name="shoulder" axis="0 1 0" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></worldbody>
      <actuator><position name="servo" joint="shoulder" kp="20"/></actuator></mujoco>'''
    scene = physics.create_scene("Planner", MODEL)
    if physics.debugger.attach(30.0, launch=False, mode="paused"):
        rng = np.random.default_rng(0)
        while physics.debugger.is_attached():
            if scene.step_count == 60:
                ctrl = rng.uniform(-1.0, 1.0, (4, 30, 1))
                ctrl[2, 10] = np.nan
                rollouts = physics.rollout(scene.checkpoint(), ctrl, name="plan")
                rollouts.note("cost", [4.0, 3.0, np.inf, 1.0])
            scene.ctrl[:] = rng.uniform(-1.0, 1.0, 1)
            scene.step()
"""


def test_a_client_sees_candidates_and_tries_another_gain_from_the_past(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(PLANNER)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        scene_id = scene.scene_id

        def rollouts() -> tuple[RolloutInfo, ...]:
            return client.rollouts(scene_id)

        client.step(scene_id, 100)
        assert client.wait_until(lambda c: len(c.rollouts(scene_id)) == 4, 60)
        names = [info.name for info in rollouts()]
        assert names == ["plan #0", "plan #1", "plan #2", "plan #3"]
        stopped = rollouts()[2]
        assert (stopped.event_step, stopped.steps) == (10, 10)
        assert stopped.outcome == "NaN, Inf or a huge value in ctrl of 'servo'"
        assert dict(rollouts()[3].numbers)["cost"] == 1.0

        base = client.resimulate(scene_id, axis=40, name="as it was")
        gains = (
            WhatIf(kind=EditKind.MODEL, name="actuator_gainprm", values=(5.0,)),
            WhatIf(kind=EditKind.MODEL, name="actuator_biasprm", index=1, values=(-5.0,)),
        )
        softer = client.resimulate(scene_id, axis=40, edits=gains)
        assert client.wait_until(lambda c: len(c.rollouts(scene_id)) == 6, 60)
        assert [info.rollout_id for info in rollouts()][4:] == [base, softer]
        assert rollouts()[4].reproducible == ""
        assert rollouts()[5].edits == (
            "actuator_gainprm[0] of servo: 20 → 5",
            "actuator_biasprm[1] of servo: -20 → -5",
        )

        refs = [
            GhostRef(source=GhostSource.ROLLOUT, number=number, scene_id=scene_id)
            for number in (base, softer)
        ]
        compared = client.compare(scene_id, *refs, tolerance=1e-9)
        assert compared.first_bit == 1
        assert {each.name for each in compared.differences} >= {"qpos shoulder", "qvel shoulder"}
        assert compared.differences[0].unit in ("rad", "rad/s")

        past = client.read_rows(scene_id, ("qpos", "energy.total"), first=40)
        again = client.read_rows(scene_id, ("qpos", "energy.total"), rollout_id=base, last=59)
        assert past["axis"].tolist() == list(range(40, 100))
        assert np.array_equal(past["qpos"], again["qpos"])
        assert np.array_equal(past["energy.total"], again["energy.total"])

        client.subscribe(scene_id, [Topic.GHOSTS, Topic.POSE])
        client.show_ghosts(scene_id, refs)
        client.goto(scene_id, axis=80)

        frame = client.next_frame(60)
        while frame is not None and not (frame.topic is Topic.GHOSTS and frame.axis == 80):
            frame = client.next_frame(60)
        assert frame is not None
        ghosts = frame.arrays
        assert ghosts["time"].round(6).tolist() == [0.4, 0.4]
        assert ghosts["xquat"].shape == (2, 2, 4)
        assert not np.array_equal(ghosts["xquat"][0], ghosts["xquat"][1])

        client.drop_rollout(scene_id, softer)
        assert client.wait_until(lambda c: len(c.rollouts(scene_id)) == 5, 60)
    assert script.end()[0] == 0
