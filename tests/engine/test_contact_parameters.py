"""Contact parameters are the contact's own, and each is said to come from where it came from."""

import itertools

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.topics import ParameterOrigin as Origin
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.mujoco_adapter import load_mujoco

Arrays = dict[str, NDArray[np.generic]]
ONLY = frozenset({Topic.CONTACTS})
SUMS = load_mujoco().sums_margins


def contacts_of(model: mujoco.MjModel) -> tuple[Arrays, mujoco.MjData]:
    scene = physics.create_scene("Contacts", model)
    backend = scene.link.backend
    backend.begin_frame(ONLY)
    scene.step()
    return dict(backend.end_frame(ONLY).arrays[Topic.CONTACTS]), scene.data


def two(first: str = "", second: str = "", *, rest: str = "", option: str = "") -> Arrays:
    """Return the contacts of a ball that overlaps a floor."""
    model = mujoco.MjModel.from_xml_string(f"""<mujoco>{option}<worldbody>
      <geom name="floor" type="plane" size="1 1 1" {first}/>
      <body name="ball" pos="0 0 .09"><freejoint/><geom name="ball" size=".1" {second}/></body>
      </worldbody>{rest}</mujoco>""")
    return contacts_of(model)[0]


def origins(arrays: Arrays) -> dict[str, Origin]:
    names = ("condim", "friction", "solref", "solimp", "margin")
    return dict(zip(names, map(Origin, arrays["origin"][0].tolist()), strict=True))


def derived(model: mujoco.MjModel, geoms: tuple[int, int], origin: dict[str, Origin]) -> Arrays:
    """Return the parameters of a contact by following what ``origin`` says, and nothing else."""
    one, other = geoms

    def follow(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        first, second = values[one], values[other]
        mix1, mix2 = model.geom_solmix[one], model.geom_solmix[other]
        share = 0.5 if max(mix1, mix2) < 1e-15 else mix1 / (mix1 + mix2)
        result: NDArray[np.float64] = {
            Origin.SAME: first,
            Origin.GEOM1: first,
            Origin.GEOM2: second,
            Origin.MAXIMUM: np.maximum(first, second),
            Origin.MINIMUM: np.minimum(first, second),
            Origin.SUM: first + second,
            Origin.MIX: share * first + (1 - share) * second,
        }[origin[name]]
        return result

    friction = follow("friction", model.geom_friction)
    margin, gap = follow("margin", model.geom_margin), follow("margin", model.geom_gap)
    return {
        "dim": follow("condim", model.geom_condim),
        "friction": np.maximum(friction[[0, 0, 1, 2, 2]], 1e-5),
        "solref": follow("solref", model.geom_solref),
        "solimp": follow("solimp", model.geom_solimp),
        "includemargin": margin if SUMS else margin - gap,
    }


def test_following_the_origins_gives_the_numbers_that_mujoco_uses() -> None:
    rng = np.random.default_rng(3)
    told: dict[str, set[Origin]] = {}
    for _ in range(300):

        def choose(values: tuple[str, ...]) -> str:
            return values[rng.integers(len(values))]

        def geom() -> str:
            return (
                f'condim="{choose(("1", "3", "4", "6"))}" priority="{choose(("0", "0", "1"))}" '
                f'solmix="{choose(("1", "1", "2.5", "0"))}" '
                f'friction="{choose(("1 .005 .0001", ".4 .01 .002"))}" '
                f'solref="{choose((".02 1", ".05 .7", "-300 -20"))}" '
                f'solimp="{choose((".9 .95 .001", ".8 .99 .01 .4 3"))}" '
                f'margin="{choose(("0", ".01", ".02"))}" gap="{choose(("0", ".004"))}"'
            )

        model = mujoco.MjModel.from_xml_string(f"""<mujoco><worldbody>
          <geom type="plane" size="1 1 1" {geom()}/>
          <body pos="0 0 .09"><freejoint/><geom size=".1" {geom()}/></body></worldbody></mujoco>""")
        arrays, data = contacts_of(model)
        origin = origins(arrays)
        first, second = arrays["geom"][0].tolist()
        for name, values in derived(model, (first, second), origin).items():
            np.testing.assert_allclose(arrays[name][0], values, rtol=1e-12, err_msg=name)
            if name != "dim":
                np.testing.assert_array_equal(arrays[name][0], getattr(data.contact, name)[0])
        for name, source in origin.items():
            told.setdefault(name, set()).add(source)
    mixed = Origin.SUM if SUMS else Origin.MAXIMUM
    by_priority = {Origin.SAME, Origin.GEOM1, Origin.GEOM2}
    assert told["condim"] == by_priority | {Origin.MAXIMUM}
    assert told["friction"] == by_priority | {Origin.MAXIMUM}
    assert told["solref"] == by_priority | {Origin.MIX, Origin.MINIMUM}
    assert told["solimp"] == by_priority | {Origin.MIX}
    assert told["margin"] == {Origin.SAME, mixed}


def test_an_explicit_pair_is_named_whichever_geom_it_lists_first() -> None:
    for first, second in itertools.permutations(("floor", "ball")):
        arrays = two(
            rest=f"""<contact><pair geom1="{second}" geom2="{second}" condim="1"/>
            <pair name="p" geom1="{first}" geom2="{second}" condim="4" friction=".3 .3 .02 .1 .1"
              solref=".03 1" margin=".001"/></contact>""".replace(
                f'<pair geom1="{second}" geom2="{second}" condim="1"/>', ""
            )
        )
        assert set(origins(arrays).values()) == {Origin.PAIR}
        assert arrays["pair"].tolist() == [0]
        assert arrays["dim"].tolist() == [4]
        assert arrays["friction"][0] == pytest.approx([0.3, 0.3, 0.02, 0.1, 0.1])
        assert arrays["solref"][0] == pytest.approx([0.03, 1.0])
    assert two()["pair"].tolist() == [-1]


def test_the_override_flag_is_named_for_what_it_overrides() -> None:
    arrays = two(
        'condim="4"',
        'condim="3"',
        option="""<option o_solref=".05 1" o_margin=".003" o_friction=".2 .2 .1 .1 .1"
          o_solimp=".8 .9 .01 .5 2"><flag override="enable"/></option>""",
    )
    told = origins(arrays)
    assert told.pop("condim") is Origin.MAXIMUM
    assert set(told.values()) == {Origin.OVERRIDE}
    assert arrays["solref"][0] == pytest.approx([0.05, 1.0])
    assert arrays["includemargin"][0] == pytest.approx(0.003)


def test_a_time_constant_that_refsafe_raises_is_shown_raised() -> None:
    raised = two('solref=".001 1"', 'solref=".001 1"')
    assert (raised["clamped"].tolist(), raised["solref"][0, 0]) == ([1], pytest.approx(0.004))
    assert origins(raised)["solref"] is Origin.SAME
    free = two(
        'solref=".001 1"',
        'solref=".001 1"',
        option='<option><flag refsafe="disable"/></option>',
    )
    assert (free["clamped"].tolist(), free["solref"][0, 0]) == ([0], pytest.approx(0.001))
    assert two()["clamped"].tolist() == [0]


def test_meshes_that_collide_as_their_hulls_are_marked() -> None:
    model = mujoco.MjModel.from_xml_string("""<mujoco><asset>
      <mesh name="m" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/></asset><worldbody>
      <geom type="plane" size="1 1 1"/>
      <body pos="0 0 -.002"><freejoint/><geom type="mesh" mesh="m"/></body>
      <body pos="1 0 .09"><freejoint/><geom size=".1"/></body></worldbody></mujoco>""")
    arrays, _ = contacts_of(model)
    kinds = model.geom_type[arrays["geom"]]
    np.testing.assert_array_equal(arrays["hull"], kinds == int(mujoco.mjtGeom.mjGEOM_MESH))
    assert arrays["hull"].any()
    assert not arrays["hull"].any(axis=1).all()


def test_contacts_of_a_flex_say_so() -> None:
    model = mujoco.MjModel.from_xml_string("""<mujoco><worldbody>
      <geom type="plane" size="3 3 1"/>
      <body name="bed" pos="0 0 .005"><flexcomp name="cloth" type="grid" count="4 4 1"
        spacing=".1 .1 .1" radius=".01" dim="2" mass="1"><contact selfcollide="none"/></flexcomp>
      </body>
      </worldbody></mujoco>""")
    arrays, data = contacts_of(model)
    assert len(arrays["dist"]) > 0
    np.testing.assert_array_equal(arrays["flex"], data.contact.flex)
    flexed = (arrays["geom"] < 0).any(axis=1)
    assert flexed.all()
    assert set(arrays["origin"].ravel().tolist()) == {int(Origin.FLEX)}
    assert arrays["force"].shape == (len(flexed), 6)


def test_flexes_touch_each_other_also_where_a_model_has_no_geom_at_all() -> None:
    cloth = """<flexcomp name="{}" type="grid" count="3 3 3" spacing=".05 .05 .05" dim="3"
      radius=".01" pos="0 0 {}"><contact selfcollide="none" condim="3"/></flexcomp>"""
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{cloth.format('a', 0)}{cloth.format('b', 0.11)}</worldbody></mujoco>"
    )
    assert model.ngeom == 0
    arrays, _ = contacts_of(model)
    assert len(arrays["dist"]) > 0
    assert set(arrays["origin"].ravel().tolist()) == {int(Origin.FLEX)}
    assert not arrays["hull"].any()


def test_the_velocity_at_a_contact_is_that_of_the_second_body_against_the_first() -> None:
    model = mujoco.MjModel.from_xml_string("""<mujoco><option gravity="0 0 0"/><worldbody>
      <body name="table" pos="0 0 -.1"><freejoint/><geom type="box" size="1 1 .1" mass="50"/></body>
      <body name="ball" pos="0 0 .09"><freejoint/><geom size=".1"/></body></worldbody></mujoco>""")
    scene = physics.create_scene("Slide", model)
    scene.data.qvel[:3] = (0.5, 0.0, 0.0)
    scene.data.qvel[6:9] = (0.0, 0.3, 0.1)
    scene.data.qvel[9:12] = (2.0, 0.0, 0.0)  # rolls about x: the lowest point moves along +y
    backend = scene.link.backend
    backend.begin_frame(ONLY)
    scene.step()
    arrays = backend.end_frame(ONLY).arrays[Topic.CONTACTS]
    (frame,), (velocity,), (body,) = arrays["frame"], arrays["velocity"], arrays["body"]
    sign = 1.0 if model.body(int(body[1])).name == "ball" else -1.0
    arm = float(0.09 - arrays["pos"][0, 2])
    expected = sign * np.array([-0.5, 0.3 + 2.0 * arm, 0.1])
    assert frame.T @ velocity == pytest.approx(expected, abs=1e-9)
