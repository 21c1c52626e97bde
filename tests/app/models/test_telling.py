"""What tells names apart that begin alike."""

from stroboscope.app.models.telling import telling_names

GAIN = (
    "actuator_gainprm[0] of FR_hip_joint: 40 → {}, actuator_biasprm[1] of FR_hip_joint: −40 → −{}"
)


def test_names_that_begin_alike_are_told_from_where_they_differ_with_what_it_is_of():
    names = [GAIN.format(120, 120), GAIN.format(80, 80)]
    assert [name[:26] for name in telling_names(names)] == [
        "…FR_hip_joint: 40 → 120, a",
        "…FR_hip_joint: 40 → 80, ac",
    ]
    longer = f"{names[0]}, timestep: 0.002 → 0.001 s"
    shorter, told = telling_names([names[0], longer])
    assert told == "…FR_hip_joint: −40 → −120, timestep: 0.002 → 0.001 s"
    assert shorter == "…FR_hip_joint: −40 → −120"


def test_names_that_are_short_or_differ_from_the_beginning_stay_as_they_are():
    names = ["candidate 11", "candidate 12", "half the timestep", "kp of knee: 1 → 2", ""]
    assert telling_names(names) == names
    assert telling_names(["one and the same", "one and the same"]) == ["one and the same"] * 2
    assert telling_names([]) == []
