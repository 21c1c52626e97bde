"""Draw the scenes of the reference tests with our renderer and MuJoCo's, side by side.

    python packaging/with_display.py .venv/bin/python packaging/reference_pictures.py [NAME...]
    … --references        the pictures the tests compare with, instead

Pairs go to ``docs/images/reference/`` (left ours, right MuJoCo's): look at them. MuJoCo's
renderer needs EGL and runs in a process of its own, because Qt has OpenGL by GLX in this one.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "app" / "view3d"
PAIRS = ROOT / "docs" / "images" / "reference"
REFERENCES = TESTS / "reference"
SIZE = (320, 240)
sys.path.insert(0, str(TESTS))


def file_name(name: str) -> str:
    """Return what the picture of scene ``name`` is called."""
    return name.replace(" ", "_") + ".png"


def draw_ours(name: str, path: Path, size: tuple[int, int]) -> None:
    """Draw scene ``name`` in a real window of ours and write the picture."""
    from reference_window import reference_image

    image = reference_image(name, size=size)
    if image.isNull() or not image.save(str(path)):
        raise SystemExit(f"{name}: no picture was drawn")


def draw_theirs(name: str, path: Path, size: tuple[int, int]) -> None:
    """Draw scene ``name`` with MuJoCo's renderer; in a process with MUJOCO_GL=egl."""
    import mujoco
    from reference_scenes import SCENES, shown_by_engine

    scene = SCENES[name]
    shown = shown_by_engine(scene)
    shown.model.vis.global_.offwidth, shown.model.vis.global_.offheight = size
    camera = mujoco.MjvCamera()
    camera.azimuth, camera.elevation, camera.distance = scene.camera[:3]
    camera.lookat[:] = scene.camera[3]
    option = mujoco.MjvOption()
    for flag in scene.flags:
        option.flags[int(getattr(mujoco.mjtVisFlag, flag))] = 1
    renderer = mujoco.Renderer(shown.model, size[1], size[0])
    for flag in scene.render_flags:
        renderer.scene.flags[int(getattr(mujoco.mjtRndFlag, flag))] = 1
    renderer.update_scene(shown.data, camera, option)
    np.save(path, renderer.render())


def pair(name: str) -> None:
    """Write the two pictures of scene ``name`` beside each other."""
    from PySide6.QtGui import QImage, QPainter

    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "ours.png", Path(folder) / "theirs.npy"
        draw_ours(name, ours, SIZE)
        command = [sys.executable, __file__, "--theirs", str(theirs), name]
        environment = {**os.environ, "MUJOCO_GL": "egl"}
        done = subprocess.run(command, env=environment, check=False)
        both = QImage(2 * SIZE[0] + 4, SIZE[1], QImage.Format.Format_RGB32)
        both.fill(0xFFFFFF)
        painter = QPainter(both)
        painter.drawImage(0, 0, QImage(str(ours)))
        if done.returncode == 0:
            pixels = np.ascontiguousarray(np.load(theirs))
            height, width, _ = pixels.shape
            kind = QImage.Format.Format_RGB888
            image = QImage(pixels.data, width, height, 3 * width, kind)
            painter.drawImage(SIZE[0] + 4, 0, image)
        painter.end()
        PAIRS.mkdir(parents=True, exist_ok=True)
        both.save(str(PAIRS / file_name(name)))


def main() -> int:
    """Draw what was asked for."""
    from reference_scenes import SCENES

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="scenes; all by default")
    parser.add_argument("--references", action="store_true", help="write what tests compare with")
    parser.add_argument("--theirs", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = arguments.names or list(SCENES)
    if arguments.theirs is not None:
        draw_theirs(names[0], arguments.theirs, SIZE)
        return 0
    from reference_window import start_qt

    application = start_qt()
    for name in names:
        if arguments.references:
            REFERENCES.mkdir(parents=True, exist_ok=True)
            draw_ours(name, REFERENCES / file_name(name), SIZE)
        else:
            pair(name)
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        application.processEvents()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
