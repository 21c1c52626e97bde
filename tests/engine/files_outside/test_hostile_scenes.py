"""Scene files from strangers, whole, through the one entrance: refused in time, nothing grows."""

import hashlib
import io
import json
import os
import struct
import sys
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import stroboscope.engine as physics
from stroboscope.engine.files.bundle import pack_archive
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.outside.guard import guarded_model

SECONDS = 20.0
GROWTH = 50 << 20
MODEL = "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>"


def resident() -> int:
    """Return this process's memory in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def good(tmp_path: Path) -> dict[str, bytes]:
    """The members of a scene that is all right."""
    file = physics.create_scene("Ball", MODEL).export(tmp_path / "good.strobe")
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def scene_with(good: dict[str, bytes], changes: dict[str, bytes], **manifest: object) -> bytes:
    """Return a scene of other members, whose manifest believes in them."""
    content = good | changes
    kept = json.loads(content["manifest.json"]) | manifest
    for name, data in content.items():
        if name != "manifest.json":
            kept["members"][name] = hashlib.sha256(data).hexdigest()
    content["manifest.json"] = json.dumps(kept).encode()
    return pack_archive(content)


def portable(good: dict[str, bytes], members: dict[str, bytes]) -> bytes:
    """Return a scene whose portable model is that archive, and is needed."""
    return scene_with(good, {"model.mjz": pack_archive(members)}, engine_version="4.0.99")


def many_entries() -> bytes:
    entry = struct.pack(
        "<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 20, 20, 0, 0, 0, 33, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0
    )
    directory = b"".join(entry + f"{number:06}".encode() for number in range(100_000))
    head = b"PK\x03\x04" + bytes(22) + struct.pack("<HH", 13, 0) + b"manifest.json"
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 34464, 34464, len(directory), len(head), 0)
    return head + directory + end


def bomb() -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", "{}")
        with archive.open("model.mjb", "w", force_zip64=False) as member:
            for _ in range(900):
                member.write(bytes(1 << 20))
    return output.getvalue()


INCLUDE = b'<mujoco><include file="/etc/passwd"/></mujoco>'
SCENES: dict[str, tuple[Callable[[dict[str, bytes]], bytes], str]] = {
    "entries": (lambda good: many_entries(), "entries"),
    "bomb": (lambda good: bomb(), "unpacks"),
    "slip": (lambda good: scene_with(good, {"../evil": b"x"}), "outside of the archive"),
    "include in the portable model": (
        lambda good: portable(good, {"model.xml": INCLUDE}), "lies outside of the folder",
    ),
    "slip in the portable model": (
        lambda good: portable(good, {"model.xml": MODEL.encode(), "../../evil": b"x"}),
        "outside of the archive",
    ),
    "archive in the portable model": (
        lambda good: portable(good, {"model.xml": MODEL.encode(), "more.mjz": b"PK"}),
        "archives in it",
    ),
    "portable bomb": (
        lambda good: portable(good, {"model.xml": b"<mujoco>" + b" " * (80 << 20)}),
        "has more than 67,108,864 bytes",
    ),
    "no portable model inside": (
        lambda good: portable(good, {"readme": b"x"}), "no MJCF file in it",
    ),
    "manifest of nonsense": (
        lambda good: pack_archive({"manifest.json": b"[" * 100_000}), "can't be read",
    ),
    "a model of nonsense": (
        lambda good: scene_with(good, {"model.mjb": b"x" * 1000}), "MuJoCo can't build it",
    ),
    "another engine": (lambda good: scene_with(good, {}, engine="bullet"), "'bullet'"),
}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_hostile_scenes_are_refused_in_time_and_leave_this_process_as_it_was(
    good: dict[str, bytes], tmp_path: Path
) -> None:
    files = {}
    for name, (make, words) in SCENES.items():
        file = tmp_path / f"{name.replace(' ', '_')}.strobe"
        file.write_bytes(make(good))
        files[file] = words
    before = resident()

    def refusal(file: Path) -> tuple[str, float]:
        start = time.monotonic()
        with pytest.raises(FileError) as error:
            guarded_model(file)
        return str(error.value), time.monotonic() - start

    with ThreadPoolExecutor(3) as pool:
        found = dict(zip(files, pool.map(refusal, files), strict=True))
    for file, (text, seconds) in found.items():
        assert files[file] in text
        assert file.name in text
        assert seconds < SECONDS
    assert resident() - before < GROWTH
    assert not (tmp_path.parent / "evil").exists()


def test_the_scene_they_are_made_of_is_opened(good: dict[str, bytes], tmp_path: Path) -> None:
    file = tmp_path / "all right.strobe"
    file.write_bytes(scene_with(good, {}))
    assert guarded_model(file).exact
    file.write_bytes(portable(good, {"model.xml": MODEL.encode()}))
    assert not guarded_model(file).exact


def test_nothing_is_left_behind_of_what_was_unpacked(
    good: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    file = tmp_path / "file.strobe"
    for content in (
        portable(good, {"model.xml": MODEL.encode(), "a/b/c.obj": b"x"}),
        portable(good, {"model.xml": INCLUDE}),
    ):
        file.write_bytes(content)
        try:
            guarded_model(file)
        except FileError:
            continue
    assert list(scratch.iterdir()) == []
