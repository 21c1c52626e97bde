"""Physics options: described, read and written by MuJoCo's names, or refused as they were."""

import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.scene_description import OptionInfo, OptionKind
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.physics_options import (
    check_option,
    describe_options,
    option_info,
    option_values,
    read_option,
    write_option,
)

ADAPTER = load_mujoco()
MODEL = mujoco.MjModel.from_xml_string("<mujoco/>")
OPTIONS = describe_options(MODEL, adapter=ADAPTER)
# What MuJoCo keeps of its own.
NOT_OPTIONS = {"apirate", "disableflags", "enableflags", "disableactuator"}


@pytest.fixture
def model() -> mujoco.MjModel:
    """A model whose options may be written."""
    return mujoco.MjModel.from_xml_string("<mujoco/>")


def others(info: OptionInfo, values: tuple[float, ...]) -> tuple[float, ...]:
    """Return values that the option may have and has not."""
    match info.kind:
        case OptionKind.FLAG:
            return (1.0 - values[0],)
        case OptionKind.CHOICE:
            return ((values[0] + 1) % len(info.choices),)
        case OptionKind.INTEGER:
            return tuple(value + 1 for value in values)
    return tuple(0.5 * value + 0.01 for value in values)


@pytest.mark.parametrize("info", OPTIONS, ids=[info.name for info in OPTIONS])
def test_every_option_is_written_alone_and_read_back(
    model: mujoco.MjModel, info: OptionInfo
) -> None:
    before = option_values(model, adapter=ADAPTER)
    old = read_option(model, info.name, adapter=ADAPTER)
    assert len(old) == info.width
    wanted = others(info, old)
    write_option(model, info.name, wanted, adapter=ADAPTER)
    assert read_option(model, info.name, adapter=ADAPTER) == pytest.approx(wanted)
    after = option_values(model, adapter=ADAPTER)
    at = sum(i.width for i in OPTIONS[: OPTIONS.index(info)])
    changed = np.flatnonzero(before != after)
    assert len(changed)
    assert set(changed) <= set(range(at, at + info.width))
    write_option(model, info.name, old, adapter=ADAPTER)
    assert np.array_equal(option_values(model, adapter=ADAPTER), before)


def test_every_number_of_mujocos_options_can_be_edited() -> None:
    names = {info.name for info in OPTIONS}
    has = {name for name in dir(MODEL.opt) if not name.startswith("_")}
    assert has - NOT_OPTIONS <= names


@pytest.mark.parametrize("info", OPTIONS, ids=[info.name for info in OPTIONS])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_no_option_takes_what_is_not_finite(
    model: mujoco.MjModel, info: OptionInfo, bad: float
) -> None:
    before = option_values(model, adapter=ADAPTER)
    with pytest.raises(CommandError, match="finite numbers only"):
        write_option(model, info.name, (bad,) * info.width, adapter=ADAPTER)
    assert np.array_equal(option_values(model, adapter=ADAPTER), before)


def test_an_integer_that_mujoco_can_not_hold_is_refused() -> None:
    info = option_info("iterations", adapter=ADAPTER)
    with pytest.raises(CommandError, match="iterations must be"):
        check_option(info, (2.0**40,))


@pytest.mark.parametrize("info", OPTIONS, ids=[info.name for info in OPTIONS])
def test_no_option_may_be_so_large_that_products_overflow(info: OptionInfo) -> None:
    with pytest.raises(CommandError, match=f"{info.name} must be"):
        check_option(info, (1e300,) * info.width)


@pytest.mark.parametrize("info", OPTIONS, ids=[info.name for info in OPTIONS])
def test_no_count_may_be_so_large_that_a_step_never_ends_or_needs_all_memory(
    info: OptionInfo,
) -> None:
    if info.kind is OptionKind.INTEGER:
        assert info.maximum is not None
        assert info.maximum <= 10_000


@pytest.mark.skipif(
    not hasattr(mujoco.mjtEnableBit, "mjENBL_IPC"), reason="this MuJoCo has no ipc solver"
)
def test_an_option_that_makes_steps_fail_is_refused_and_the_run_goes_on() -> None:
    scene = physics.create_scene(
        "ball",
        mujoco.MjModel.from_xml_string(
            "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
        ),
    )
    backend = scene.link.backend
    scene.step()
    before = full_state(scene)
    with pytest.raises(CommandError, match=r"could not step with that: .*integrator='discrete'"):
        backend.edit_option("enable.ipc", (1.0,))
    assert backend.option("enable.ipc") == (0.0,)
    assert full_state(scene) == before
    scene.step()
    discrete = option_info("integrator", adapter=ADAPTER).choices.index("discrete")
    backend.edit_option("integrator", (float(discrete),))
    # MuJoCo 3 wants that as well.
    conjugate = option_info("solver", adapter=ADAPTER).choices.index("cg")
    backend.edit_option("solver", (float(conjugate),))
    backend.edit_option("enable.ipc", (1.0,))
    scene.step()
    with pytest.raises(CommandError, match="could not step with that"):
        backend.edit_option("integrator", (0.0,))
    scene.step()


@pytest.mark.skipif(
    not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"), reason="this MuJoCo lets nothing sleep"
)
def test_islands_may_be_let_asleep_before_anything_was_computed() -> None:
    text = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
      <body pos="0 0 .2"><geom type="box" size=".3 .3 .2"/></body>
      <body pos="0 0 .49"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
      </worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    scene = physics.create_scene("edited", model)
    scene.link.backend.edit_option("enable.sleep", (1.0,))
    other = mujoco.MjModel.from_xml_string(text)
    other.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    data = mujoco.MjData(other)
    touched = False
    for _ in range(300):
        scene.step()
        mujoco.mj_step(other, data)
        touched |= data.ncon > 0
    assert touched
    assert np.array_equal(scene.data.qpos, data.qpos)


def test_what_the_model_had_itself_can_be_put_back_whatever_the_limits_are() -> None:
    model = mujoco.MjModel.from_xml_string("<mujoco><option iterations='50000'/></mujoco>")
    backend = physics.create_scene("many", model).link.backend
    with pytest.raises(CommandError, match="iterations must be 1…10000"):
        backend.edit_option("iterations", (50_001.0,))
    backend.edit_option("iterations", (10.0,))
    backend.edit_option("iterations", (50_000.0,))
    assert model.opt.iterations == 50_000


def full_state(scene: physics.Scene) -> bytes:
    model, data = scene.model, scene.data
    row = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(model, data, row, mujoco.mjtState.mjSTATE_INTEGRATION)
    return row.tobytes() + data.xpos.tobytes() + data.qacc.tobytes()
