"""What usually is a mistake is found before it happens, with names and numbers; little else is."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.messages import Finding, LogLevel
from stroboscope.engine.lint import RULES, lint
from stroboscope.engine.mujoco_adapter import load_mujoco

Case = Callable[..., Path]
# What most models have, and what is said of it is no more than a remark.
REMARKS = {"autoreset", "energy-flag"}


def look_over(model: mujoco.MjModel, data: mujoco.MjData | None = None) -> list[Finding]:
    """Return findings that are more than remarks about options."""
    data = data or mujoco.MjData(model)
    findings = lint(model, data, adapter=load_mujoco())
    assert {finding.rule for finding in findings} <= set(RULES)
    return [finding for finding in findings if finding.rule not in REMARKS]


def of(xml: str) -> list[Finding]:
    return look_over(mujoco.MjModel.from_xml_string(f"<mujoco>{xml}</mujoco>"))


def only(findings: list[Finding], rule: str) -> Finding:
    assert [finding.rule for finding in findings] == [rule], findings
    return findings[0]


def processor_time(work: Callable[[], object]) -> float:
    """Return what this thread spends on it [s], however busy the machine is; the best of three."""
    times = []
    for _ in range(3):
        begin = time.thread_time()
        work()
        times.append(time.thread_time() - begin)
    return min(times)


def names(finding: Finding, kind: str) -> list[str]:
    return [element.name for element in finding.elements if element.kind == kind]


def test_c01_a_servo_too_stiff_for_its_inertia_is_named_with_its_numbers(case_model: Case) -> None:
    findings = look_over(mujoco.MjModel.from_xml_path(str(case_model("C01"))))
    finding = next(f for f in findings if f.rule == "servo-stability")
    assert finding.level is LogLevel.ERROR
    assert "wrist_servo" in finding.text
    assert names(finding, "actuator") == ["wrist_servo"]
    assert names(finding, "joint") == ["wrist"]
    ratio = re.search(r"kv·dt/I = ([\d.]+)", finding.text)
    assert ratio is not None
    assert float(ratio.group(1)) == pytest.approx(2000.0, rel=1e-3)
    assert "implicitfast" in finding.advice


@pytest.mark.parametrize("remedy", ["implicitfast", "armature"])
def test_c01_what_makes_the_servo_stable_silences_the_rule(remedy: str, case_model: Case) -> None:
    spec = mujoco.MjSpec.from_file(str(case_model("C01")))
    if remedy == "armature":
        spec.joint("wrist").armature = 0.2
    else:
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    findings = look_over(spec.compile())
    assert {finding.rule for finding in findings} == {"unlimited-servo"}


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
@pytest.mark.parametrize("damping", [0.0, 0.02])
@pytest.mark.parametrize("kv", [0.0, 0.05, 0.15, 0.35, 0.45, 2.0])
def test_a_servo_is_called_unstable_exactly_when_it_is(
    integrator: str, damping: float, kv: float
) -> None:
    # kp·dt²/I runs from 0.6 to 9.6.
    for kp in (15.0, 45.0, 90.0, 105.0, 240.0):
        model = mujoco.MjModel.from_xml_string(f"""<mujoco>
          <option timestep="0.002" integrator="{integrator}"/><worldbody><body>
            <joint name="j" axis="0 0 1" limited="true" range="-170 170" damping="{damping}"/>
            <inertial pos="0 0 0" mass="1" diaginertia="1e-4 1e-4 1e-4"/></body></worldbody>
          <actuator><position name="s" joint="j" kp="{kp}" kv="{kv}" ctrlrange="-3 3"/></actuator>
          </mujoco>""")
        model.jnt_limited[0] = 0  # no limit that stops it
        data = mujoco.MjData(model)
        data.qpos[0] = 1e-9
        for _ in range(4000):
            mujoco.mj_step(model, data)
            if not abs(data.qpos[0]) < 1e-3:
                break
        unstable = not abs(data.qpos[0]) < 1e-8
        told = [f for f in look_over(model) if f.rule == "servo-stability"]
        said = bool(told) and told[0].level is LogLevel.ERROR
        margin = re.search("close to instability", told[0].text) if told else None
        assert said == unstable or margin, (kp, kv, damping, integrator, told)


def test_c07_overlaps_are_listed_before_any_step_and_explained(case_model: Case) -> None:
    findings = look_over(mujoco.MjModel.from_xml_path(str(case_model("C07"))))
    assert [f.rule for f in findings] == ["penetration"] * 2
    assert [names(f, "geom") for f in findings] == [["g1", "g2"], ["g1", "g3"]]
    distances = [float(re.search(r"distance (-[\d.]+)", f.text).group(1)) for f in findings]  # type: ignore[union-attr]
    assert distances == pytest.approx([-0.75, -0.50], abs=1e-6)
    for finding in findings:
        assert finding.level is LogLevel.ERROR
        assert "b1 is static" in finding.text
        assert "does not apply to static bodies" in finding.text
    assert "contacts between b2 and b3 are filtered" in findings[1].text
    assert '<exclude body1="b1" body2="b2"/>' in findings[0].advice


@pytest.mark.parametrize(
    ("speed", "timestep", "step_mm"),
    [(2.0, 0.002, 4.0), (20.0, 0.002, 40.0), (20.0, 0.0005, 10.0), (0.5, 0.0005, None)],
)
def test_c12_a_ball_that_can_tunnel_is_told_before_the_run(
    speed: float, timestep: float, step_mm: float | None, case_model: Case
) -> None:
    model = mujoco.MjModel.from_xml_path(str(case_model("C12")))
    model.opt.timestep = timestep
    data = mujoco.MjData(model)
    data.qvel[0] = speed
    findings = look_over(model, data)
    if step_mm is None:
        assert findings == []
        return
    finding = only(findings, "tunnelling")
    assert f"{step_mm:g}\u2009mm per timestep" in finding.text
    assert "wall is 2\u2009mm thick" in finding.text
    assert names(finding, "geom") == ["ball", "wall"]
    data.qvel[0] = -speed
    assert look_over(model, data) == [], "it flies away from the wall"


def test_looking_over_changes_nothing_and_calls_none_of_the_scripts_callbacks(
    case_model: Case,
) -> None:
    scene = physics.create_scene("Wrist", case_model("C01"))
    scene.step()
    names_of = [n for n in dir(mujoco.MjData) if not n.startswith("_")]

    def everything() -> dict[str, np.ndarray]:  # type: ignore[type-arg]
        values = {n: getattr(scene.data, n) for n in names_of if "island" not in n}
        return {n: v.copy() for n, v in values.items() if isinstance(v, np.ndarray)}

    before = everything()
    calls: list[str] = []
    kinds = ("passive", "control", "act_dyn", "act_gain", "act_bias", "sensor", "contactfilter")
    for kind in kinds:
        getattr(mujoco, f"set_mjcb_{kind}")(lambda *_: calls.append("called") or 0)
    try:
        findings = scene.link.backend.findings()
    finally:
        for kind in kinds:
            getattr(mujoco, f"set_mjcb_{kind}")(None)
    assert calls == []
    assert any(f.rule == "servo-stability" for f in findings)
    for name, values in everything().items():
        np.testing.assert_array_equal(values, before[name], name)


def test_worst_findings_come_first_and_many_of_a_kind_are_counted() -> None:
    boxes = "".join(
        f'<body name="b{i}" pos="{i * 0.05} 0 5"><freejoint/><geom size="0.1"/></body>'
        for i in range(20)
    )
    findings = lint_of(f"<worldbody>{boxes}</worldbody>")
    levels = [list(LogLevel).index(f.level) for f in findings]
    assert levels == sorted(levels, reverse=True)
    overlaps = [f for f in findings if f.rule == "penetration"]
    assert len(overlaps) == 8
    more = re.match(r"(\d+) more of the same", overlaps[-1].text)
    assert more is not None
    assert int(more.group(1)) + 7 == sum(range(17, 20))  # neighbours up to three places away


def lint_of(xml: str) -> tuple[Finding, ...]:
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{xml}</mujoco>")
    return lint(model, mujoco.MjData(model), adapter=load_mujoco())


def test_a_weld_that_starts_opened_names_both_ends_and_the_mocap_body() -> None:
    finding = only(
        of("""<worldbody><body name="hand" mocap="true" pos="0 0 1"/>
          <body name="cube" pos="0 0 1.25"><freejoint/><geom size=".01"/></body></worldbody>
          <equality><weld name="grip" body1="hand" body2="cube" relpose="0 0 0 1 0 0 0"/>
          </equality>"""),
        "open-equality",
    )
    assert "250\u2009mm apart" in finding.text
    assert "grip" in finding.text
    assert "hand (mocap_pos" in finding.advice


def test_a_floor_that_nothing_can_touch_is_told() -> None:
    ball = '<body name="ball" pos="0 0 1"><freejoint/><geom size=".1" {}/></body>'
    floor = '<geom name="floor" type="plane" size="1 1 1" contype="1" conaffinity="0"/>'
    masks = 'contype="2" conaffinity="2"'
    missed = only(of(f"<worldbody>{floor}{ball.format(masks)}</worldbody>"), "missed-floor")
    assert names(missed, "body") == ["ball"]
    assert names(missed, "geom") == ["floor"]
    assert of(f"<worldbody>{floor}{ball.format('')}</worldbody>") == []


@pytest.mark.parametrize(
    ("motor", "reason"),
    [
        ('gear="0"', "gear is zero"),
        ('ctrllimited="true" ctrlrange="0 0"', None),  # MuJoCo itself refuses it
        ('forcelimited="true" forcerange="-1 1"', ""),
    ],
)
def test_an_actuator_without_effect_is_told(motor: str, reason: str | None) -> None:
    xml = f"""<worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
      <actuator><motor name="m" joint="j" {motor}/></actuator>"""
    if reason is None:
        with pytest.raises(ValueError, match="range"):
            of(xml)
        return
    findings = of(xml)
    if reason:
        assert reason in only(findings, "idle-actuator").text
    else:
        assert findings == []


def test_light_links_tiny_inertia_and_short_time_constants_are_told() -> None:
    light = of("""<worldbody><body name="rod" pos="0 0 1"><joint axis="0 1 0"/>
      <geom size=".01" mass="0.001"/><body pos="0 0 -1"><joint axis="1 0 0"/>
      <geom size=".1" mass="100"/></body></body></worldbody>""")
    assert names(only(light, "mass-ratio"), "body") == ["rod"]
    tiny = of("""<worldbody><body><joint name="needle" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="1e-4" diaginertia="1e-9 1e-9 1e-9"/></body></worldbody>""")
    assert "needle" in only(tiny, "inertia").text
    twins = of("""<worldbody><body><joint name="outer" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="1e-3" diaginertia="1e-8 1e-8 1e-8"/>
      <body><joint name="inner" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/></body></body></worldbody>""")
    assert names(only(twins, "conditioning"), "joint") == ["outer", "inner"]
    # Beside other trees, too: each is looked at by itself.
    beside = of("""<worldbody><body pos="3 0 0"><freejoint/><geom size=".1"/></body>
      <body><joint name="outer" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="1e-3" diaginertia="1e-8 1e-8 1e-8"/>
      <body><joint name="inner" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/></body></body>
      <body pos="6 0 0"><freejoint/><geom size=".1"/></body></worldbody>""")
    assert names(only(beside, "conditioning"), "joint") == ["outer", "inner"]
    hard = of("""<option timestep="0.01"/><worldbody>
      <geom name="floor" type="plane" size="1 1 1" solref="0.004 1"/></worldbody>""")
    assert "raises it to 2·dt = 0.02" in only(hard, "time-constant").text


@pytest.mark.filterwarnings("ignore")
def test_memory_that_runs_out_at_this_very_state_is_a_finding_and_not_a_failure() -> None:
    model = mujoco.MjModel.from_xml_string("""<mujoco><size memory="20K"/><worldbody>
      <replicate count="12" offset="0 0 .05"><body pos="0 0 .06"><freejoint/>
      <geom type="box" size=".05 .05 .05" mass="1"/></body></replicate></worldbody></mujoco>""")
    findings = look_over(model)
    assert "arena" in {finding.rule for finding in findings}


@pytest.mark.parametrize("model", ["humanoid", "arm", "cart_with_double_pendulum", "empty"])
def test_our_own_models_have_no_findings(model: str, model_path: Callable[[str], Path]) -> None:
    assert look_over(mujoco.MjModel.from_xml_path(str(model_path(model)))) == []


@pytest.mark.parametrize("robot", ["g1", "go1", "yam"])
def test_sound_robots_have_no_findings_and_are_looked_over_in_milliseconds(
    robot: str, robot_model: Callable[[str], Path]
) -> None:
    model = mujoco.MjModel.from_xml_path(str(robot_model(robot)))
    data = mujoco.MjData(model)
    assert look_over(model, data) == []
    assert processor_time(lambda: look_over(model, data)) < 0.25


@pytest.mark.skipif(
    not hasattr(mujoco.mjtTrn, "mjTRN_SO3"), reason="this MuJoCo has one control per actuator"
)
def test_limits_of_an_actuator_behind_one_with_several_controls_are_its_own() -> None:
    text = (
        "<worldbody><body><joint name='b' type='ball'/><geom size='.1' pos='.2 0 0'/><body>"
        "<joint name='j' damping='1'/><geom size='.1' pos='.3 0 0'/></body></body></worldbody>"
        "<actuator><orientation joint='b' kp='1'/><position name='p' joint='j' kp='1' {}/>"
        "</actuator>"
    )
    finding = only(of(text.format("")), "unlimited-servo")
    assert names(finding, "actuator") == ["p"]
    assert of(text.format("ctrlrange='-1 1'")) == []
