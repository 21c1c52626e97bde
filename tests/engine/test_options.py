"""One value object of what a scene was made with, which makes another scene the same."""

import pickle
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.engine.physics_options import option_values

Make = Callable[..., physics.Scene]
Drive = Callable[..., NDArray[np.float64]]
Options = physics.SceneOptions

MANY = Options(
    timestep=0.001,
    gravity=(0.1, 0.2, -3.0),
    wind=(1.0, 0.0, 0.0),
    density=1.2,
    viscosity=0.01,
    integrator=physics.Integrator.RK4,
    solver=physics.Solver.CG,
    cone=physics.Cone.ELLIPTIC,
    jacobian=physics.Jacobian.SPARSE,
    iterations=17,
    tolerance=1e-5,
    ls_iterations=9,
    ls_tolerance=0.1,
    noslip_iterations=3,
    noslip_tolerance=1e-4,
    ccd_iterations=21,
    ccd_tolerance=1e-5,
    sdf_iterations=5,
    sdf_initpoints=7,
    impratio=2.0,
    magnetic=(0.0, 1.0, 0.0),
    o_margin=0.01,
    o_solref=(0.03, 1.1),
    o_solimp=(0.8, 0.9, 0.01, 0.4, 3.0),
    o_friction=(0.9, 0.8, 0.1, 0.01, 0.001),
    disable=frozenset({"warmstart", "equality"}),
    enable=frozenset({"energy", "override"}),
    disabled_actuator_groups=frozenset({2, 5}),
    playback="free",  # type: ignore[arg-type]
)


def values(scene: physics.Scene) -> NDArray[np.float64]:
    return option_values(scene.model, adapter=scene.world.adapter)


def test_all_options_reach_the_model_and_come_back() -> None:
    scene = physics.create_scene("Many", options=MANY)
    opt = scene.model.opt
    assert (opt.timestep, opt.iterations, opt.noslip_iterations) == (0.001, 17, 3)
    assert opt.disableflags == int(
        mujoco.mjtDisableBit.mjDSBL_WARMSTART | mujoco.mjtDisableBit.mjDSBL_EQUALITY
    )
    assert opt.disableactuator == 0b100100
    got = scene.options
    for name in MANY.__dataclass_fields__:
        wanted = getattr(MANY, name)
        if wanted is not None:
            assert getattr(got, name) == wanted, name


@pytest.mark.parametrize("form", ["string", "spec", "compiled"])
def test_a_scene_made_with_the_options_of_another_has_all_of_them(form: str) -> None:
    first = physics.create_scene("First", options=MANY)
    text = "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"
    model = {
        "string": text,
        "spec": mujoco.MjSpec.from_string(text),
        "compiled": mujoco.MjModel.from_xml_string(text),
    }[form]
    second = physics.create_scene("Second", model, options=first.options)
    assert second.options == first.options
    assert np.array_equal(values(first), values(second))
    assert second.playback == "free"
    assert physics.create_scene("Third", options=first.options, playback="follow").playback == (
        "follow"
    )


def test_the_default_options_change_nothing(
    make_scene: Make, model_path: Callable[[str], Path]
) -> None:
    scene = make_scene()
    again = make_scene(options=scene.options)
    assert again.restore(scene.checkpoint()).is_exact, "the model is the same to the last byte"
    assert pickle.loads(pickle.dumps(scene.options)) == scene.options  # noqa: S301 - our own
    assert hash(scene.options) == hash(again.options)


def test_options_are_those_the_scene_was_made_with_whatever_is_edited(make_scene: Make) -> None:
    scene = make_scene()
    made = scene.options
    scene.model.opt.timestep = 0.0005
    assert scene.options == made
    scene.model_changed()
    assert scene.options.timestep == 0.0005, "declared as the scene's own"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"noslip_iterations": -1}, "0 or more"),
        ({"impratio": float("nan")}, "0 or more"),
        ({"o_margin": float("inf")}, "a finite number"),
        ({"o_solref": (1.0,)}, "two finite numbers"),
        ({"wind": (0.0, 0.0, float("nan"))}, "three finite numbers"),
        ({"enable": "sleep"}, "a set of flags"),
        ({"disabled_actuator_groups": {31}}, "0…30"),
        ({"cone": "round"}, "round"),
        ({"playback": "loud"}, "loud"),
    ],
    ids=repr,
)
def test_values_that_no_model_can_have_are_refused(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Options(**wrong)  # type: ignore[arg-type]


def test_a_flag_that_mujoco_does_not_have_is_refused_with_those_it_has() -> None:
    with pytest.raises(
        (ValueError, physics.ModelError), match=r"no flag enable\.magic; it has .*energy"
    ):
        physics.create_scene("Magic", options=Options(enable=frozenset({"magic"})))
