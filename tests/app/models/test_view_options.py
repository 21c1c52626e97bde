"""The view's options in the settings."""

import dataclasses
import json

import pytest

from stroboscope.app.models.view_options import (
    FrameMode,
    LabelMode,
    Lighting,
    Quality,
    ViewOptions,
    options_from_dict,
    options_to_dict,
)


def test_options_come_back_from_json_as_they_were():
    options = ViewOptions(
        contacts=True,
        geom_groups=(False, True, False, True, False, True),
        frames=FrameMode.SITE,
        labels=LabelMode.CONTACT_FORCE,
        lighting=Lighting.STUDIO,
        quality=Quality.HIGH,
        force_scale=2.5,
        tendons=False,
    )
    assert options_from_dict(json.loads(json.dumps(options_to_dict(options)))) == options


@pytest.mark.parametrize(
    "damage",
    [
        {"contacts": "yes"},
        {"geom_groups": [True]},
        {"geom_groups": [1, 1, 1, 1, 1, 1]},
        {"labels": "everything"},
        {"quality": 3},
        {"force_scale": True},
        {"force_scale": -1.0},
        {"force_scale": float("nan")},
        {"force_scale": None},
        {"unknown": True},
    ],
)
def test_what_is_of_no_use_is_left_out(damage):
    assert options_from_dict({"joints": True, **damage}) == ViewOptions(joints=True)


def test_options_are_compared_by_value():
    assert dataclasses.replace(ViewOptions(), contacts=True) == ViewOptions(contacts=True)
