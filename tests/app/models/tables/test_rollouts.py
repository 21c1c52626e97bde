"""What a row of the table of rollouts says when the mouse rests on it."""

from stroboscope.app.models.rollouts import rollout_ref
from stroboscope.app.models.tables.rollouts import rollouts_table
from stroboscope.debugger_protocol.time_messages import RolloutInfo


def test_all_servos_of_an_edit_are_listed_in_lines_that_fit_on_a_screen() -> None:
    servos = [f"rh_A_FFJ{at}" for at in range(100)]
    edits = (f"kp of all 100 servos: 1 → 2 – {', '.join(servos)} [N·m/rad]", "timestep: 2 → 1 s")
    info = RolloutInfo(
        rollout_id=1, name="trial", steps=5, timestep=0.01, time=1.0, edits=edits,
        reproducible="approximate: " + "something has changed " * 9,
    )  # fmt: skip
    (tip,) = rollouts_table([(rollout_ref(1, 1), info)], {}).tips
    lines = tip.splitlines()
    assert lines[0].startswith("changed: kp of all 100 servos: 1 → 2 – rh_A_FFJ0, rh_A_FFJ1, ")
    assert max(map(len, lines)) <= 100
    assert all(servo in tip for servo in servos)
    assert "changed: timestep: 2 → 1 s" in lines


def test_of_many_worlds_it_says_which_one_was_simulated_again() -> None:
    infos = [
        RolloutInfo(rollout_id=at, name="trial", steps=5, timestep=0.01, time=1.0, env=env)
        for at, env in enumerate((3, -1), 1)
    ]
    of_one_world, of_many = (
        rollouts_table([(rollout_ref(1, each.rollout_id), each) for each in chosen], {})
        for chosen in (infos[1:], infos)
    )
    assert "env" not in of_one_world.cells
    cells = of_many.cells["env"]
    assert cells.numbers is not None
    assert cells.present is not None
    assert (cells.numbers[1], cells.present.tolist()) == (3.0, [False, True])
    assert "environment" in [column.title for column in of_many.columns]
