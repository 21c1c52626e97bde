"""A flex's image may be cut: corners of neighbouring elements then lie elsewhere in it."""

import dataclasses
from typing import Any

import mujoco
import numpy as np
import pytest
from reference_scenes import SCENES, Shown, shown_by_engine

from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.flexes import FlexLook

# Two triangles share the edge from 1 to 2; the second one's image lies apart from the first's.
SHEET = """
<mujoco><worldbody><body name="w"/></worldbody>
<deformable><flex name="f" dim="2" body="w" radius=".01" flatskin="{flat}"
vertex="0 0 0  .1 0 0  0 .1 0  .1 .1 0" element="0 1 2  1 3 2"
texcoord="0 0  .4 0  0 .4  .6 .6  1 .6  .6 1" elemtexcoord="0 1 2  3 4 5"/></deformable></mujoco>
"""
EXPECTED = {
    (0, 0.0, 0.0): (0.0, 0.0),
    (0, 0.1, 0.0): (0.4, 0.0),
    (0, 0.0, 0.1): (0.0, 0.4),
    (1, 0.1, 0.0): (0.6, 0.6),
    (1, 0.1, 0.1): (1.0, 0.6),
    (1, 0.0, 0.1): (0.6, 1.0),
}


def shown(xml: str) -> Shown:
    return shown_by_engine(dataclasses.replace(SCENES["flex 2D"], xml=xml, seconds=0.0))


def corners(case: Shown, look: FlexLook) -> dict[tuple[int, float, float], tuple[float, float]]:
    """Return the place in the image of each corner on the upper side, by element and position."""
    drawn = DrawnScene()
    drawn.set_description(case.description, case.assets)
    drawn.set_poses(*case.poses)
    for topic, arrays in case.values.items():
        drawn.set_values(topic, arrays)
    soft = drawn.soft(look)
    found: dict[tuple[int, float, float], Any] = {}
    for face in soft.faces:
        rows = soft.vertices[face]
        at, uv = rows["a_position"], rows["a_uv"]
        if not (at[:, 2] > 0.005).all():
            continue
        element = int(at[:, :2].mean(axis=0).sum() > 0.1)
        for (x, y, _), place in zip(at.tolist(), uv.tolist(), strict=True):
            key = (element, round(x, 3) + 0.0, round(y, 3) + 0.0)
            found[key] = tuple(round(float(v), 4) for v in place)
    return found


@pytest.mark.parametrize("look", [FlexLook(), FlexLook(skin=False, faces=True, edges=False)])
@pytest.mark.parametrize("flat", ["false", "true"])
def test_each_element_has_its_own_part_of_the_image(look: FlexLook, flat: str) -> None:
    try:
        case = shown(SHEET.format(flat=flat))
    except (ValueError, mujoco.FatalError) as error:
        pytest.skip(f"this MuJoCo has no coordinates per corner: {error}")
    assert corners(case, look) == EXPECTED


def test_a_smooth_sheet_stays_smooth_across_a_seam() -> None:
    case = shown(SHEET.format(flat="false"))
    drawn = DrawnScene()
    drawn.set_description(case.description, case.assets)
    drawn.set_poses(*case.poses)
    for topic, arrays in case.values.items():
        drawn.set_values(topic, arrays)
    vertices = drawn.soft(FlexLook()).vertices
    upper = vertices[vertices["a_position"][:, 2] > 0.005]
    assert len(upper) == 6  # four vertices, two of them twice
    assert np.allclose(upper["a_normal"], [0.0, 0.0, 1.0], atol=1e-6)
