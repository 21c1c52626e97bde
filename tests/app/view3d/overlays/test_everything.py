"""A scene with some of everything: every overlay draws, and none fails."""

import logging

import numpy as np
import pytest

from stroboscope.app.models.overlays import OVERLAYS, Role
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import FrameMode, LabelMode
from stroboscope.app.view3d.overlays.actuators import actuator_levels, saturated
from stroboscope.app.view3d.overlays.glyphs import Shape

RICH = """
<mujoco><option timestep="0.002"/><worldbody>
 <light name="lamp" pos="0 0 3"/><camera name="eye" pos="0 -3 1" xyaxes="1 0 0 0 0 1"/>
 <geom name="floor" type="plane" size="2 2 .1"/>
 <site name="ceiling" pos="0 0 1.2"/>
 <body name="post" pos="0 0 .6"><joint name="swing" axis="0 1 0" range="-60 60"/>
  <geom name="bar" type="capsule" fromto="0 0 0 .4 0 0" size=".04" mass="1"/>
  <site name="tip" pos=".4 0 0"/>
  <site name="pad" type="box" size=".06 .06 .06" pos=".4 0 0"/>
  <body name="ball" pos=".4 0 0"><joint name="socket" type="ball" range="0 60"/>
   <geom name="bob" type="sphere" size=".06" mass=".5"/></body></body>
 <geom name="roller" type="cylinder" size=".05 .1" pos=".2 0 .9" euler="90 0 0" contype="0"
  conaffinity="0"/>
 <body name="crate" pos=".8 .5 .1"><freejoint/>
  <geom name="crate" type="box" size=".1 .1 .1" mass="2"/>
  <site name="beam" pos=".1 0 0" euler="0 90 0"/>
  <site name="sole" type="box" size=".11 .11 .11"/></body>
 <body name="wall" pos="1.5 .5 .5"><geom name="wall" type="box" size=".1 1 .5"/></body>
</worldbody>
<tendon><spatial name="cable">
 <site site="ceiling"/><geom geom="roller"/><site site="tip"/></spatial></tendon>
<equality><connect name="pin" body1="ball" anchor="0 0 0" active="true"/></equality>
<actuator>
 <motor name="lift" joint="swing" ctrlrange="-1 1"/>
 <position name="hold" joint="swing" kp="5" ctrlrange="-1 1"/>
 <general name="pull" tendon="cable" ctrlrange="0 1" dyntype="filter" dynprm=".1"/>
</actuator>
<sensor>
 <rangefinder name="beam" site="beam"/><touch name="sole" site="sole"/>
 <gyro name="gyro" site="tip"/><jointpos name="angle" joint="swing"/>
</sensor></mujoco>"""


@pytest.fixture
def rich(engine_view):
    shown = engine_view(RICH)
    shown.scene.data.ctrl[:] = [1.0, -0.5, 0.5]
    for _ in range(100):
        shown.scene.step()
    shown.feed()
    return shown


def test_every_switch_draws_and_none_fails(rich, caplog):
    plain = rich.view.options
    rich.view.resize(160, 120)  # it is drawn a hundred times
    with caplog.at_level(logging.ERROR):
        for each in OVERLAYS:
            for value in {True, False} - {getattr(plain, each.name)}:
                rich.set(**{each.name: value})
                rich.view.draw_now()
                assert not caplog.records, each.name
        rich.set()
        rich.view.draw_now()
        assert not caplog.records


def test_all_of_it_at_once_with_labels_and_selections(rich, caplog):
    everything = {each.name: True for each in OVERLAYS}
    selections = [
        Element(ElementKind.BODY, 1),
        Element(ElementKind.JOINT, 1),
        Element(ElementKind.TENDON, 0),
        Element(ElementKind.EQUALITY, 0),
        Element(ElementKind.ACTUATOR, 2),
        Element(ElementKind.SENSOR, 1),
        Element(ElementKind.CONTACT, 0, 3),
        None,
    ]
    with caplog.at_level(logging.ERROR):
        for frames, selection in zip(FrameMode, selections, strict=True):
            rich.set(**everything, frames=frames, labels=LabelMode.SELECTION)
            rich.view.set_selection(selection)
            rich.view.draw_now()
    assert not caplog.records
    assert rich.view._legend.isVisible()


def test_a_ray_ends_where_the_range_finder_hits(rich):
    rich.set(rangefinders=True)
    (ray,) = [part for part in rich.parts(Role.RANGEFINDER) if part.shape is Shape.LINE]
    distance = rich.scene.data.sensordata[0]
    assert distance == pytest.approx(0.5, abs=0.01)
    assert np.linalg.norm(ray.texels[0, 1, :3]) == pytest.approx(distance, abs=1e-4)
    assert ray.element(0) == Element(ElementKind.SENSOR, 0)
    end = ray.texels[0, 0, :3] + ray.texels[0, 1, :3]
    assert end[0] == pytest.approx(1.4, abs=0.01)


def test_a_touch_zone_lights_up_with_what_it_feels(rich):
    rich.set(sensors=True)
    (zone,) = rich.parts(Role.TOUCHED)
    assert zone.shape is Shape.BOX
    np.testing.assert_allclose(zone.texels[0, 3, :3], Role.TOUCHED.value[:3], rtol=1e-6)


def test_a_touch_zone_and_a_tendon_are_as_large_as_a_script_makes_them(rich):
    def thickness():
        low, high = (getattr(rich.view._scene.soft(), each)[-1] for each in ("low", "high"))
        return float((high - low)[1])  # the cable runs in the plane y = 0

    model = rich.scene.model
    rich.set(sensors=True, actuators=True)
    before = thickness()
    (ring,) = [part for part in rich.picture.parts if part.shape is Shape.LINE][:1]
    model.site_size[model.site("sole").id] = (0.2, 0.3, 0.4)
    model.tendon_width[0] *= 3.0
    rich.feed()
    (zone,) = rich.parts(Role.TOUCHED)
    sizes = np.linalg.norm(zone.texels[0, :3, :3], axis=0)
    np.testing.assert_allclose(sizes, (0.2, 0.3, 0.4), rtol=1e-5)
    assert thickness() == pytest.approx(3.0 * before, rel=0.05)
    (wider,) = [part for part in rich.picture.parts if part.shape is Shape.LINE][:1]
    assert wider.texels[0, 0, 3] == pytest.approx(3.0 * ring.texels[0, 0, 3], rel=1e-5)


def test_actuators_are_coloured_by_control_and_ringed_at_their_limits(rich):
    rich.set(actuators=True)
    subject = rich.picture.subject
    np.testing.assert_allclose(actuator_levels(subject), [1.0, -0.5, 0.5])
    assert saturated(subject).tolist() == [True, False, False]
    (hoop,) = rich.parts(Role.SATURATED)
    assert hoop.element(0) == Element(ElementKind.ACTUATOR, 0)
    tendon = [part for part in rich.picture.parts if part.shape is Shape.LINE]
    assert tendon[0].element(0) == Element(ElementKind.ACTUATOR, 2)
    rich.set(actuators=True, activation=True)
    activation = float(rich.scene.data.act[0])
    assert actuator_levels(rich.picture.subject)[2] == pytest.approx(activation, abs=1e-9)


def test_wrap_points_lie_on_the_geom_that_is_wrapped(rich):
    rich.set(tendon_wraps=True)
    (points,) = rich.parts(Role.WRAP)
    center = np.array([0.2, 0.0, 0.9])
    offset = points.texels[:, :3, 3] - center
    np.testing.assert_allclose(np.hypot(offset[:, 0], offset[:, 2]), 0.05, atol=1e-4)
    # The world's own geoms come first: the floor, then the roller.
    assert points.element(0) == Element(ElementKind.GEOM, 1)
