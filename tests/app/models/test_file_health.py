"""What is wrong with a file is one sentence that says what is lost and what is left."""

import pytest

from stroboscope.app.models.file_health import CheckedFile, LostFrames, RepairedFile

LOST = LostFrames("Arm", 80, 96, 80, 95)


def checked(*lost, closed=True, damage=(), frames=1304, everything=True):
    return CheckedFile(
        closed=closed,
        everything=everything,
        frames={"Arm": frames},
        lost=tuple(lost),
        damage=tuple(damage),
    )


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            checked(LOST, damage=["block 5"]),
            "run.mcap is damaged: frames 80 to 95 of Arm are lost, 1 304 frames can be read.",
        ),
        (
            checked(LostFrames("Arm", 7, 8, 7, 7), frames=1, damage=["block 5"]),
            "run.mcap is damaged: frame 7 of Arm is lost, 1 frame can be read.",
        ),
        (
            checked(damage=["the checksum of all data is wrong"]),
            "run.mcap is damaged: no frame is lost, 1 304 frames can be read.",
        ),
        (
            checked(closed=False),
            "run.mcap was never closed: its recorder was killed, or its machine went down. "
            "All that was written can be read: 1 304 frames.",
        ),
        (
            checked(LostFrames("Arm", -1, -1, 1080, 1095), closed=False, damage=["a chunk"]),
            "run.mcap was never closed: its recorder was killed, or its machine went down. "
            "Physics steps 1 080 to 1 095 of Arm are lost, 1 304 frames can be read.",
        ),
        (
            checked(LOST, LOST, LOST, LOST, damage=["much"]),
            "run.mcap is damaged: frames 80 to 95 of Arm, frames 80 to 95 of Arm and more at "
            "2 other places are lost, 1 304 frames can be read.",
        ),
    ],
)
def test_a_sentence_says_what_is_lost_and_what_is_left(found, text):
    assert found.headline("run.mcap").replace("\u202f", " ") == text
    assert not found.is_whole


def test_lost_steps_are_those_of_one_scene_that_are_known_oldest_first():
    later, earlier = LostFrames("Arm", 80, 96, 180, 195), LostFrames("Arm", 7, 8, 7, 7)
    unknown, other = LostFrames("Arm", 30, 40, -1, -1), LostFrames("Leg", 0, 16, 0, 15)
    found = checked(later, unknown, other, earlier, later)
    assert found.lost_steps("Arm") == (earlier, later)
    assert found.lost_steps("Leg") == (other,)
    assert found.lost_steps("Hand") == ()


@pytest.mark.parametrize(
    ("lost", "place"),
    [
        (LOST, "frames 80 to 95"),
        (LostFrames("Arm", 7, 8, 7, 7), "frame 7"),
        (LostFrames("Arm", 0, 16, 1000, 1150), "frames 0 to 15 (physics steps 1 000 to 1 150)"),
        (LostFrames("Arm", -1, -1, 1080, 1095), "physics steps 1 080 to 1 095"),
        (LostFrames("Arm", 30, 40, -1, -1), "frames 30 to 39"),
    ],
)
def test_a_place_has_steps_where_they_are_not_the_numbers_of_its_frames(lost, place):
    assert lost.place.replace("\u202f", " ") == place


def test_a_closed_file_without_damage_is_whole():
    assert checked().is_whole


def test_details_have_every_place_and_say_what_was_not_looked_at():
    found = checked(LOST, LOST, LOST, damage=["at byte 8: it is wrong"], everything=False)
    lines = found.details("run.mcap").split("\n")
    assert lines[1:] == [
        "at byte 8: it is wrong",
        "lost: frames 80 to 95 of Arm",
        "It is too large to compare all of its checksums while it is opened: "
        "stroboscope verify run.mcap does",
    ]


def test_a_repaired_file_says_what_is_in_it():
    made = RepairedFile(path="/x", frames={"Arm": 2000, "Leg": 1}, lost=("mesh",))
    assert made.summary().replace("\u202f", " ") == (
        "2 000 frames of Arm and 1 frame of Leg; lost: mesh"
    )
