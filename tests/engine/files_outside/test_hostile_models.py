"""Models that want what is not theirs get nothing, and take nothing down with them."""

import ctypes
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import corpus
import msgspec
import pytest
from samples import few

import stroboscope.engine as physics
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.outside.confinement import confine_files
from stroboscope.engine.outside.guard import guarded_model
from stroboscope.engine.outside.limits import GuardLimits

SECONDS = 20.0
# What takes as long as it may, should not take so long.
TIGHT = GuardLimits(wall_s=3.0, cpu_s=3, memory=2 << 30)
GROWTH = 50 << 20
IN_ACCESS, IN_OPEN, IN_NONBLOCK = 0x1, 0x20, 0o4000


@pytest.fixture(autouse=True)
def warm_compilers() -> None:
    """Start them as ever: that is what this is about."""


class OpenedFiles:
    """Tells which files of a folder anybody on this machine has opened (inotify)."""

    def __init__(self, folder: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(IN_NONBLOCK)
        assert self._descriptor >= 0
        watch = libc.inotify_add_watch(
            self._descriptor, os.fsencode(folder), ctypes.c_uint32(IN_OPEN | IN_ACCESS)
        )
        assert watch >= 0

    def names(self) -> set[str]:
        """Return the names of files that were opened or read since the last call."""
        found = set()
        try:
            events = os.read(self._descriptor, 1 << 16)
        except BlockingIOError:
            return found
        at = 0
        while at < len(events):
            *_, length = struct.unpack_from("iIII", events, at)
            found.add(events[at + 16 : at + 16 + length].rstrip(b"\0").decode())
            at += 16 + length
        return found - {""}

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    folder = tmp_path / "secrets"
    corpus.make_secrets(folder)
    return folder


@pytest.fixture
def models(tmp_path: Path, secrets: Path) -> list[Path]:
    folder = tmp_path / "models"
    folder.mkdir()
    return list(corpus.hostile_models(folder, secrets))


@pytest.fixture
def opened(secrets: Path) -> Iterator[OpenedFiles]:
    if sys.platform != "linux":
        pytest.skip("inotify is Linux's")
    watch = OpenedFiles(secrets)
    yield watch
    watch.close()


def builds(models: list[Path], net: str) -> list[tuple[Path, str, str, list[str], float]]:
    """Build each model in a process of its own; return outcome, words, opened files, seconds."""
    script = Path(__file__).with_name("confined_builds.py")
    done = subprocess.run(
        [sys.executable, str(script), net],
        input="\n".join(map(str, models)),
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == len(models), done.stderr
    return [(Path(path), outcome, words, files, s) for path, outcome, words, files, s in rows]


def test_the_watch_on_secrets_sees_whoever_opens_one(secrets: Path, opened: OpenedFiles) -> None:
    (secrets / "secret.obj").read_bytes()
    assert opened.names() == {"secret.obj"}
    assert opened.names() == set()


def test_every_way_out_of_a_models_folder_is_refused_before_mujoco_sees_it(
    models: list[Path], secrets: Path, opened: OpenedFiles
) -> None:
    assert len(models) >= 20
    for path, outcome, words, files, seconds in builds(models, "names"):
        assert outcome == "refused", (path, words)
        assert "CANARY" not in words
        assert not any(str(secrets) in os.path.realpath(file) for file in files), path
        assert seconds < SECONDS
    assert opened.names() == set()


def test_what_is_refused_is_named_with_its_place(models: list[Path], secrets: Path) -> None:
    words = {path.parent.name: text for path, _, text, *_ in builds(models, "names")}
    text = words["01_mesh_absolute"]
    assert str(secrets / "secret.obj") in text
    assert "<mesh file> in model.xml" in text
    assert "lies outside of the folder" in text
    assert "--trust" in text
    assert "which leads to" in words["01_mesh_link"]
    assert "part.xml" in words["through_an_include"]
    assert "DTD or entities, which models" in words["with_a_dtd"]
    assert "Forbidden" not in words["with_a_dtd"]


def test_the_system_refuses_the_same_files_where_names_are_not_looked_at(
    models: list[Path], opened: OpenedFiles
) -> None:
    outcomes = builds(models, "system")
    if any(outcome == "unconfined" for _, outcome, *_ in outcomes):
        pytest.skip("this kernel has no Landlock")
    for path, outcome, words, _, _ in outcomes:
        # MuJoCo passes over a DTD.
        assert outcome == "refused" or path.parent.name == "with_a_dtd", (path, words)
        assert "CANARY" not in words
    assert opened.names() == set()


def test_with_neither_the_same_models_get_what_they_want(
    models: list[Path], opened: OpenedFiles
) -> None:
    outcomes = builds(models, "neither")
    assert sum(outcome == "built" for _, outcome, *_ in outcomes) >= 40
    assert {"secret.obj", "secret.xml", "secret.png", "secret.bin"} <= opened.names()


def test_a_model_that_stays_in_its_folder_is_built_with_all_its_files(tmp_path: Path) -> None:
    own = tmp_path / "own"
    corpus.make_secrets(own)
    (own / "part.xml").write_text(
        '<mujocoinclude><asset><mesh name="m" file="secret.obj"/></asset></mujocoinclude>'
    )
    (own / "model.xml").write_text(
        '<mujoco model="mine"><compiler meshdir="."/><include file="part.xml"/>'
        f'<asset><texture name="t" type="2d" file="{own}/secret.png"/></asset>'
        '<worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>'
    )
    model = guarded_model(own / "model.xml")
    assert model.name == "mine"
    assert model.model.nmesh == 1
    assert model.model.ntex == 1
    assert bytes(model.model.paths) == b"\0"


def resident() -> int:
    """Return this process's memory in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


ASKS = """
import mmap
from stroboscope.engine.outside.confinement import limit_resources
from stroboscope.engine.outside.limits import GuardLimits

limits = GuardLimits()
limit_resources(limits)
allowed = mmap.mmap(-1, limits.memory // 2)  # untouched: addresses alone
try:
    mmap.mmap(-1, limits.memory // 2)
except OSError as error:
    print(limits.memory >> 30, "GiB:", error.strerror)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_a_child_that_asks_for_more_than_four_gibibytes_gets_none() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASKS], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "4 GiB: Cannot allocate memory\n"


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
@pytest.mark.parametrize("limits", few([TIGHT, GuardLimits()], 1), ids=["tight", "ours"])
def test_bombs_are_refused_in_time_and_leave_this_process_as_it_was(
    limits: GuardLimits, tmp_path: Path
) -> None:
    files = []
    for name, text in corpus.BOMBS.items():
        file = tmp_path / f"{name.replace(' ', '_')}.xml"
        file.write_text(text)
        files.append(file)
    before = resident()

    def refusal(file: Path) -> tuple[str, float]:
        start = time.monotonic()
        with pytest.raises(FileError) as error:
            guarded_model(file, limits=limits)
        return str(error.value), time.monotonic() - start

    with ThreadPoolExecutor(3) as pool:
        found = dict(zip(files, pool.map(refusal, files), strict=True))
    for file, (words, seconds) in found.items():
        assert seconds < SECONDS, file
        assert file.name in words
        assert any(
            reason in words
            for reason in ("memory", "took more than", "crashed", "can't build", "DTD")
        ), words
    assert resident() - before < GROWTH


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_or_a_folder_in_place_of_a_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "mesh.obj")
    (tmp_path / "model.xml").write_text(
        '<mujoco><asset><mesh name="m" file="mesh.obj"/></asset></mujoco>'
    )
    os.mkfifo(tmp_path / "pipe.xml")
    for file, words in (
        ("model.xml", "no plain file"), ("pipe.xml", "no plain file"), ("", "a folder"),
        ("nothing.xml", "no such file"),
    ):  # fmt: skip
        with pytest.raises(FileError, match=words):
            guarded_model(tmp_path / file)


def test_confinement_keeps_what_was_allowed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "file").write_text("mine")
    (tmp_path / "outside").write_text("not mine")
    script = f"""
import sys
from stroboscope.engine.outside.confinement import confine_files
if not confine_files(read=[{str(tmp_path / "inside")!r}], write=[]):
    sys.exit(3)
open({str(tmp_path / "inside" / "file")!r}).read()
for name, mode in (({str(tmp_path / "outside")!r}, "r"), ("/etc/passwd", "r"),
                   ({str(tmp_path / "inside" / "new")!r}, "w")):
    try:
        open(name, mode)
    except PermissionError:
        continue
    sys.exit(f"{{name}} could be opened")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode == 3:
        pytest.skip("this kernel has no Landlock")
    assert done.returncode == 0, done.stderr
    # This process itself is free.
    assert callable(confine_files)
    assert (tmp_path / "outside").read_text() == "not mine"


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_names_of_files_may_be_anything(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff\xfe \xe4 'q' \n"
    os.mkdir(folder)
    for name, text in (
        (b"\xf0 good.xml", "<mujoco/>"),
        (b"\xf0 bad.xml", '<mujoco><include file="../x"/></mujoco>'),
    ):
        with open(folder + b"/" + name, "w") as file:
            file.write(text)
    scene = physics.load_scene(os.fsdecode(folder + b"/\xf0 good.xml"))
    assert scene.name == "\\udcf0 good"
    assert scene.world.source.origin == "\\udcf0 good.xml"
    msgspec.json.encode(scene.backend.describe(1, scene.name))
    with pytest.raises(FileError, match="lies outside"):
        guarded_model(os.fsdecode(folder + b"/\xf0 bad.xml"))
