"""The legend, and labels that cover neither it nor each other."""

import numpy as np
import pytest
from samples import few

from stroboscope.app.models.overlays import Amount, Role
from stroboscope.app.models.view_options import LabelMode
from stroboscope.app.view3d.labels import labels_of
from stroboscope.app.view3d.overlays.legend import legend_rows, scale_text
from stroboscope.app.view3d.overlays.sizes import LONGEST
from stroboscope.resources.themes import DARK, LIGHT

THIN = "\u202f"
MANY = """
<mujoco><worldbody>
 <body name="falling" pos="0 0 .3"><freejoint/><geom name="box" type="box" size=".1 .1 .1"/></body>
 <geom name="floor" type="plane" size="1 1 .1"/>
 {sites}
</worldbody></mujoco>"""


def _many(count):
    sites = "".join(
        f'<site name="site number {i}" pos="{0.002 * i} {0.004 * (i % 7)} .1"/>'
        for i in range(count)
    )
    return MANY.format(sites=sites)


@pytest.mark.parametrize(
    ("metres", "unit", "text"),
    [
        (0.01 / 20.0, "N", "1 cm = 20 N"),
        (0.1 / 9.1, "N", "10 cm = 9.1 N"),
        (0.01 / 137.0, "N", "1 cm = 140 N"),
        (2.0, "m/s", "1 m = 0.5 m/s"),
        (0.0, "N", ""),
    ],
)
def test_scales_are_round_lengths_with_readable_numbers(metres, unit, text):
    found = scale_text(metres, unit).replace(THIN, " ")
    if metres == 0.1 / 9.1:
        assert found in ("10 cm = 9.1 N", "1 m = 91 N")
    else:
        assert found == text


def test_what_is_switched_on_and_not_there_is_said(engine_view):
    shown = engine_view(_many(1))
    shown.set(contacts=True, contact_forces=True, com=True, legend=True)
    rows = {row.text: row for row in legend_rows(shown.picture)}
    assert set(rows) == {"contact", "contact force", "centre of mass"}
    assert not rows["contact force"].present
    assert rows["centre of mass"].present
    for _ in range(200):
        shown.scene.step()
    shown.feed()
    rows = {row.text: row for row in legend_rows(shown.picture)}
    assert rows["contact force"].present
    assert rows["contact force"].scale.endswith("N")


ROPES = """
<mujoco><worldbody><body name="arm" pos="0 0 1"><joint name="swing" axis="0 1 0"/>
<geom size=".1" pos=".3 0 0" mass="1"/><site name="a" pos=".3 0 0"/></body>
<body name="ball" pos="1 0 .1"><freejoint/><geom size=".1" mass="1"/></body>
<geom name="floor" type="plane" size="2 2 .1"/><site name="b" pos="0 0 1.5"/></worldbody>
<tendon><spatial name="loose" rgba=".2 .4 .6 1"><site site="a"/><site site="b"/></spatial>
<spatial name="tight" rgba=".2 .4 .6 1" limited="true" range="0 .1"><site site="a"/>
<site site="b"/></spatial></tendon></mujoco>"""


def test_tendons_and_islands_have_the_colours_they_are_drawn_with(engine_view):
    shown = engine_view(ROPES)
    shown.set(legend=True, tendons=True, islands=True)
    for _ in range(20):
        shown.scene.step()
    shown.feed()
    rows = {row.text: row for row in legend_rows(shown.picture)}
    assert rows["tendon"].color == pytest.approx((0.2, 0.4, 0.6, 1.0), abs=1e-3)
    assert rows["tendon at its limit"].color[0] > 0.8
    islands = [row for text, row in rows.items() if text.startswith("island ")]
    assert len(islands) == 2
    tints = {f"{t[:3].round(2)}" for t in shown.picture.tints if t[3] > 0.0}
    colors = {f"{np.float32(row.color[:3]).round(2)}" for row in islands}
    assert colors == tints


def test_colours_of_islands_are_not_taken_for_sleep(engine_view):
    shown = engine_view(ROPES)
    shown.set(legend=True, islands=True, sleep=True)
    for _ in range(20):
        shown.scene.step()
    shown.feed()
    rows = {row.text: row for row in legend_rows(shown.picture)}
    assert not rows["asleep"].present


def test_the_legend_stands_in_its_corner_and_says_what_it_leaves_out(engine_view):
    shown = engine_view(_many(1))
    legend = shown.view._legend
    assert not legend.isVisible()
    shown.set(
        contacts=True,
        contact_forces=True,
        contact_normals=True,
        contact_torques=True,
        joints=True,
        com=True,
        subtree_com=True,
        inertia=True,
        velocities=True,
        accelerations=True,
        applied_forces=True,
        autoconnect=True,
        cameras=True,
        lights=True,
        sleep=True,
        legend=True,
    )
    shown.view.resize(500, 260)
    shown.view.draw_now()
    assert legend.isVisible()
    assert legend.rows[-1].text.startswith("+")
    assert shown.view.rect().contains(legend.geometry())
    assert legend.height() < 0.65 * 260
    shown.set(contacts=True)
    shown.view.draw_now()
    assert not legend.isVisible()


def test_labels_cover_neither_each_other_nor_the_legend_and_the_rest_is_counted(engine_view):
    shown = engine_view(_many(120))
    shown.set(labels=LabelMode.SITE, com=True, legend=True)
    shown.view.draw_now()
    overlay = shown.view._overlay
    boxes = [box for box, _ in overlay._boxes]
    assert len(boxes) > 10
    assert len(boxes) + overlay._missing == 120
    assert overlay._missing > 0
    legend = shown.view._legend.geometry().toRectF()
    for index, box in enumerate(boxes):
        assert not box.intersects(legend)
        assert not any(box.intersects(other) for other in boxes[:index])


def test_contacts_are_labelled_with_their_geoms_and_with_their_forces(engine_view):
    shown = engine_view(_many(1), steps=300)
    shown.set(labels=LabelMode.CONTACT)
    labels, _ = labels_of(shown.picture, view=shown.view.view(), size=(640.0, 480.0))
    assert {label.text for label in labels} == {"floor – box"}
    shown.set(labels=LabelMode.CONTACT_FORCE)
    labels, _ = labels_of(shown.picture, view=shown.view.view(), size=(640.0, 480.0))
    total = sum(float(label.text.split(THIN)[0]) for label in labels)
    assert total == pytest.approx(8.0 * 9.81, rel=0.02)


@pytest.mark.parametrize("mode", few(LabelMode, 5))
def test_every_kind_of_label_can_be_chosen(engine_view, mode):
    shown = engine_view(_many(2), steps=2)
    shown.set(labels=mode)
    shown.view.draw_now()
    assert shown.view.isVisible()


PRESS = """
<mujoco><worldbody><geom name="floor" type="plane" size="2 2 .1"/>
<body name="press" pos="0 0 .095"><freejoint/><geom name="box" type="box" size=".1 .1 .1"
mass="1"/></body></worldbody></mujoco>"""


def test_a_force_of_tonnes_is_a_broken_arrow_and_the_legend_says_from_where_on(engine_view):
    shown = engine_view(PRESS)
    shown.set(contacts=True, contact_forces=True, legend=True)
    calm = {row.text for row in legend_rows(shown.picture)}
    assert "not to scale" not in calm
    shown.scene.data.xfrc_applied[1, 2] = -2e5
    for _ in range(3):
        shown.scene.step()
    shown.feed()
    rows = legend_rows(shown.picture)
    broken = next(row for row in rows if row.broken)
    before = rows[rows.index(broken) - 1]
    assert before.text == "contact force"
    assert broken.text == "not to scale"
    most = shown.picture.subject.sizes.largest_to_scale(Amount.FORCE)
    assert broken.scale.replace(THIN, " ") == f"over {float(f'{most:.2g}'):g} N"
    (force,) = shown.parts(Role.CONTACT_FORCE)
    assert force.any_broken
    longest = np.linalg.norm(force.texels[:, 1, :3], axis=1).max()
    assert longest <= LONGEST * shown.picture.subject.sizes.extent * 1.0001


def test_arrows_in_the_light_theme_have_a_dark_line_round_them(engine_view, pixels, near):
    shown = engine_view(PRESS)
    shown.set(contact_forces=True, xray=False, shadows=False, reflections=False)
    shown.scene.data.xfrc_applied[1, 2] = -2e5
    for _ in range(3):
        shown.scene.step()
    shown.feed()
    dark = {}
    for palette in (DARK, LIGHT):
        shown.view.set_theme(palette)
        shown.set(contact_forces=False, xray=False, shadows=False, reflections=False)
        without = pixels(shown.view)
        shown.set(contact_forces=True, xray=False, shadows=False, reflections=False)
        drawn = pixels(shown.view)
        changed = np.abs(drawn - without).max(axis=2) > 0.04
        assert near(drawn, Role.CONTACT_FORCE.value)[changed].sum() > 100
        dark[palette.name] = (changed & (drawn.max(axis=2) < 0.3)).sum()
    assert dark["light"] > 200
    assert dark["dark"] < 0.1 * dark["light"]
