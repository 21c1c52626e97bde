"""Files of every version of the format, kept as they were written: they open the same forever."""

import zipfile
from pathlib import Path

import mujoco
import numpy as np

import stroboscope.engine as physics
from stroboscope.engine.files.scene_manifest import FORMAT

GOLDEN = Path(__file__).parent / "golden"
# Written by MuJoCo 4.0.1.
DIGEST = "1bc18e2ae3ff0e8f2dc3f8349545dd9ee37e39f651b23f56caa7de25a24da6d2"
# After a hundred steps under sin(k / 7).
POSITIONS = (0.32014683565200025, -0.0072630871850412485)


def test_there_is_a_file_of_every_format() -> None:
    names = {path.name for path in GOLDEN.glob("*.strobe")}
    assert names == {f"scene_format_{number}.strobe" for number in range(1, FORMAT + 1)}


def test_format_1_is_the_scene_that_was_exported() -> None:
    scene = physics.load_scene(GOLDEN / "scene_format_1.strobe")
    assert scene.name == "Golden arm"
    if mujoco.mj_versionString() == "4.0.1":
        assert scene.world.codec.digest.hex() == DIGEST
    # One is in the model, the other was written into it.
    assert scene.model.opt.timestep == 0.004
    assert scene.model.opt.gravity[2] == -3.7
    for number in range(100):
        scene.ctrl[:] = np.sin(number / 7)
        scene.step()
    np.testing.assert_allclose(scene.data.qpos, POSITIONS, rtol=0, atol=1e-6)


def test_the_members_of_format_1_are_readable_without_us() -> None:
    with zipfile.ZipFile(GOLDEN / "scene_format_1.strobe") as archive:
        assert archive.namelist() == [
            "manifest.json",
            "model.mjb",
            "description.json",
            "model.mjz",
        ]
        assert archive.testzip() is None
