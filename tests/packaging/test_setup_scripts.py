"""The scripts behind the Makefile, on machines that lack things."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Debian's set-up")


def stand_in(folder: Path, name: str, body: str) -> None:
    """Put a program of our own on the PATH."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def bare_machine(tmp_path: Path) -> dict[str, str]:
    """An environment whose ldconfig knows no library and whose user is not root."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "ls", "find", "grep", "uname", "dirname"):
        (folder / tool).symlink_to(f"/usr/bin/{tool}")
    stand_in(folder, "ldconfig", "exit 0")
    stand_in(folder, "id", "echo 1000")
    stand_in(folder, "apt-get", "echo apt-get was called; exit 1")
    return {"PATH": str(folder), "HOME": str(tmp_path)}


def system_packages(
    repository: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run the script with PATH as it is: it adds the folders of ldconfig itself."""
    script = (repository / "packaging" / "system_packages.sh").read_text(encoding="utf-8")
    alone = script.replace("PATH=$PATH:/usr/sbin:/sbin\n", "")
    assert alone != script
    return subprocess.run(
        ["/bin/sh", "-c", alone], env=environment, capture_output=True, text=True, timeout=100
    )


def test_who_is_not_root_is_told_the_exact_line(
    repository: Path, bare_machine: dict[str, str]
) -> None:
    result = system_packages(repository, bare_machine)
    assert result.returncode == 1
    assert "sudo apt-get update && sudo apt-get install --no-install-recommends -y xvfb " in (
        result.stderr
    )
    assert "libxcb-cursor0" in result.stderr
    assert "apt-get was called" not in result.stdout + result.stderr


def test_another_system_is_told_what_is_missing(
    repository: Path, bare_machine: dict[str, str]
) -> None:
    (Path(bare_machine["PATH"]) / "apt-get").unlink()
    result = system_packages(repository, bare_machine)
    assert result.returncode == 1
    assert "Missing on this system (Debian's names): xvfb" in result.stderr


def test_root_installs_and_fetches_the_package_lists_when_the_first_try_fails(
    repository: Path, bare_machine: dict[str, str]
) -> None:
    folder = Path(bare_machine["PATH"])
    stand_in(folder, "id", "echo 0")
    # As on a fresh image: install fails until update was run.
    stand_in(
        folder,
        "apt-get",
        f'echo "$@"; if [ "$1" = update ]; then : > {folder}/lists; else [ -e {folder}/lists ]; fi',
    )
    result = system_packages(repository, bare_machine)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[1] == "update -q"
    assert lines[2].startswith("install --no-install-recommends -y -q xvfb ")


def test_nothing_is_done_when_nothing_is_missing(repository: Path) -> None:
    script = repository / "packaging" / "system_packages.sh"
    result = subprocess.run(
        ["/bin/sh", script, sys.executable], capture_output=True, text=True, timeout=100
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_python_that_does_not_run_is_not_chosen(repository: Path, tmp_path: Path) -> None:
    # A pyenv shim for a version that is not switched on looks like this.
    stand_in(tmp_path, "python3.13", "echo 'pyenv: python3.13: command not found' >&2; exit 127")
    (tmp_path / "python3.12").symlink_to(sys.executable)
    script = repository / "packaging" / "choose_python.sh"
    result = subprocess.run(
        ["/bin/sh", script],
        env={"PATH": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert result.stdout.strip() == str(tmp_path / "python3.12")


def test_a_chosen_python_that_is_too_old_is_refused(repository: Path, tmp_path: Path) -> None:
    stand_in(tmp_path, "python3.9", "exit 0")  # prints nothing: not at least 3.11
    script = repository / "packaging" / "choose_python.sh"
    result = subprocess.run(
        ["/bin/sh", script],
        env={**os.environ, "PYTHON": str(tmp_path / "python3.9")},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert result.returncode == 1
    assert "is older than 3.11" in result.stderr


def test_a_command_gets_a_display_of_its_own_and_its_status_is_kept(repository: Path) -> None:
    script = repository / "packaging" / "with_display.py"
    command = [sys.executable, str(script), "sh", "-c", "echo on $DISPLAY; read line; exit 7"]
    # Side by side, as two checkouts under test would.
    pair = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    displays = {process.stdout.readline().strip() for process in pair}
    for process in pair:
        process.communicate("go on\n", timeout=100)
        assert process.returncode == 7
    assert len(displays) == 2
    assert all(display.startswith("on :") for display in displays)


def test_ending_the_starter_ends_the_command_and_the_display(
    repository: Path, tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    script = repository / "packaging" / "with_display.py"
    note = tmp_path / "pid"
    code = f"import os, pathlib, time; pathlib.Path({str(note)!r}).write_text(str(os.getpid()))"
    starter = subprocess.Popen(
        [sys.executable, str(script), sys.executable, "-c", f"{code}; time.sleep(1000)"]
    )
    wait_until(lambda: note.exists() and note.read_text(), 60)
    starter.send_signal(signal.SIGTERM)
    assert starter.wait(60) == 128 + signal.SIGTERM
    assert not Path(f"/proc/{note.read_text()}").exists()


def test_who_ends_the_starter_before_there_is_a_display_leaves_none_behind(
    repository: Path, tmp_path: Path
) -> None:
    server, note = shutil.which("Xvfb"), tmp_path / "pid"
    stand_in(tmp_path, "Xvfb", f'echo $$ > {note}; kill -TERM $PPID; exec {server} "$@"')
    script = repository / "packaging" / "with_display.py"
    result = subprocess.run(
        [sys.executable, str(script), "sleep", "1000"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        timeout=100,
    )
    assert result.returncode == 128 + signal.SIGTERM
    assert not Path(f"/proc/{note.read_text().strip()}").exists()


def test_make_setup_ends_with_what_to_type_next_and_other_targets_do_not(
    repository: Path, tmp_path: Path
) -> None:
    shutil.copy(repository / "Makefile", tmp_path)
    (tmp_path / "packaging").mkdir()
    for name in ("choose_python.sh", "system_packages.sh", "venv.sh", "typeroot.sh"):
        (tmp_path / "packaging" / name).write_text("exit 0\n")
    (tmp_path / "packaging" / "test_all.sh").write_text("echo tested\n")

    def make(target: str) -> list[str]:
        done = subprocess.run(
            ["make", target, "VENV=elsewhere"],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        )
        return done.stdout.splitlines()

    (told,) = make("setup")
    assert "make demo" in told
    assert ". elsewhere/bin/activate" in told
    assert "stroboscope run" in told
    assert make("test-all") == ["tested"]
