"""What tells names apart that begin alike."""

from stroboscope.app.models.telling import elided_apart, telling_names

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


def test_names_that_would_be_cut_to_the_same_text_are_shown_from_where_they_differ():
    def middle(name):
        return name if len(name) <= 20 else f"{name[:9]}…{name[-10:]}"

    def end(name):
        return name if len(name) <= 20 else f"{name[:19]}…"

    names = [
        "kp of all 12 servos: 40 → 80 · xpos[trunk_base_joint.z]",
        "kp of all 12 servos: 40 → 160 · xpos[trunk_base_joint.z]",
        "xpos[trunk_base_joint.z]",
        "short",
    ]
    assert elided_apart(names, middle, end) == [
        "…40 → 80 · xpos[tru…",
        "…40 → 160 · xpos[tr…",
        "xpos[trun…e_joint.z]",
        "short",
    ]
    assert elided_apart([], middle, end) == []
    assert elided_apart([names[0], names[0]], middle, end) == [middle(names[0])] * 2
