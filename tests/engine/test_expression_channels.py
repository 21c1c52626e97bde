"""Expressions evaluated at every physics step: the values are those of the step's own instant."""

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.expressions import compile_expression, table_of
from stroboscope.debugger_protocol.topics import Topic

Make = Callable[..., physics.Scene]
Drive = Callable[..., Any]
DEADLINE_S = 60.0


def rows_of(scene: physics.Scene, texts: list[str], steps: int) -> dict[str, np.ndarray]:
    """Step and return each expression's rows, (steps, width)."""
    source = scene.link.backend.signal_source([f"= {text}" for text in texts])
    table = np.full((steps, source.width), -1.0)
    for row in table:
        source.before(row)
        scene.step()
        source.after(row)
    return {text: table[:, source.columns[f"= {text}"]] for text in texts}


def on_floor(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Return which contacts are the floor's, geom 0."""
    return (arrays["geom"] == 0).any(axis=1)


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
def test_expressions_agree_with_the_frame_of_the_same_step(
    make_scene: Make, drive: Drive, integrator: str
) -> None:
    scene = make_scene(options=physics.SceneOptions(integrator=physics.Integrator(integrator)))
    drive(scene, 125)
    backend = scene.link.backend
    names = scene.world.channels["qpos"].names
    body = mujoco.mj_id2name(scene.model, int(mujoco.mjtObj.mjOBJ_BODY), 2)
    topics = frozenset({Topic.STATE, Topic.CONTACTS, Topic.POSE, Topic.ENERGY})
    texts = {
        f"qpos['{names[8]}'] - ctrl[0]": lambda a: a["qpos"][8] - a["ctrl"][0],
        f"norm(xpos['{body}'])": lambda a: np.linalg.norm(a["xpos"][2]),
        f"xvel['{body}'][3:]": lambda a: a["body_velocity"][2, 3:],
        "contact['floor'].normal": lambda a: a["force"][on_floor(a), 0].sum(),
        "contact['floor'].count": lambda a: on_floor(a).sum(),
        "energy.total / 2": lambda a: (a["potential"][0] + a["kinetic"][0]) / 2,
        "time": lambda a: a["time"],
    }
    source = backend.signal_source([f"= {text}" for text in texts])
    row = np.empty(source.width)
    for _ in range(3):
        time = scene.data.time
        backend.begin_frame(topics)
        source.before(row)
        scene.step()
        source.after(row)
        made = backend.end_frame(topics).arrays
        arrays = {name: each for topic in made.values() for name, each in topic.items()}
        arrays["time"] = time
        for text, expected in texts.items():
            value = row[source.columns[f"= {text}"]]
            np.testing.assert_allclose(value, expected(arrays), rtol=1e-12, err_msg=text)
    assert row[source.columns["= contact['floor'].normal"]][0] > 0.0


def test_the_engine_and_a_window_call_things_by_the_same_names(make_scene: Make) -> None:
    scene = make_scene()
    description = scene.link.backend.describe(1, "humanoid")
    table = table_of(description)
    for body in description.bodies:
        assert compile_expression(f"xpos['{body.name}']", table).width == 3
        scene.link.backend.signal_source([f"= xpos['{body.name}']"])
    for geom in description.geoms:
        scene.link.backend.signal_source([f"= contact['{geom.name}'].count"])


def test_a_scene_at_rest_pushes_on_the_floor_with_its_weight() -> None:
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 .1'/>"
        "<body name='cube' pos='0 0 .1'><freejoint name='root'/>"
        "<geom name='side' type='box' size='.1 .1 .1' mass='2'/></body></worldbody></mujoco>"
    )
    scene = physics.create_scene("cube", model)
    for _ in range(500):
        scene.step()
    texts = ["contact['cube','floor'].force", "contact['floor','side'].force", "qpos['root']['z']"]
    rows = rows_of(scene, texts, 1)
    np.testing.assert_allclose(rows[texts[0]][0], [0, 0, 2 * 9.81], atol=1e-3)
    np.testing.assert_allclose(rows[texts[1]][0], [0, 0, -2 * 9.81], atol=1e-3)
    assert rows[texts[2]][0, 0] == pytest.approx(0.1, abs=1e-3)


def test_a_wrong_expression_is_refused_with_the_place(make_scene: Make) -> None:
    with pytest.raises(CommandError, match=r"(?s)no signal 'qposs'.*\^\^\^\^\^"):
        make_scene().link.backend.signal_source(["= qposs[0]"])


def test_expressions_change_nothing_in_the_run(make_scene: Make, state_of: Any) -> None:
    alone, watched = make_scene(), make_scene()
    source = watched.link.backend.signal_source(
        ["= norm(qvel)", "= contact['floor'].force", "= energy.total", "= norm(xpos)"]
    )
    row = np.empty(source.width)
    for _ in range(200):
        alone.step()
        source.before(row)
        watched.step()
        source.after(row)
    np.testing.assert_array_equal(state_of(alone), state_of(watched))


# --- over a socket

SCRIPT = """
import stroboscope.engine as physics
import mujoco

model = mujoco.MjModel.from_xml_string(
    "<mujoco><option timestep='0.01'/><worldbody><body name='cart'>"
    "<joint name='rail' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body></worldbody>"
    "<actuator><motor name='push' joint='rail'/></actuator></mujoco>"
)
scene = physics.create_scene("cart", model)
physics.debugger.attach(launch=False, timeout_seconds=60)
for k in range(30):
    scene.ctrl[0] = k
    scene.step()
    scene.log("reward", 2.0 * k)
"""


def test_a_subscribed_expression_sends_every_physics_step(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(SCRIPT)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        channels = ["= ctrl['push'] * 10 + time", "= qacc['rail'] / (ctrl['push'] - 3)", "qpos"]
        client.subscribe(scene.scene_id, [Topic.SIGNALS], channels)
        client.step(scene.scene_id, 2)
        client.subscribe(scene.scene_id, [Topic.SIGNALS], ["= 2 * reward"])
        client.step(scene.scene_id, 18)
        rows: dict[str, list[float]] = {}
        axis: dict[str, list[int]] = {}
        while len(rows.get("qpos", ())) < 20 or len(rows.get("= 2 * reward", ())) < 18:
            frame = client.next_frame(DEADLINE_S)
            assert frame is not None, "rows are missing"
            for name, values in frame.arrays.items():
                rows.setdefault(name, []).extend(values.reshape(-1).tolist())
                axis.setdefault(name, []).extend(frame.arrays["axis"].tolist())
        notes = [entry.text for entry in client.log_entries() if "qacc" in entry.text]
        client.fast_forward()
        assert script.end()[0] == 0
    k = np.arange(20)
    assert axis[channels[0]] == k.tolist()
    np.testing.assert_allclose(rows[channels[0]], 10.0 * k + 0.01 * k, rtol=1e-12)
    force = rows[channels[1]]
    assert np.isnan(force[3])
    np.testing.assert_allclose(np.delete(force, 3), np.delete(k, 3) / (np.delete(k, 3) - 3.0))
    assert len(notes) == 1
    assert "division by zero" in notes[0]
    # The script logs after its step: a step's newest value is that of the step before.
    np.testing.assert_array_equal(rows["= 2 * reward"], 4.0 * (k[2:] - 1))


def test_a_wrong_expression_fails_the_subscription_and_nothing_else(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(SCRIPT)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        client.subscribe(scene.scene_id, [Topic.SIGNALS], ["qpos"])
        with pytest.raises(CommandError) as caught:
            client.subscribe(scene.scene_id, [Topic.SIGNALS], ["qvel", "= qpos['rial']"])
        assert str(caught.value).split("\n") == [
            "qpos has no 'rial'; did you mean 'rail'?",
            "    qpos['rial']",
            "         ^^^^^^",
        ]
        client.step(scene.scene_id)
        frame = client.next_frame(DEADLINE_S)
        assert frame is not None
        assert set(frame.arrays) == {"axis", "time", "qpos"}
        client.fast_forward()
    assert script.end()[0] == 0
