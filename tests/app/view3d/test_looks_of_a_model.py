"""What is told of a model that a script has written into is what a new description would say."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.items import ItemKind
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.describe.model import describe_model
from stroboscope.engine.frames.looks import Looks
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.scene_assets import SceneAssets

MODEL = Path(__file__).parents[2] / "engine" / "every_element.xml"
EYE = """<mujoco><worldbody><geom size=".2"/>
<camera name="eye" pos="0 -2 0" xyaxes="1 0 0 0 0 1"/>
<light pos="0 -2 0" dir="0 1 0" diffuse=".9 .2 .2"/></worldbody></mujoco>"""
FIELDS = (
    *("geom_rgba", "site_rgba", "tendon_rgba", "skin_rgba", "flex_rgba", "mat_rgba"),
    *("geom_pos", "geom_quat", "geom_size", "site_pos", "site_quat", "site_size", "tendon_width"),
    *("cam_pos", "cam_quat", "cam_fovy", "light_pos", "light_dir", "light_ambient"),
    *("light_diffuse", "light_specular", "light_active"),
)


@pytest.fixture
def model() -> Any:
    return mujoco.MjModel.from_xml_path(str(MODEL))


def described(model: Any) -> Any:
    return describe_model(
        model,
        scene_id=1,
        name="every",
        revision=0,
        origin="",
        assets=SceneAssets(model),
        adapter=load_mujoco(),
    )


def write(model: Any, field: str, random: np.random.Generator) -> None:
    values = getattr(model, field)
    if field == "light_active":
        values[:] = 1 - values
    elif field.endswith("quat"):
        turned = random.normal(size=values.shape)
        values[:] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    else:
        values[:] = random.uniform(0.1, 0.9, size=values.shape)


def shown(description: Any) -> DrawnScene:
    scene = DrawnScene()
    scene.set_description(description, {})
    return scene


def assert_same(one: DrawnScene, other: DrawnScene) -> None:
    rigid = [info.type not in ("mesh", "sdf", "hfield", "plane") for info in one.items.infos]
    for name in ("material", "pos", "mat", "radius", "box"):
        mine, theirs = getattr(one.items, name), getattr(other.items, name)
        if name in ("radius", "box"):  # those of meshes are what their arrays say
            mine, theirs = mine[: len(rigid)][rigid], theirs[: len(rigid)][rigid]
        if name == "material":  # where a mesh finds its texture depends on its size
            mine, theirs = mine[:, 0], theirs[:, 0]
        np.testing.assert_allclose(mine, theirs, rtol=2e-6, atol=2e-6, err_msg=name)
    for mine, theirs in zip(
        (*one.description.cameras, *one.description.lights),
        (*other.description.cameras, *other.description.lights),
        strict=True,
    ):
        for field in ("pos", "quat", "fovy", "dir", "ambient", "diffuse", "specular", "active"):
            if hasattr(mine, field):
                assert getattr(mine, field) == pytest.approx(getattr(theirs, field), rel=2e-6)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_is_written_is_drawn_as_if_it_had_been_described_so(
    model: Any, field: str
) -> None:
    looks, scene = Looks(model), shown(described(model))
    assert looks.arrays(model) is None
    before = scene.items, scene.description
    if not getattr(model, field).size:
        pytest.skip("this MuJoCo's model has none of it")
    write(model, field, np.random.default_rng(1))
    told = looks.arrays(model)
    assert told is not None, f"{field} is not told"
    scene.set_values(Topic.LOOKS, told)
    assert_same(scene, shown(described(model)))
    assert scene.look_revision == 1
    if field == "tendon_width":
        tubes = scene._deformables._description.tendons
        assert [tube.width for tube in tubes] == pytest.approx(model.tendon_width.tolist())
    scene.set_values(Topic.LOOKS, None)
    assert scene.items is before[0]
    assert scene.description is before[1]


def test_all_of_them_at_once_and_again(model: Any) -> None:
    looks, scene = Looks(model), shown(described(model))
    random = np.random.default_rng(2)
    for _ in range(5):
        for field in FIELDS:
            if getattr(model, field).size:
                write(model, field, random)
        scene.set_values(Topic.LOOKS, looks.arrays(model))
        assert_same(scene, shown(described(model)))


def test_a_camera_that_a_script_moves_is_looked_through_where_it_is(qapp: Any, show: Any) -> None:
    from stroboscope.app.view3d.camera import CameraState, ViewMode
    from stroboscope.app.view3d.viewport import Viewport
    from stroboscope.resources.themes import DARK

    model = mujoco.MjModel.from_xml_string(EYE)
    looks, view = Looks(model), Viewport(DARK)
    view.set_description(described(model), {})
    view.set_poses(np.zeros((1, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (1, 1)))
    show(view, 320, 240)
    view.set_camera(CameraState(mode=ViewMode.FIXED, fixed_camera=0))
    assert view.view().eye == pytest.approx([0.0, -2.0, 0.0])
    red = middle(view)
    assert red[0] > red[1] + 0.1
    model.cam_pos[0], model.cam_fovy[0] = (0.0, -4.0, 0.0), 20.0
    model.light_diffuse[0] = (0.2, 0.2, 0.9)
    view.set_values(Topic.LOOKS, looks.arrays(model))
    assert view.view().eye == pytest.approx([0.0, -4.0, 0.0])
    assert view.view().fovy == pytest.approx(20.0)
    blue = middle(view)
    assert blue[2] > blue[1] + 0.1


@pytest.mark.parametrize("fovy", [0.0, -30.0, 180.0, 1e9, np.nan])
@pytest.mark.parametrize("quat", [(0.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)])
def test_a_camera_that_makes_no_sense_fails_no_picture(
    qapp: Any, show: Any, fovy: float, quat: Any
) -> None:
    from stroboscope.app.view3d.camera import CameraState, ViewMode
    from stroboscope.app.view3d.viewport import Viewport
    from stroboscope.resources.themes import DARK

    model = mujoco.MjModel.from_xml_string(EYE)
    looks, view = Looks(model), Viewport(DARK)
    view.set_description(described(model), {})
    view.set_poses(np.zeros((1, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (1, 1)))
    show(view, 160, 120)
    view.set_camera(CameraState(mode=ViewMode.FIXED, fixed_camera=0))
    model.cam_fovy[0], model.cam_quat[0], model.light_dir[0] = fovy, quat, 0.0
    view.set_values(Topic.LOOKS, looks.arrays(model))
    assert not view.grab_image().isNull()
    assert not view._surface.drawing.error


def middle(view: Any) -> Any:
    image = view.grab_image()
    return np.array(image.pixelColor(image.width() // 2, image.height() // 2).getRgbF()[:3])


def test_a_flex_of_several_materials_wears_its_own_colour_only_when_it_has_one(
    engine_flex_of_two: Any,
) -> None:
    model = engine_flex_of_two
    looks, scene = Looks(model), shown(described(model))
    parts = scene.items.of_flex(0)
    materials = scene.items.material[parts, 0].copy()
    assert len(parts) == 2
    assert scene.items.kind[parts].tolist() == [ItemKind.FLEX, ItemKind.FLEX_PART]
    model.geom_rgba[0] = (0.1, 0.2, 0.3, 1.0)
    scene.set_values(Topic.LOOKS, looks.arrays(model))
    np.testing.assert_allclose(scene.items.material[parts, 0], materials)
    model.flex_rgba[0] = (0.9, 0.1, 0.4, 1.0)
    scene.set_values(Topic.LOOKS, looks.arrays(model))
    np.testing.assert_allclose(scene.items.material[parts, 0], [(0.9, 0.1, 0.4, 1.0)] * 2)


@pytest.fixture
def engine_flex_of_two() -> Any:
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><asset><material name="a" rgba="1 0 0 1"/><material name="b" rgba="0 1 0 1"/>'
        '</asset><worldbody><geom size=".1"/><body name="p"/><body name="q" pos="1 0 0"/>'
        '<body name="r" pos="0 1 0"/><body name="s" pos="1 1 0"/></worldbody><deformable>'
        '<flex name="two" dim="2" body="p q r s" element="0 1 2 1 3 2" material="a b"/>'
        "</deformable></mujoco>"
        if hasattr(mujoco.MjModel, "flex_cellnum")
        else "<mujoco/>"
    )
    if len(model.flex_matid) < 2:
        pytest.skip("in this MuJoCo a flex has one material")
    return model
