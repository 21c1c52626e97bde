"""Physics options: described, read and written by MuJoCo's names, or refused as they were."""

import mujoco
import numpy as np
import pytest

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
