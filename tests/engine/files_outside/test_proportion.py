"""What a file takes in memory is in proportion to what it has: a word can't ask for gigabytes."""

import os
from pathlib import Path

import msgspec
import mujoco
import pytest
import zstandard
from plain_recording import record_plain
from rewritten_file import rewrite_file

import stroboscope.engine as physics
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.outside.guard import guarded_model
from stroboscope.engine.outside.limits import GuardLimits

BODY = '<body><joint name="hinge"/><geom size=".1"/></body>'
# What takes megabytes, in a hundred bytes each.
GREEDY = {
    "body_user": f'<size nuser_body="10000000"/><worldbody>{BODY}</worldbody>',
    "sensor_user": '<size nuser_sensor="10000000"/><sensor><clock/></sensor>',
    "tex_data": '<asset><texture name="t" type="2d" builtin="flat" width="8192" height="4096"/>'
    "</asset>",
    "hfield_data": '<asset><hfield name="h" nrow="5000" ncol="5000" size="1 1 1 1"/></asset>',
}
SMALL = GuardLimits(small=1 << 20, small_state=1 << 20)


@pytest.mark.parametrize("field", GREEDY)
def test_a_few_words_that_ask_for_much_are_refused_with_the_name_of_what_they_ask_for(
    tmp_path: Path, field: str
) -> None:
    file = tmp_path / "greedy.xml"
    file.write_text(f"<mujoco>{GREEDY[field]}</mujoco>")
    with pytest.raises(FileError, match=rf"greedy\.xml.* bytes, most of them {field} .*at most"):
        guarded_model(file)


def test_numbers_of_the_state_count_as_well(tmp_path: Path) -> None:
    file = tmp_path / "greedy.xml"
    file.write_text('<mujoco><sensor><user dim="1000000"/></sensor></mujoco>')
    assert guarded_model(file).model.nsensordata == 1_000_000
    with pytest.raises(FileError, match=r"its data take .* bytes, most of them sensordata"):
        guarded_model(file, limits=SMALL)


def test_who_brings_much_may_ask_for_much(tmp_path: Path) -> None:
    greedy = GREEDY["body_user"].replace("10000000", "100000")
    file = tmp_path / "model.xml"
    file.write_text(f"<mujoco>{greedy}</mujoco>")
    with pytest.raises(FileError, match="body_user"):
        guarded_model(file, limits=SMALL)
    file.write_text(f"<mujoco><!--{'a' * 5000}-->{greedy}</mujoco>")
    assert guarded_model(file, limits=SMALL).model.nuser_body == 100_000
    # What it names counts, and once.
    file.write_text(f'<mujoco><include file="part.xml"/>{greedy}</mujoco>')
    (tmp_path / "part.xml").write_text(f"<mujoco><!--{'a' * 2000}--><option/></mujoco>")
    with pytest.raises(FileError, match="body_user"):
        guarded_model(file, limits=SMALL)
    (tmp_path / "part.xml").write_text(f"<mujoco><!--{'a' * 5000}--><option/></mujoco>")
    assert guarded_model(file, limits=SMALL).model.nuser_body == 100_000


def test_a_compiled_model_may_be_as_large_as_it_is(tmp_path: Path) -> None:
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco>{GREEDY['body_user'].replace('10000000', '100000')}</mujoco>"
    )
    mujoco.mj_saveModel(model, os.fspath(tmp_path / "model.mjb"))
    assert guarded_model(tmp_path / "model.mjb", limits=SMALL).model.nuser_body == 100_000


def test_a_recorded_model_is_no_larger_than_its_bytes_can_be_meant(tmp_path: Path) -> None:
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{BODY}</worldbody></mujoco>")
    run = record_plain(tmp_path / "run.mcap", model, steps=3, control=lambda step, data: None)
    stream = zstandard.ZstdCompressor().compressobj(size=300 << 20)
    empty = b"".join([*(stream.compress(bytes(1 << 20)) for _ in range(300)), stream.flush()])
    assert len(empty) < 100_000
    path = rewrite_file(
        run.path,
        tmp_path / "empty.mcap",
        record=lambda record: msgspec.structs.replace(record, model="empty.mjb.zst"),
        more={"empty.mjb.zst": empty},
    )
    with physics.load_trajectory(path) as trajectory:
        assert trajectory.frame(1).time > 0.0
        with pytest.raises(FileError, match="declares 314,572,800 bytes and may have at most"):
            trajectory.scene.step()
