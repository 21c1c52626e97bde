"""Where a scene's model can come from, and that it is a copy."""

from pathlib import Path

import mujoco
import pytest

import stroboscope.engine as physics

BALL = (
    '<mujoco><worldbody><body name="ball"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
)
URDF = """<?xml version="1.0"?><robot name="pendulum"><link name="base"/>
  <link name="bob"><inertial><mass value="1"/><origin xyz="0 0 -0.5"/>
    <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="pin" type="continuous"><parent link="base"/><child link="bob"/>
    <axis xyz="0 1 0"/></joint></robot>"""


def test_nothing_gives_an_empty_world_with_a_floor() -> None:
    scene = physics.create_scene("Empty")
    scene.step()
    description = scene.link.backend.describe(1, "Empty")
    assert [geom.name for geom in description.geoms] == ["floor"]
    assert description.source == "empty world"


def test_a_path_to_urdf_a_string_with_a_header_and_a_compiled_file_are_understood(
    tmp_path: Path,
) -> None:
    urdf, mjb = tmp_path / "pendulum.urdf", tmp_path / "ball.mjb"
    urdf.write_text(URDF)
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_string(BALL), str(mjb))
    pendulum = physics.create_scene("Urdf", urdf)
    assert pendulum.get_articulation("bob").joint_names == ("pin",)
    assert physics.create_scene("Mjb", mjb).model.nq == 7
    text = f'<?xml version="1.0"?>\n<!-- a ball -->\n{BALL}'
    assert physics.create_scene("String", f"  \n{text}").model.nq == 7
    assert pendulum.link.backend.describe(1, "Urdf").source == str(urdf)


def test_models_and_specs_are_copied() -> None:
    model = mujoco.MjModel.from_xml_string(BALL)
    spec = mujoco.MjSpec.from_string(BALL)
    of_model, of_spec = physics.create_scene("Model", model), physics.create_scene("Spec", spec)
    model.opt.timestep = 0.5
    spec.option.timestep = 0.5
    assert of_model.model is not model
    assert of_model.model.opt.timestep == 0.002
    of_spec.get_articulation("ball")
    assert of_spec.model.opt.timestep == 0.002


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("no/such/file.xml", "no file 'no/such/file.xml'"),
        ("<mujoco><worldbody><geom/></worldbody></mujoco>", "can't load the model"),
        ("<mujoco><nonsense/></mujoco>", "nonsense"),
        ("<", "can't load the model"),
    ],
)
def test_a_model_that_can_not_be_loaded_says_why(model: str, message: str) -> None:
    with pytest.raises(physics.ModelError, match=message):
        physics.create_scene("Broken", model)
    with pytest.raises(TypeError, match="must be a path"):
        physics.create_scene("Broken", 42)


def test_source_names_the_file_of_an_adopted_model() -> None:
    model = mujoco.MjModel.from_xml_string(BALL)
    scene = physics.create_scene("Mine", model, data=mujoco.MjData(model), source="ball.xml")
    assert scene.link.backend.describe(1, "Mine").source == "ball.xml"


def test_an_adopted_scene_follows_a_script_that_makes_itself_another_model() -> None:
    model = mujoco.MjModel.from_xml_string(BALL)
    scene = physics.create_scene("Mine", model, data=mujoco.MjData(model))
    scene.step(nstep=3)
    bigger = mujoco.MjModel.from_xml_string(
        BALL.replace("</body>", "</body><body><joint/><geom size='.1'/></body>")
    )
    data = mujoco.MjData(bigger)
    scene.rebind(bigger, data)
    scene.step()
    assert scene.data is data
    assert (scene.step_count, scene.total_steps, scene.revision) == (1, 2, 1)
    assert len(scene.link.backend.describe(1, "Mine").joints) == 2
    with pytest.raises(ValueError, match="another model"):
        scene.rebind(model, data)
    own = physics.create_scene("Own", BALL)
    with pytest.raises(physics.EngineError, match="rebound"):
        own.rebind(bigger, data)
