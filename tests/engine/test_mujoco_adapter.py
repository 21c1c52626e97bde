"""What the engine says about the MuJoCo that is there, or is not."""

import subprocess
import sys
import textwrap
from pathlib import Path

import mujoco

from stroboscope.engine.mujoco_adapter import installed_mujoco_distributions, load_mujoco


def run_with_fake_mujoco(folder: Path, files: dict[str, str], *, shadow: bool = False) -> str:
    """Return what creating a scene says when ``mujoco`` is made of these files.

    ``shadow`` hides the real one, which would win over a folder without code.
    """
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    code = f"""
        import sys
        sys.path.insert(0, {str(folder)!r})
        import stroboscope.engine as physics
        import stroboscope.engine.creation
        if {shadow}:
            import importlib.machinery, importlib.util
            spec = importlib.machinery.PathFinder.find_spec("mujoco", [{str(folder)!r}])
            sys.modules["mujoco"] = importlib.util.module_from_spec(spec)
        try:
            physics.create_scene("a")
        except physics.MujocoUnavailableError as error:
            print(error)
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_without_mujoco_the_first_use_says_how_to_install_it(tmp_path: Path) -> None:
    missing = 'raise ModuleNotFoundError("No module named \'mujoco\'", name="mujoco")'
    said = run_with_fake_mujoco(tmp_path, {"mujoco/__init__.py": missing})
    assert 'pip install "stroboscope[mujoco]"' in said
    assert "not installed" in said


def test_a_half_upgraded_install_is_named_with_the_way_out(tmp_path: Path) -> None:
    said = run_with_fake_mujoco(
        tmp_path,
        {
            "mujoco/__init__.py": "raise ImportError('libmujoco.so.3.11: cannot open')",
            "mujoco-3.11.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: mujoco\n"
            "Version: 3.11.0\n",
            "mujoco_core-4.0.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: mujoco-core\n"
            "Version: 4.0.0\n",
        },
    )
    assert "libmujoco.so.3.11" in said
    assert "mujoco 3.11.0" in said
    assert "mujoco-core 4.0.0" in said
    assert "pip uninstall mujoco mujoco-core" in said


def test_a_folder_that_an_uninstall_left_behind_is_named(tmp_path: Path) -> None:
    # Uninstalling one of two distributions takes the shared code away, and Python imports the rest.
    files = {"mujoco/plugin/left.txt": "", "mujoco/__init__.py": "", "mujoco/other.py": ""}
    said = run_with_fake_mujoco(tmp_path, files)
    assert "mj_versionString" in said
    assert "--force-reinstall" in said
    (tmp_path / "mujoco/__init__.py").unlink()
    said = run_with_fake_mujoco(tmp_path, {"mujoco/plugin/left.txt": ""}, shadow=True)
    assert str(tmp_path / "mujoco") in said
    assert "pip install" in said


def test_an_old_mujoco_is_refused_with_both_versions(tmp_path: Path) -> None:
    said = run_with_fake_mujoco(
        tmp_path, {"mujoco/__init__.py": "def mj_versionString(): return '3.1.6'"}
    )
    assert "3.1.6" in said
    assert "3.3" in said


def test_python_part_and_library_of_two_versions_are_refused(tmp_path: Path) -> None:
    said = run_with_fake_mujoco(
        tmp_path,
        {"mujoco/__init__.py": "__version__ = '4.0.1'\ndef mj_versionString(): return '4.0.0'"},
    )
    assert "4.0.1" in said
    assert "4.0.0" in said


def test_the_adapter_is_made_once_and_knows_its_version() -> None:
    adapter = load_mujoco()
    assert adapter is load_mujoco()
    assert adapter.version == mujoco.mj_versionString()
    assert adapter.version_tuple >= (3, 3)
    assert installed_mujoco_distributions()
