"""What a model may name, and how much of it."""

import os
import random
from pathlib import Path

import pytest

from stroboscope.engine.files.errors import FileDamagedError, FileError, FileFormatError
from stroboscope.engine.outside.limits import GuardLimits
from stroboscope.engine.outside.named_files import NamedFiles


def check(path: Path, root: Path | None = None, **limits: int) -> None:
    NamedFiles(path, root=root or path.parent, limits=GuardLimits(**limits)).check()


def write(folder: Path, **files: str) -> Path:
    """Write ``name="text"`` as name.xml each; return the first."""
    for name, text in files.items():
        (folder / f"{name}.xml").write_text(text)
    return folder / f"{next(iter(files))}.xml"


def include(*names: str) -> str:
    return "<mujoco>" + "".join(f'<include file="{name}.xml"/>' for name in names) + "</mujoco>"


def test_files_in_its_own_folder_and_below_may_be_named_in_every_way(tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "a.obj").write_text("")
    (tmp_path / "meshes" / "more.xml").write_text(include("again"))
    (tmp_path / "meshes" / "again.xml").write_text("<mujoco/>")
    os.symlink("meshes", tmp_path / "linked")
    model = write(
        tmp_path,
        model=f"""<mujoco><compiler meshdir="./meshes/../meshes/"/>
        <include file="meshes/more.xml"/><include file="{tmp_path}/meshes/again.xml"/>
        <asset><mesh file="a.obj"/><mesh file="linked/a.obj"/><mesh file="missing.obj"/>
        <mesh file="{tmp_path}/meshes/a.obj"/></asset>
        <worldbody><light dir="0 0 -1"/></worldbody></mujoco>""",
    )
    check(model)


def test_a_trusted_folder_above_lets_it_name_what_is_beside_it(tmp_path: Path) -> None:
    (tmp_path / "urdf").mkdir()
    model = write(tmp_path / "urdf", robot='<robot><mesh filename="package://../a.stl"/></robot>')
    with pytest.raises(FileFormatError, match="lies outside"):
        check(model)
    check(model, root=tmp_path)


def test_a_folder_with_the_same_beginning_is_another_one(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own secrets").mkdir()
    model = write(tmp_path / "own", model=include("../own secrets/a"))
    with pytest.raises(FileFormatError, match="lies outside"):
        check(model)


def test_includes_that_go_round_in_circles_end(tmp_path: Path) -> None:
    check(write(tmp_path, a=include("b", "c"), b=include("a", "b"), c=include("a")))


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"xml_files": 5}, "includes more than 5 files"),
        ({"xml_depth": 4}, "nested deeper than 4"),
        ({"named_files": 0}, "names more than 0 files"),
        ({"xml_bytes": 20}, "has more than 20 bytes"),
    ],
)
def test_more_than_the_limits_is_refused(
    limits: dict[str, int], words: str, tmp_path: Path
) -> None:
    chain = {f"f{number}": include(f"f{number + 1}") for number in range(9)}
    model = write(tmp_path, **chain, f9="<mujoco/>")
    check(model)
    with pytest.raises(FileFormatError, match=words):
        check(model, **limits)


def test_more_folders_than_the_limit_are_refused(tmp_path: Path) -> None:
    text = "".join(f'<compiler meshdir="d{number}"/>' for number in range(20))
    with pytest.raises(FileFormatError, match="more than 10 folders"):
        check(write(tmp_path, model=f"<mujoco>{text}</mujoco>"), folders=10)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "big.obj").open("wb") as file:
        file.truncate(2000)
    model = write(tmp_path, model='<mujoco><asset><mesh file="big.obj"/></asset></mujoco>')
    check(model)
    with pytest.raises(FileFormatError, match="has 2,000 bytes; at most 1,000"):
        check(model, file_bytes=1000)


@pytest.mark.parametrize("text", ["", "<mujoco>", "<a></b>", "\x00", "<mujoco a='1' a='2'/>", "&"])
def test_what_is_no_xml_is_damage(text: str, tmp_path: Path) -> None:
    with pytest.raises(FileDamagedError, match="no XML"):
        check(write(tmp_path, model=text))


def test_random_bytes_are_a_file_error(tmp_path: Path) -> None:
    rng = random.Random(3)
    good = include("b").encode()
    for _ in range(300):
        content = bytearray(good)
        for _ in range(rng.randrange(1, 4)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        (tmp_path / "model.xml").write_bytes(content)
        try:
            check(tmp_path / "model.xml")
        except FileError:
            continue
