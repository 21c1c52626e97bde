"""Columns of tables have names that people can type, and each has one of its own."""

import random
import sys

import pytest

from stroboscope.debugger_protocol.column_names import column_name, column_names, typed_unit


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("qpos[left hip]", "qpos_left_hip"),
        ("xfrc_applied[world.fx]", "xfrc_applied_world_fx"),
        ("qpos[leg/θ₁]", "qpos_leg_theta1"),
        ("Épaule", "Epaule"),
        ("knie_µ", "knie_mu"),
        ("= xpos['hand'][2]", "xpos_hand_2"),
        ("a\N{THIN SPACE}b\nc,d", "a_b_c_d"),
        ("关节", "u5173u8282"),
        ("ж", "zhe"),
        ("2nd", "_2nd"),
        ("[]", "column"),
        ("", "column"),
        ("\ud800", "column"),
    ],
)
def test_a_label_becomes_a_name_that_can_be_typed(label, name):
    assert column_name(label) == name


def test_no_two_columns_have_one_name():
    labels = ["a b", "a_b", "a_b_2", "a-b", "time", "time"]
    assert column_names(labels) == ["a_b", "a_b_2", "a_b_2_2", "a_b_3", "time", "time_2"]


def test_of_any_labels_names_are_identifiers_of_their_own():
    rng = random.Random(5)
    letters = [chr(rng.randrange(sys.maxunicode + 1)) for _ in range(3000)]
    labels = ["".join(rng.choices(letters, k=rng.randrange(4))) for _ in range(500)]
    names = column_names(labels)
    assert len(set(names)) == len(labels)
    assert all(name.isascii() and name.isidentifier() for name in names)


def test_units_are_ascii_too():
    assert [typed_unit(each) for each in ("rad/s²", "N·m", "m", "")] == ["rad/s^2", "N*m", "m", ""]
