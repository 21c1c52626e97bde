"""The built wheel: what is in it, and that it works in an environment of its own."""

import fcntl
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from email.parser import Parser
from pathlib import Path

import pytest

FOLDERS = ("debugger_protocol", "engine", "app", "resources")
PROJECT_FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with no PYTHONPATH, and fail with what it said when it fails."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if "No matching distribution found" in result.stderr or "ConnectionError" in result.stderr:
        pytest.skip(f"the package registry can't be reached: {result.stderr.splitlines()[-1]}")
    if result.returncode:
        pytest.fail(f"{command} failed:\n{result.stdout}\n{result.stderr}")
    return result


def tracked(repository: Path, *paths: str) -> list[str]:
    """Return the files that git knows, relative to the checkout."""
    command = ["git", "ls-files", "-z", *paths]
    listed = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name]


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``made_once(name, make)``: the folder that ``make(folder)`` has filled.

    One for all workers of a run: it is made by whoever needs it first.
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent

    def folder_of(name: str, make: Callable[[Path], None]) -> Path:
        folder, done = shared / name, shared / f"{name}.done"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder)
                done.touch()
        return folder

    return folder_of


def build_wheel(folder: Path) -> None:
    """Build a wheel from the files that git knows, by way of the source distribution."""
    repository = Path(__file__).resolve().parents[2]
    source, tools, unpacked = folder / "source", folder / "tools", folder / "unpacked"
    for name in tracked(repository, *FOLDERS, *PROJECT_FILES):
        if (repository / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((repository / name).read_bytes())
    command = (sys.executable, "-m", "pip", "install", "--quiet", "--no-compile")
    run(*command, "--target", tools, "setuptools>=77", cwd=folder)
    build = (
        f"import sys; sys.path.insert(0, {str(tools)!r}); from setuptools import build_meta; "
        "print(getattr(build_meta, 'build_' + sys.argv[1])(sys.argv[2]))"
    )
    run(sys.executable, "-c", build, "sdist", folder, cwd=source)
    (archive,) = folder.glob("*.tar.gz")
    run(sys.executable, "-m", "tarfile", "-e", archive, unpacked, cwd=folder)
    (project,) = unpacked.iterdir()
    run(sys.executable, "-c", build, "wheel", folder, cwd=project)


@pytest.fixture(scope="module")
def wheel(made_once: Callable[..., Path]) -> Path:
    """A wheel built from the files that git knows."""
    (built,) = made_once("wheel", build_wheel).glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(made_once: Callable[..., Path], wheel: Path) -> Path:
    """A clean virtual environment with the wheel and what it depends on, no extras."""

    def make(folder: Path) -> None:
        # Without a pip of its own, which takes longer to install than all the rest: ours does it.
        run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
        pip = (sys.executable, "-m", "pip", "--python", folder / "bin" / "python")
        run(*pip, "install", "--quiet", "--no-compile", wheel, cwd=folder.parent)

    return made_once("clean", make)


def test_the_wheel_holds_every_module_and_every_resource(wheel: Path, repository: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    kinds = (".py", ".xml", ".svg", ".png", ".typed")
    known = [name for name in tracked(repository, *FOLDERS) if name.endswith(kinds)]
    assert len(known) > 300
    for name in known:
        if (repository / name).exists():
            assert f"stroboscope/{name}" in names


def test_the_wheel_installs_nothing_outside_its_namespace(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"stroboscope"}
    assert "stroboscope/__init__.py" not in zipfile.ZipFile(wheel).namelist()


def test_no_mujoco_distribution_is_required(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (n for n in archive.namelist() if n.endswith("METADATA"))
    fields = Parser().parsestr(archive.read(metadata).decode())
    base = [r for r in fields.get_all("Requires-Dist", []) if "extra ==" not in r]
    assert not [r for r in base if "mujoco" in r.lower() or "pyside" in r.lower()]
    assert [r for r in base if r.startswith("numpy")]


def test_the_base_install_imports_without_mujoco_and_qt(environment: Path, tmp_path: Path) -> None:
    code = """
import sys
import stroboscope.debugger_protocol.client, stroboscope.engine as physics
from stroboscope.resources.examples import DEMOS
loaded = {"mujoco", "PySide6", "vispy", "pyqtgraph"} & set(sys.modules)
assert not loaded, loaded
assert all(demo.path.is_file() for demo in DEMOS)
try:
    physics.create_scene("empty")
except physics.EngineError as error:
    print("refused:", error)
"""
    result = run(environment / "bin" / "python", "-W", "error", "-c", code, cwd=tmp_path)
    assert "refused: " in result.stdout
    assert "pip install" in result.stdout


@pytest.mark.parametrize("start", ["script", "module"])
def test_the_command_line_works_without_the_window_extra(
    start: str, environment: Path, tmp_path: Path
) -> None:
    folder = environment / "bin"
    command = {
        "script": [folder / "stroboscope"],
        "module": [folder / "python", "-m", "stroboscope.app.main.cli"],
    }[start]
    assert "ctl" in run(*command, "--help", cwd=tmp_path).stdout


def test_a_users_own_modules_are_not_shadowed(
    environment: Path, tmp_path: Path, repository: Path
) -> None:
    for name in ("engine", "app", "resources"):
        (tmp_path / f"{name}.py").write_text(f"WHOSE = 'the user'\nNAME = {name!r}\n")
    code = "import engine, app, resources, stroboscope.engine; print(engine.WHOSE, app.NAME)"
    result = run(environment / "bin" / "python", "-c", code, cwd=tmp_path)
    assert result.stdout == "the user app\n"
