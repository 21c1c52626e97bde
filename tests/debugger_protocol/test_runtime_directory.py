"""The directory where secrets lie: ours alone, or none."""

import os
import stat

import pytest

from stroboscope.debugger_protocol.exceptions import RuntimeDirectoryError
from stroboscope.debugger_protocol.runtime_directory import (
    check_private_directory,
    find_runtime_directory,
)

posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners are POSIX's")


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "runtime"
    monkeypatch.setenv("STROBOSCOPE_RUNTIME_DIR", str(path))
    return path


@posix
def test_a_missing_directory_is_made_for_us_alone_whatever_the_umask(chosen):
    chosen.parent.mkdir()
    before = os.umask(0)
    try:
        assert find_runtime_directory() == chosen
    finally:
        os.umask(before)
    assert stat.S_IMODE(chosen.stat().st_mode) == 0o700


def test_an_existing_directory_of_ours_is_used_as_it_is(chosen):
    find_runtime_directory()
    (chosen / "file").touch()
    assert find_runtime_directory() == chosen
    assert (chosen / "file").exists()


def test_looking_without_creating_leaves_nothing_behind(chosen):
    assert find_runtime_directory(create=False) == chosen
    assert not chosen.exists()


@posix
def test_a_link_is_refused_even_to_a_directory_of_ours(chosen, tmp_path):
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    chosen.parent.mkdir()
    chosen.symlink_to(target)
    with pytest.raises(RuntimeDirectoryError, match="is a link"):
        find_runtime_directory()
    with pytest.raises(RuntimeDirectoryError, match="is a link"):
        find_runtime_directory(create=False)


@posix
def test_a_dangling_link_is_refused_and_not_followed(chosen, tmp_path):
    chosen.parent.mkdir()
    chosen.symlink_to(tmp_path / "nowhere")
    with pytest.raises(RuntimeDirectoryError, match="is a link"):
        find_runtime_directory()
    assert not (tmp_path / "nowhere").exists()


def test_a_file_in_its_place_is_refused(chosen):
    chosen.parent.mkdir()
    chosen.touch()
    with pytest.raises(RuntimeDirectoryError, match="not a directory"):
        find_runtime_directory()


@posix
@pytest.mark.parametrize("mode", [0o701, 0o710, 0o750, 0o755, 0o777, 0o1777])
def test_a_directory_that_others_can_enter_is_refused_with_what_to_do(chosen, mode):
    find_runtime_directory()
    chosen.chmod(mode)
    with pytest.raises(RuntimeDirectoryError, match="chmod 700"):
        find_runtime_directory()


@posix
def test_a_parent_in_which_everybody_may_rename_is_refused_unless_sticky(chosen):
    find_runtime_directory()
    chosen.parent.chmod(0o777)
    with pytest.raises(RuntimeDirectoryError, match="everybody"):
        find_runtime_directory()
    chosen.parent.chmod(0o1777)
    assert find_runtime_directory() == chosen


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")
def test_a_directory_or_a_parent_of_somebody_else_is_refused(chosen):
    find_runtime_directory()
    os.chown(chosen, 12345, -1)
    with pytest.raises(RuntimeDirectoryError, match="user 12345"):
        check_private_directory(chosen)
    os.chown(chosen, 0, -1)
    os.chown(chosen.parent, 12345, -1)
    with pytest.raises(RuntimeDirectoryError, match="user 12345"):
        check_private_directory(chosen)


def test_a_relative_path_is_refused(monkeypatch):
    monkeypatch.setenv("STROBOSCOPE_RUNTIME_DIR", "somewhere")
    with pytest.raises(RuntimeDirectoryError, match="not an absolute path"):
        find_runtime_directory()


def test_a_place_where_nothing_can_be_made_is_said(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("STROBOSCOPE_RUNTIME_DIR", str(tmp_path / "file" / "x" / "y"))
    with pytest.raises(RuntimeDirectoryError, match="can't be made"):
        find_runtime_directory()


def test_without_the_variable_it_is_the_platforms_runtime_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("STROBOSCOPE_RUNTIME_DIR")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = find_runtime_directory(create=False)
    assert "stroboscope" in str(path)
