"""The built wheel: what is in it, and that it works in an environment of its own."""

import os
import subprocess
import sys
import zipfile
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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the files that git knows, by way of the source distribution."""
    repository = Path(__file__).resolve().parents[2]
    folder = tmp_path_factory.mktemp("build")
    source = folder / "source"
    tracked = subprocess.run(
        ["git", "ls-files", "-z", *FOLDERS, *PROJECT_FILES],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, tracked.split("\0")):
        if (repository / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((repository / name).read_bytes())
    build = (
        "import sys; from setuptools import build_meta; "
        "print(getattr(build_meta, 'build_' + sys.argv[1])(sys.argv[2]))"
    )
    tools = folder / "tools"
    run(sys.executable, "-m", "venv", tools, cwd=folder)
    python = tools / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "setuptools>=77", cwd=folder)
    run(python, "-c", build, "sdist", folder, cwd=source)
    unpacked = folder / "unpacked"
    (archive,) = folder.glob("*.tar.gz")
    run(sys.executable, "-m", "tarfile", "-e", archive, unpacked, cwd=folder)
    (project,) = unpacked.iterdir()
    run(python, "-c", build, "wheel", folder, cwd=project)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean virtual environment with the wheel and what it depends on, no extras."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=folder.parent)
    return folder


def test_the_wheel_holds_every_module_and_every_resource(wheel: Path, repository: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in FOLDERS:
        for path in (repository / folder).rglob("*"):
            relative = path.relative_to(repository)
            tracked = "__pycache__" not in relative.parts and path.is_file()
            if tracked and path.suffix in {".py", ".xml", ".svg", ".png", ".typed"}:
                known = subprocess.run(
                    ["git", "ls-files", "--error-unmatch", str(relative)],
                    cwd=repository,
                    capture_output=True,
                )
                if known.returncode == 0:
                    assert f"stroboscope/{relative.as_posix()}" in names


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
