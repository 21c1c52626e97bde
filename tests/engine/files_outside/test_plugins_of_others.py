"""Plugins that MuJoCo does not bring along: they stay behind, by their names."""

import shutil
import subprocess
import sys
from pathlib import Path

import mujoco
import pytest

SOURCE = Path(__file__).with_name("acme_plugin.c")
SCRIPT = """
import sys
import mujoco
import stroboscope.engine as physics

mujoco.mj_loadPluginLibrary(sys.argv[1])
scene = physics.create_scene("Acme", '''<mujoco>
  <extension><plugin plugin="acme.nothing"/></extension>
  <worldbody><body><plugin plugin="acme.nothing"/><joint/><geom size="1"/></body></worldbody>
</mujoco>''')
try:
    scene.export(sys.argv[2])
except physics.EngineError as error:
    print(error)
scene.export(sys.argv[2], allow_missing=["plugin acme.nothing"])
try:
    physics.load_scene(sys.argv[2])
except physics.FileError as error:
    print(error)
"""


@pytest.fixture(autouse=True)
def warm_compilers() -> None:
    """Start them as ever: that is what this is about."""


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_plugin_of_somebody_s_own_is_refused_by_its_name_and_never_loaded_from_a_file(
    tmp_path: Path,
) -> None:
    package = Path(mujoco.__file__).parent
    (library,) = (*package.glob("libmujoco.so*"), *package.glob("libmujoco*.dylib"))
    plugin = tmp_path / "libacme.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-w", f"-I{package / 'include'}", str(SOURCE), str(library),
         f"-Wl,-rpath,{package}", "-o", str(plugin)],
        check=True, timeout=100,
    )  # fmt: skip
    # In a process of its own: nobody can unload a plugin.
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(plugin), str(tmp_path / "acme.strobe")],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    refused, opened = done.stdout.strip().splitlines()
    assert "plugin acme.nothing changes the physics" in refused
    assert "allow_missing=['plugin acme.nothing']" in refused
    assert "acme.nothing" in opened
