"""The cases of tests/cases: what a person sees through a client, and that looking changes nothing.

Each script is run bare and through ``stroboscope run`` with everything subscribed. What it prints,
its whole state in hexadecimal, must be equal to the last bit.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stroboscope.debugger_protocol.client import DebuggerClient, Frame
from stroboscope.debugger_protocol.time_messages import GhostRef, GhostSource
from stroboscope.debugger_protocol.topics import Instant, Topic

WAIT = [str(Path(sys.executable).with_name("stroboscope")), "run", "--wait", "60"]
# What a scene that stands still has of itself, without rows, ghosts and environments; looks are
# told where a script has changed them.
_OTHERS = frozenset(
    (
        *(Topic.SIGNALS, Topic.LOG, Topic.GHOSTS, Topic.ENVIRONMENTS),
        *(Topic.LOOKS, Topic.PLUGINS),
    )
)
TOPICS = [topic for topic in Topic if topic not in _OTHERS]
INSTANTS = (Instant.EXECUTED, Instant.NOW)
DEADLINE_S = 60.0

LOOP = """
import sys
import mujoco
import numpy as np

model = mujoco.MjModel.from_xml_path(sys.argv[1])
data = mujoco.MjData(model)
{setup}
for k in range({steps}):
    {control}
    mujoco.mj_step(model, data)
    {after}
row = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
mujoco.mj_getState(model, data, row, mujoco.mjtState.mjSTATE_INTEGRATION)
print(row.tobytes().hex())
"""

Start = Callable[..., Any]
Parked = Callable[..., bool]
Case = Callable[..., Path]
Frames = dict[tuple[Topic, Instant], Frame]


def loop(steps: int, *, setup: str = "pass", control: str = "pass", after: str = "pass") -> str:
    return LOOP.format(steps=steps, setup=setup, control=control, after=after)


def bare(source: str, *args: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", source, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )
    return done.stdout


def state_in(line: str) -> NDArray[np.float64]:
    return np.frombuffer(bytes.fromhex(line.strip()), dtype=np.float64)


def watch(client: DebuggerClient, scene_id: int) -> None:
    """Subscribe to all there is, every channel included."""
    channels = [channel.name for channel in client.description(scene_id).channels]
    client.subscribe(scene_id, [*TOPICS, Topic.SIGNALS], channels, max_rate_hz=1000.0)


def frames_at(client: DebuggerClient, axis: int) -> Frames:
    """Return the frames of a scene that stands after ``axis`` physics steps.

    NOW belongs to that instant, EXECUTED to the step before it.
    """
    wanted = {(topic, instant) for topic in TOPICS for instant in INSTANTS}
    frames: Frames = {}
    while set(frames) != wanted:
        frame = client.next_frame(DEADLINE_S)
        assert frame is not None, wanted - set(frames)
        at = axis if frame.instant is Instant.NOW else axis - 1
        if frame.topic is not Topic.SIGNALS and frame.axis == at:
            frames[frame.topic, frame.instant] = frame
    return frames


def normal_force(frame: Frame) -> float:
    return float(frame.arrays["force"][:, 0].sum())


def forces_on(frame: Frame, geom: int) -> NDArray[np.float64]:
    """Return the world force of each contact on ``geom``, (n, 3) [N].

    A contact's force is the one on its second geom; on the first it is the opposite.
    """
    arrays = frame.arrays
    world = np.einsum("nij,ni->nj", arrays["frame"], arrays["force"][:, :3])
    sign = (arrays["geom"][:, 1] == geom).astype(float) - (arrays["geom"][:, 0] == geom)
    return (sign[:, None] * world)[sign != 0]


def test_c25_every_value_belongs_to_the_instant_that_is_stated(
    start_warm: Start, wait_parked: Parked, case_model: Case
) -> None:
    source = loop(6, setup="mujoco.mj_resetDataKeyframe(model, data, 0)")
    script = start_warm(source, str(case_model("C25")), command=WAIT)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        watch(client, scene.scene_id)
        client.step(scene.scene_id, 4)
        frames = frames_at(client, 4)
        for instant, k in ((Instant.EXECUTED, 3), (Instant.NOW, 4)):
            seen = {topic: frames[topic, instant] for topic in TOPICS}
            assert {frame.time for frame in seen.values()} == {seen[Topic.POSE].time}
            assert seen[Topic.POSE].time == pytest.approx(k / 120, abs=1e-9)
            position = seen[Topic.STATE].arrays["qpos"][0]
            assert position == pytest.approx(k / 120, abs=1e-9)
            assert seen[Topic.POSE].arrays["xpos"][1, 0] == pytest.approx(position, abs=1e-9)
            tip = seen[Topic.SENSORS].arrays["sensordata"][0]
            assert tip - 0.1 == pytest.approx(position, abs=1e-9)
        client.fast_forward()
        code, out, err = script.end()
    assert code == 0, err
    assert out == bare(source, case_model("C25"))


def test_c35_pausing_and_inspecting_leaves_the_whole_state_bit_identical(
    start_warm: Start, wait_parked: Parked, case_model: Case
) -> None:
    setup = "U = np.random.default_rng(0).uniform(-1, 1, (400, model.nu))"
    source = loop(400, setup=setup, control="data.ctrl[:] = U[k]")
    script = start_warm(source, str(case_model("C35")), command=WAIT)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        watch(client, scene.scene_id)
        client.run_until(scene.scene_id, step_count=200)
        for _ in range(3):
            frames_at(client, 200)
            client.subscribe(scene.scene_id, [])
            watch(client, scene.scene_id)
        client.step(scene.scene_id, 3)
        frames_at(client, 203)
        client.fast_forward()
        code, out, err = script.end()
    assert code == 0, err
    assert out == bare(source, case_model("C35"))
    # What a careless look would do is seen by this comparison.
    careless = (
        "FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS; s = np.empty(mujoco.mj_stateSize(model, FULL))"
        "; k == 199 and (mujoco.mj_getState(model, data, s, FULL), mujoco.mj_step(model, data, 20),"
        " mujoco.mj_setState(model, data, s, FULL))"
    )
    assert out != bare(
        loop(400, setup=setup, control="data.ctrl[:] = U[k]", after=careless), case_model("C35")
    )


def test_c19_a_careless_restore_is_told_by_what_it_misses_and_from_its_first_step_on(
    start_warm: Start, wait_parked: Parked, case_model: Case
) -> None:
    setup = "U = np.random.default_rng(0).uniform(-1, 1, (500, model.nu))"
    careless = (
        "kept = (data.qpos.copy(), data.qvel.copy(), data.time) if k == 199 else kept\n"
        "    if k == 499: data.qpos[:], data.qvel[:], data.time = kept"
    )
    source = loop(
        801,
        setup=f"{setup}; kept = None",
        control="data.ctrl[:] = U[k if k < 500 else min(k - 300, 499)]",
        after=careless,
    )
    script = start_warm(source, str(case_model("C19")), command=WAIT)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        client.run_until(scene.scene_id, step_count=800)

        def refs(source: GhostSource, *numbers: int) -> list[GhostRef]:
            return [GhostRef(source=source, number=n, scene_id=scene.scene_id) for n in numbers]

        states = client.compare(scene.scene_id, *refs(GhostSource.ROW, 200, 500))
        assert {each.name.split()[0] for each in states.differences} == {"warmstart"}
        again = [client.resimulate(scene.scene_id, axis=axis, steps=300) for axis in (200, 500)]
        runs = client.compare(scene.scene_id, *refs(GhostSource.ROLLOUT, *again))
        assert runs.first_bit in (0, 1), "not exact from step 200 on"
        # What is put back whole leads to the very same.
        exact = client.resimulate(scene.scene_id, axis=200, steps=300)
        same = client.compare(scene.scene_id, *refs(GhostSource.ROLLOUT, again[0], exact))
        assert (same.first_bit, same.differences) == (-1, ())
        client.fast_forward()
        code, _, err = script.end()
    assert code == 0, err


def test_r13_contact_forces_are_those_of_the_executed_step_also_while_paused(
    start_warm: Start, wait_parked: Parked, case_model: Case
) -> None:
    source = loop(1100, control="data.ctrl[0] = -30.0")
    script = start_warm(source, str(case_model("R13")), command=WAIT)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        client.run_until(scene.scene_id, step_count=1000)
        watch(client, scene.scene_id)
        for axis in (1001, 1002):
            client.step(scene.scene_id)
            frames = frames_at(client, axis)
            for instant in INSTANTS:
                contacts = frames[Topic.CONTACTS, instant]
                assert len(contacts.arrays["dist"]) == 4
                assert normal_force(contacts) == pytest.approx(49.62, rel=5e-3)
        client.edit_state(scene.scene_id, "ctrl", 0, [0.0])
        while True:
            frame = client.next_frame(DEADLINE_S)
            assert frame is not None
            if (frame.topic, frame.instant) == (Topic.CONTACTS, Instant.NOW):
                break
        assert normal_force(frame) == pytest.approx(20.37, rel=0.1)  # another control, another NOW
        client.fast_forward()
        code, _, err = script.end()
    assert code == 0, err


@pytest.mark.parametrize(
    ("case", "expected"),
    [("C26", {"ball": 9.81}), ("C27", {"ball_floor": 9.81, "ball_table": 19.62})],
)
def test_c26_c27_the_force_on_a_resting_ball_points_up(
    case: str,
    expected: dict[str, float],
    start_warm: Start,
    wait_parked: Parked,
    case_model: Case,
) -> None:
    source = loop(1001)
    script = start_warm(source, str(case_model(case)), command=WAIT)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        client.run_until(scene.scene_id, step_count=999)
        watch(client, scene.scene_id)
        client.step(scene.scene_id)
        frames = frames_at(client, 1000)
        geoms = [geom.name for geom in client.description(scene.scene_id).geoms]
        bodies = [body.name for body in client.description(scene.scene_id).bodies]
        for instant in INSTANTS:
            on_bodies = frames[Topic.BODIES, instant].arrays["contact_force"]
            for name, weight in expected.items():
                on_body = on_bodies[bodies.index(name)]
                assert on_body == pytest.approx([0, 0, weight, 0, 0, 0], rel=5e-3, abs=1e-6)
                force = forces_on(frames[Topic.CONTACTS, instant], geoms.index(name)).sum(axis=0)
                assert force == pytest.approx([0, 0, weight], rel=5e-3, abs=1e-6)
        client.fast_forward()
        code, out, err = script.end()
    assert code == 0, err
    assert out == bare(source, case_model(case))


def test_c07_overlaps_are_told_when_a_client_attaches_before_any_step(
    start_warm: Start, wait_parked: Parked, case_model: Case
) -> None:
    source = loop(500)
    script = start_warm(source, str(case_model("C07")), command=WAIT)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        assert client.wait_until(
            lambda c: sum("overlap by" in entry.text for entry in c.log_entries()) == 2,
            DEADLINE_S,
        )
        told = [entry.text for entry in client.log_entries() if "overlap by" in entry.text]
        assert "g1 and g2 overlap" in told[0]
        assert "distance -0.75" in told[0]
        assert "g1 and g3 overlap" in told[1]
        assert "distance -0.5" in told[1]
        assert all("b1 is static" in text for text in told)
        assert client.scenes()[0].total_steps == 0
        # The table of contacts says the same of the state as it stands.
        watch(client, scene.scene_id)
        while True:
            frame = client.next_frame(DEADLINE_S)
            assert frame is not None
            if (frame.topic, frame.instant) == (Topic.CONTACTS, Instant.NOW):
                break
        assert sorted(frame.arrays["dist"].tolist()) == pytest.approx([-0.75, -0.5], abs=1e-6)
        client.fast_forward()
        code, out, err = script.end()
    assert code == 0, err
    assert out == bare(source, case_model("C07"))
