"""Recorded inputs run again: the same bits without edits, something else with them."""

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.rollouts import resimulation
from stroboscope.engine.rollouts.resimulation import Resimulation, resimulate
from stroboscope.engine.rollouts.row_source import RecordedRows
from stroboscope.engine.rollouts.stored import StoredRollout

Make = Callable[..., physics.Scene]
StateOf = Callable[[physics.Scene], NDArray[np.float64]]
Array = NDArray[np.float64]


@pytest.fixture
def recorded(state_of: StateOf) -> Callable[..., RecordedRows]:
    """``recorded(scene, 100)``: the rows of that many steps under random inputs."""

    def record(
        scene: physics.Scene, steps: int, between: Callable[[int], None] | None = None
    ) -> RecordedRows:
        rng = np.random.default_rng(7)
        rows = []
        for step in range(steps):
            scene.ctrl[:] = rng.uniform(-1.0, 1.0, scene.model.nu)
            scene.data.qfrc_applied[:] = rng.uniform(-0.1, 0.1, scene.model.nv)
            if between is not None:
                between(step)
            rows.append(state_of(scene))
            scene.step()
        rows.append(state_of(scene))
        return RecordedRows(
            scene.model,
            np.array(rows),
            timesteps=float(scene.model.opt.timestep),
            adapter=load_mujoco(),
            begin=1000,
        )

    return record


def run(
    scene: physics.Scene,
    source: RecordedRows,
    *edits: WhatIf,
    axis: int = 1000,
    steps: int = 0,
) -> StoredRollout:
    result = Resimulation()
    progress = list(
        resimulate(
            source,
            result,
            model=scene.model,
            axis=axis,
            steps=steps,
            edits=edits,
            name="",
            digest=b"",
            adapter=load_mujoco(),
        )
    )
    assert progress == sorted(progress)
    assert result.rollout is not None
    return result.rollout


def rows_of(source: RecordedRows, begin: int, end: int) -> bytes:
    return np.array([source.row(axis) for axis in range(begin, end)]).tobytes()


@pytest.mark.parametrize("model", ["arm", "humanoid", "cart_with_double_pendulum"])
@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "implicit", "RK4"])
def test_without_edits_the_recorded_states_come_out_to_the_bit(
    make_scene: Make, recorded: Callable[..., RecordedRows], model: str, integrator: str
) -> None:
    scene = make_scene(model)
    scene.model.opt.integrator = int(getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}"))
    source = recorded(scene, 80)
    rollout = run(scene, source, axis=1020)
    assert rollout.reproducible == ""
    assert rollout.outcome == "ended"
    assert rollout.from_axis == 1020
    assert rollout.steps == 60
    assert rollout.rows[:-1].tobytes() == rows_of(source, 1020, 1080)
    assert rollout.rows[-1, : 1 + scene.model.nq].tolist() == (
        source.row(1080)[: 1 + scene.model.nq].tolist()
    )


def test_only_the_steps_asked_for_are_run(
    make_scene: Make, recorded: Callable[..., RecordedRows]
) -> None:
    scene = make_scene("arm")
    source = recorded(scene, 40)
    assert run(scene, source, axis=1010, steps=5).steps == 5
    for axis in (999, 1040):
        with pytest.raises(CommandError, match="has the steps 1000 … 1039"):
            run(scene, source, axis=axis)
    with pytest.raises(CommandError, match=r"steps must be 0 \(to the end\) or more, not -3"):
        run(scene, source, steps=-3)


def test_a_change_from_outside_is_said_and_where(
    make_scene: Make, recorded: Callable[..., RecordedRows]
) -> None:
    scene = make_scene("arm")

    def push(step: int) -> None:
        if step == 13:
            scene.data.qvel[0] += 0.5

    rollout = run(scene, recorded(scene, 30, push))
    assert "not reproducible: the recorded state before step 1013" in rollout.reproducible


def test_a_callback_of_the_script_is_not_called(
    make_scene: Make, recorded: Callable[..., RecordedRows]
) -> None:
    scene = make_scene("arm")
    source = recorded(scene, 10)
    calls = []
    mujoco.set_mjcb_control(lambda model, data: calls.append(1))
    try:
        with pytest.raises(CommandError, match=r"not reproducible: script callback \(control\)"):
            run(scene, source)
    finally:
        mujoco.set_mjcb_control(None)
    assert calls == []


def test_the_scene_and_its_model_stay_as_they_are(
    make_scene: Make, recorded: Callable[..., RecordedRows], state_of: StateOf
) -> None:
    scene = make_scene("humanoid")
    source = recorded(scene, 20)
    before = state_of(scene)
    gains = scene.model.actuator_gainprm.copy()
    timestep = scene.model.opt.timestep
    run(
        scene,
        source,
        WhatIf(kind=EditKind.MODEL, name="actuator_gainprm", index=0, values=(2.0,)),
        WhatIf(kind=EditKind.OPTION, name="timestep", values=(timestep / 2,)),
    )
    assert np.array_equal(state_of(scene), before)
    assert np.array_equal(scene.model.actuator_gainprm, gains)
    assert scene.model.opt.timestep == timestep


def edited_by_hand(
    scene: physics.Scene, source: RecordedRows, change: Callable[[Any], None]
) -> Array:
    """Return the positions after the recorded inputs, on a model that was changed by hand."""
    model = mujoco.MjModel.from_xml_path(str(scene.world.source.origin))
    change(model)
    data = mujoco.MjData(model)
    source.put(source.begin, data)
    for axis in range(source.begin, source.end):
        mujoco.mj_setState(model, data, source.inputs(axis), int(mujoco.mjtState.mjSTATE_USER))
        mujoco.mj_step(model, data)
    return np.array(data.qpos)


def test_another_gain_or_armature_does_what_a_model_with_it_does(
    make_scene: Make, recorded: Callable[..., RecordedRows]
) -> None:
    scene = make_scene("arm")
    source = recorded(scene, 50)
    gain = run(scene, source, WhatIf(kind=EditKind.MODEL, name="actuator_gainprm", values=(3.5,)))

    def other_gain(model: Any) -> None:
        model.actuator_gainprm.reshape(-1)[0] = 3.5

    nq = scene.model.nq
    assert np.array_equal(gain.rows[-1, 1 : 1 + nq], edited_by_hand(scene, source, other_gain))
    assert "actuator_gainprm[0] of" in gain.edits[0]
    assert gain.edits[0].endswith("→ 3.5")
    assert gain.name == gain.edits[0]

    def other_armature(model: Any) -> None:
        model.dof_armature[1] = 0.3
        mujoco.mj_setConst(model, mujoco.MjData(model))

    armature = run(
        scene,
        source,
        WhatIf(kind=EditKind.MODEL, name="dof_armature", index=1, values=(0.3,)),
    )
    assert np.array_equal(
        armature.rows[-1, 1 : 1 + nq], edited_by_hand(scene, source, other_armature)
    )
    assert armature.reproducible == ""


def test_constants_that_the_script_has_not_worked_out_are_told_of_beside_the_edit(
    make_scene: Make, recorded: Callable[..., RecordedRows]
) -> None:
    """With a mass alone steps go on with those of before: the edit isn't all that differs."""
    scene = make_scene("arm")
    place = tuple(map(float, scene.model.body_pos[1]))
    same = WhatIf(kind=EditKind.MODEL, name="body_pos", index=3, values=place)
    plain = run(scene, recorded(scene, 20), same)
    assert len(plain.edits) == 1
    scene.model.body_mass[1] *= 1.5
    stale = run(scene, recorded(scene, 20), same)
    assert "mj_setConst" in stale.edits[-1]
    mujoco.mj_setConst(scene.model, mujoco.MjData(scene.model))
    assert len(run(scene, recorded(scene, 20), same).edits) == 1


def test_half_the_timestep_runs_the_same_time_with_the_inputs_of_their_time(
    make_scene: Make, recorded: Callable[..., RecordedRows]
) -> None:
    scene = make_scene("arm")
    source = recorded(scene, 50)
    timestep = float(scene.model.opt.timestep)
    edit = WhatIf(kind=EditKind.OPTION, name="timestep", values=(timestep / 2,))
    rollout = run(scene, source, edit)
    assert rollout.steps == 100
    assert rollout.timestep == timestep / 2
    assert rollout.rows[-1, 0] == pytest.approx(source.row(1050)[0])
    ctrl = slice(*_place(scene, "ctrl"))
    for step in range(100):
        assert np.array_equal(rollout.rows[step, ctrl], source.row(1000 + step // 2)[ctrl]), (
            f"step {step}"
        )


def test_a_longer_timestep_takes_the_inputs_of_their_time_too(
    make_scene: Make, recorded: Callable[..., RecordedRows]
) -> None:
    scene = make_scene("arm")
    source = recorded(scene, 30)
    timestep = float(scene.model.opt.timestep)
    rollout = run(
        scene, source, WhatIf(kind=EditKind.OPTION, name="timestep", values=(1.5 * timestep,))
    )
    assert rollout.steps == 20
    ctrl = slice(*_place(scene, "ctrl"))
    taken = [
        next(a for a in range(30) if np.array_equal(source.row(1000 + a)[ctrl], row[ctrl]))
        for row in rollout.rows[:-1]
    ]
    assert taken == [int(1.5 * step + 1e-6) for step in range(20)]


def _place(scene: physics.Scene, part: str) -> tuple[int, int]:
    from stroboscope.engine.row_layout import RowLayout

    place = RowLayout(scene.model, adapter=load_mujoco()).parts[part]
    return place.start, place.stop


def test_a_control_is_held_and_a_force_is_added(
    make_scene: Make, recorded: Callable[..., RecordedRows]
) -> None:
    scene = make_scene("arm")
    source = recorded(scene, 20)
    rollout = run(
        scene,
        source,
        WhatIf(kind=EditKind.CONTROL, index=1, values=(0.25,)),
        WhatIf(kind=EditKind.FORCE, index=0, values=(1.5,)),
    )
    ctrl, force = _place(scene, "ctrl")[0], _place(scene, "qfrc_applied")[0]
    assert (rollout.rows[:-1, ctrl + 1] == 0.25).all()
    recorded_forces = [source.row(axis)[force] for axis in range(1000, 1020)]
    assert rollout.rows[:-1, force].tolist() == [each + 1.5 for each in recorded_forces]
    assert "held at 0.25" in rollout.edits[0]
    assert "more than recorded by 1.5" in rollout.edits[1]


def test_edits_that_make_it_blow_up_end_with_the_event(
    make_scene: Make, recorded: Callable[..., RecordedRows]
) -> None:
    scene = make_scene("arm")
    source = recorded(scene, 60)
    rollout = run(
        scene,
        source,
        WhatIf(kind=EditKind.FORCE, index=0, values=(9e9,)),
    )
    assert "NaN, Inf or a huge value in" in rollout.outcome
    assert rollout.event_step == rollout.steps < 60
    assert np.isfinite(rollout.rows).all()


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (WhatIf(kind=EditKind.OPTION, name="warp", values=(1.0,)), "no physics option 'warp'"),
        (WhatIf(kind=EditKind.OPTION, name="timestep", values=(2.0,)), "at most 1 s"),
        (WhatIf(kind=EditKind.MODEL, name="nothing", values=(1.0,)), "no field 'nothing'"),
        (WhatIf(kind=EditKind.MODEL, name="timestep", values=(0.1,)), "written option.timestep"),
        (WhatIf(kind=EditKind.MODEL, name="body_parentid", values=(1.0,)), "can't be tried out"),
        (WhatIf(kind=EditKind.MODEL, name="dof_M0", values=(1.0,)), "can't be tried out"),
        (WhatIf(kind=EditKind.MODEL, name="__class__", values=(1.0,)), "no field"),
        (
            WhatIf(kind=EditKind.MODEL, name="dof_armature", index=99, values=(1.0,)),
            "1 from index 99 on do not fit",
        ),
        (
            WhatIf(kind=EditKind.MODEL, name="dof_armature", index=-1, values=(1.0,)),
            "do not fit",
        ),
        (WhatIf(kind=EditKind.MODEL, name="jnt_limited", values=(0.5,)), "0 .off. or 1 .on."),
        (WhatIf(kind=EditKind.CONTROL, index=50, values=(1.0,)), "ctrl has"),
        (WhatIf(kind=EditKind.CONTROL, values=(float("nan"),)), "finite numbers"),
        (WhatIf(kind=EditKind.FORCE, values=()), "at least one value"),
    ],
)
def test_edits_that_do_not_fit_are_refused_in_words(
    make_scene: Make, recorded: Callable[..., RecordedRows], edit: WhatIf, words: str
) -> None:
    scene = make_scene("arm")
    source = recorded(scene, 5)
    with pytest.raises(CommandError, match=words):
        run(scene, source, edit)


def test_it_is_run_in_slices_and_ends_without_a_rollout_when_closed(
    make_scene: Make, recorded: Callable[..., RecordedRows]
) -> None:
    scene = make_scene("humanoid")
    source = recorded(scene, 600)
    result = Resimulation()
    progress = resimulate(
        source,
        result,
        model=scene.model,
        axis=1000,
        steps=0,
        edits=(),
        name="",
        digest=b"",
        adapter=load_mujoco(),
    )
    assert next(progress) == 0.0
    seen = next(progress)
    assert 0.0 < seen < 1.0
    progress.close()  # type: ignore[attr-defined]
    assert result.rollout is None


def test_the_deepest_penetration_is_among_the_numbers(
    make_scene: Make, recorded: Callable[..., RecordedRows]
) -> None:
    scene = make_scene("humanoid")
    source = recorded(scene, 400)
    deepest = run(scene, source).numbers["max penetration [m]"]
    assert 1e-4 < deepest < 0.1


def test_options_of_the_time_hold_again(
    make_scene: Make, recorded: Callable[..., RecordedRows], state_of: StateOf
) -> None:
    scene = make_scene("arm")
    scene.model.opt.gravity[:] = (0.0, 0.0, -3.0)
    source = recorded(scene, 20)
    scene.model.opt.gravity[:] = (0.0, 0.0, -9.81)
    assert "not reproducible" in run(scene, source).reproducible
    source.options = {"gravity": (0.0, 0.0, -3.0)}
    assert run(scene, source).reproducible == ""
    assert scene.model.opt.gravity[2] == -9.81


CROWD = """
<mujoco><option timestep="0.002"/><size memory="20K"/><worldbody>
  <geom type="plane" size="3 3 .1"/>{boxes}</worldbody></mujoco>
"""


def test_more_memory_lets_contacts_be_that_found_none(
    recorded: Callable[..., RecordedRows],
) -> None:
    boxes = "".join(
        f'<body pos="{0.3 * i} 0 .12"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
        for i in range(8)
    )
    scene = physics.create_scene("crowd", CROWD.format(boxes=boxes))
    rows = []
    layout = np.empty(mujoco.mj_stateSize(scene.model, mujoco.mjtState.mjSTATE_INTEGRATION))
    for _ in range(120):
        mujoco.mj_getState(
            scene.model, scene.data, layout, int(mujoco.mjtState.mjSTATE_INTEGRATION)
        )
        rows.append(layout.copy())
        try:
            scene.step()
        except physics.StepFailedError:
            break
    source = RecordedRows(scene.model, np.array(rows), timesteps=0.002, adapter=load_mujoco())
    short = run(scene, source, axis=0)
    assert "memory" in short.outcome
    more = WhatIf(kind=EditKind.OPTION, name="memory", values=(float(1 << 20),))
    long = run(scene, source, more, axis=0)
    assert long.outcome == "ended"
    assert long.edits == ("memory: 20K → 1M",)
    assert long.steps == source.end
    with pytest.raises(CommandError, match="memory must be 20K"):
        run(scene, source, WhatIf(kind=EditKind.OPTION, name="memory", values=(5.0,)), axis=0)


def test_what_would_take_too_much_memory_is_cut_and_that_is_said(
    make_scene: Make, recorded: Callable[..., RecordedRows], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = make_scene("arm")
    source = recorded(scene, 50)
    monkeypatch.setattr(resimulation, "_MOST_STEPS", 30)
    cut = run(scene, source)
    assert (cut.steps, cut.reproducible) == (30, "")
    assert cut.outcome == "ended after 30 steps: more would take too much memory"
    timestep = float(scene.model.opt.timestep)
    for other in (1e-9, timestep / 2):
        edit = WhatIf(kind=EditKind.OPTION, name="timestep", values=(other,))
        assert "ended after 30 steps" in run(scene, source, edit).outcome
    assert run(scene, source, steps=30).outcome == "ended"


def test_what_is_computed_of_it_later_has_its_options(
    make_scene: Make, recorded: Callable[..., RecordedRows]
) -> None:
    scene = make_scene("arm")
    source = recorded(scene, 5)
    edit = WhatIf(kind=EditKind.OPTION, name="gravity", values=(0.0, 0.0, -1.0))
    rollout = run(scene, source, edit)
    assert rollout.model.opt.gravity[2] == -1.0
    assert rollout.nbytes > rollout.rows.nbytes
    plain = run(scene, source)
    assert plain.nbytes == plain.rows.nbytes  # whoever keeps it has one copy for all of them


def test_beyond_what_was_recorded_the_last_inputs_are_held(
    make_scene: Make, recorded: Callable[..., RecordedRows]
) -> None:
    scene = make_scene("arm")
    source = recorded(scene, 40)
    plain = run(scene, source, axis=1030, steps=25)
    assert (plain.steps, plain.outcome, plain.reproducible) == (25, "ended", "")
    assert plain.edits == ("the last inputs are held for 15 steps",)
    ctrl = slice(*_place(scene, "ctrl"))
    last = source.row(1039)[ctrl].tolist()
    assert [row.tolist() for row in plain.rows[9:, ctrl]] == [last] * 17
    half = WhatIf(kind=EditKind.OPTION, name="timestep", values=(scene.model.opt.timestep / 2,))
    finer = run(scene, source, half, axis=1030, steps=25)
    assert finer.steps == 50
    assert len(finer.edits) == 2
    assert finer.rows[-1, 0] == pytest.approx(plain.rows[-1, 0])
    assert [row.tolist() for row in finer.rows[18:, ctrl]] == [last] * 33
