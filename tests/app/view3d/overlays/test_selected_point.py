"""The point that a body was pointed at is drawn on it, where MuJoCo's viewer draws it."""

from typing import Any

import numpy as np
import pytest

from stroboscope.app.models.overlays import Role
from stroboscope.app.models.selection import Element, ElementKind

MODEL = """<mujoco><worldbody><body name="a" pos="0 0 1" euler="0 0 90"><freejoint/>
<geom type="box" size=".2 .2 .2"/></body><body pos="2 0 1"><freejoint/><geom size=".2"/></body>
</worldbody></mujoco>"""
CORNER = np.array([0.1, -0.2, 1.1])  # in the world


def touch(engine_view: Any, **changes: Any) -> Any:
    case = engine_view(MODEL)
    case.set(**changes)
    case.view.set_selection(Element(ElementKind.BODY, 1))
    case.view.grip.touch(1, CORNER)
    return case


def test_the_point_stays_on_the_body_that_it_was_pointed_at(engine_view: Any) -> None:
    case = touch(engine_view, select_point=True)
    (part,) = case.parts(Role.SELECT_POINT)
    assert len(part.texels) == 1
    centre = part.texels.reshape(-1, 4)[:3, 3]
    assert centre == pytest.approx(CORNER, abs=1e-5)
    case.scene.data.qpos[:3] = (0.0, 0.0, 3.0)
    case.feed()
    (moved,) = case.parts(Role.SELECT_POINT)
    assert moved.texels.reshape(-1, 4)[:3, 3] == pytest.approx(
        CORNER + np.array([0.0, 0.0, 2.0]), abs=1e-5
    )


def test_there_is_none_of_what_is_not_selected_or_not_asked_for(engine_view: Any) -> None:
    case = touch(engine_view, select_point=True)
    case.view.set_selection(Element(ElementKind.BODY, 2))
    assert not case.parts(Role.SELECT_POINT)
    case.view.set_selection(None)
    assert not case.parts(Role.SELECT_POINT)
    assert not touch(engine_view).parts(Role.SELECT_POINT)
