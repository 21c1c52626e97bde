"""The source that travels with a scene compiles to the same model, to the last bit."""

import importlib.resources
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import corpus
import mujoco
import pytest
from random_models import random_model

import stroboscope.engine as physics
from stroboscope.engine.model_digest import model_digest
from stroboscope.engine.model_source import ModelSource, load_model_source
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.options import SceneOptions
from stroboscope.engine.portable_model import portable_model

TESTS = Path(__file__).parent.parent.parent
pytestmark = [
    pytest.mark.skipif(
        not hasattr(mujoco.MjSpec, "encode"), reason="MuJoCo before 4.0 writes fewer digits"
    ),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def models() -> Iterator[Path]:
    """Return every model of this repository."""
    own = Path(str(importlib.resources.files("stroboscope.resources"))) / "models"
    yield from sorted(own.glob("*.xml"))
    yield from sorted((TESTS / "cases").glob("*/*.xml"))
    yield TESTS / "engine" / "every_element.xml"


def assert_same(source: ModelSource, folder: Path) -> None:
    """Unpack the portable model and compile it: it must be the same."""
    adapter = load_mujoco()
    portable = portable_model(source, adapter=adapter)
    assert portable.missing == ""
    with zipfile.ZipFile(BytesIO(portable.content)) as archive:
        archive.extractall(folder)
    again = mujoco.MjSpec.from_file(str(folder / "model.xml")).compile()
    assert model_digest(again, adapter=adapter) == model_digest(source.model, adapter=adapter)
    # The scene's own source is as it was.
    assert source.spec is not None
    assert source.spec.compiler.savecompiled


@pytest.mark.parametrize("path", list(models()), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_model_of_this_repository_compiles_to_the_same_bits(
    path: Path, tmp_path: Path
) -> None:
    options = SceneOptions(timestep=0.0017, gravity=(0.1, 0.2, -9.0))
    assert_same(load_model_source(path, options=options, adapter=load_mujoco()), tmp_path)


@pytest.mark.parametrize("seed", range(12))
def test_random_models_compile_to_the_same_bits(seed: int, tmp_path: Path) -> None:
    source = load_model_source(
        random_model(seed).xml, options=SceneOptions(), adapter=load_mujoco()
    )
    assert_same(source, tmp_path)


def test_what_macros_made_and_other_models_brought_compiles_to_the_same_bits(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "model"
    corpus.make_secrets(folder)
    (folder / "child.xml").write_text(
        '<mujoco model="c"><asset><mesh name="k" file="secret.obj"/></asset><worldbody>'
        '<body name="b"><freejoint/><geom type="mesh" mesh="k"/></body></worldbody></mujoco>'
    )
    sides = ("right", "left", "up", "down", "front", "back")
    cube = " ".join(f'file{side}="secret.png"' for side in sides)
    (folder / "model.xml").write_text(f"""
    <mujoco>
      <compiler assetdir="."/>
      <asset>
        <model name="child" file="child.xml"/><mesh name="m" file="secret.obj" scale="2 1 1"/>
        <texture name="sky" type="cube" {cube}/><hfield name="h" file="secret.bin" size="1 1 1 1"/>
      </asset>
      <worldbody>
        <attach model="child" body="b" prefix="x_"/><geom type="hfield" hfield="h"/>
        <replicate count="5" offset="1 0 0" euler="0 0 31"><geom type="mesh" mesh="m"/></replicate>
        <flexcomp name="f" type="grid" count="4 4 1" spacing=".1 .1 .1" dim="2" pos="0 0 2">
          <edge equality="true"/></flexcomp>
        <body pos="0 0 5" euler="11 22 33"><joint/><geom type="mesh" mesh="m" fitscale=".9"/></body>
      </worldbody>
    </mujoco>""")
    source = load_model_source(folder / "model.xml", options=SceneOptions(), adapter=load_mujoco())
    (tmp_path / "unpacked").mkdir()
    assert_same(source, tmp_path / "unpacked")


def test_assets_that_were_given_as_bytes_are_in_it(tmp_path: Path) -> None:
    spec = mujoco.MjSpec.from_string(
        '<mujoco><asset><mesh name="m" file="deep/inside/a b.obj"/></asset>'
        '<worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>',
        assets={"deep/inside/a b.obj": corpus.TETRAHEDRON.encode()},
    )
    assert_same(load_model_source(spec, options=SceneOptions(), adapter=load_mujoco()), tmp_path)
    assert [path.name for path in (tmp_path / "assets").iterdir()] == ["a_b.obj"]


def test_two_assets_of_one_name_stay_two(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    for name in ("one", "two"):
        (folder / name).mkdir(parents=True)
    (folder / "one" / "a.obj").write_text(corpus.TETRAHEDRON)
    (folder / "two" / "A.obj").write_text(corpus.TETRAHEDRON.replace("v 1", "v 3"))
    (folder / "model.xml").write_text(
        '<mujoco><asset><mesh name="a" file="one/a.obj"/><mesh name="b" file="two/A.obj"/></asset>'
        '<worldbody><geom type="mesh" mesh="a"/><geom type="mesh" mesh="b"/></worldbody></mujoco>'
    )
    source = load_model_source(folder / "model.xml", options=SceneOptions(), adapter=load_mujoco())
    (tmp_path / "unpacked").mkdir()
    assert_same(source, tmp_path / "unpacked")
    names = {path.name.lower() for path in (tmp_path / "unpacked" / "assets").iterdir()}
    assert len(names) == 2


def test_a_pose_controller_that_was_added_travels(tmp_path: Path) -> None:
    own = Path(str(importlib.resources.files("stroboscope.resources"))) / "models"
    scene = physics.create_scene("cart", own / "cart_with_double_pendulum.xml")
    scene.get_articulation("cart").add_articulated_pose_controller(
        physics.PoseControllerParams(stiffness=(900.0, 120.0, 60.0), damping=(90.0, 6.0, 2.5))
    )
    assert_same(scene.world.source, tmp_path)
