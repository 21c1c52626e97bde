"""``make demo`` on a machine without a display: it plays, leaves a picture, and ends well."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")
def test_without_a_display_the_demo_plays_and_leaves_a_picture(
    repository: Path, tmp_path: Path
) -> None:
    from PySide6.QtGui import QImage

    picture = tmp_path / "demo.png"
    environment = dict(os.environ, DEMO_PICTURE=str(picture))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        environment.pop(name, None)
    result = subprocess.run(
        [sys.executable, str(repository / "packaging" / "demo.py")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{picture}: the whole window" in result.stdout
    assert "Rollout 1 was played to its end" in result.stdout
    image = QImage(str(picture))
    assert (image.width(), image.height()) == (1440, 900)
    # The 3D view is in it: the cart is blue, the ball green, the pendulum orange.
    middle = [
        image.pixelColor(x, y).getHslF() for x in range(320, 1080, 4) for y in range(80, 600, 4)
    ]
    hues = {round(h * 12) for h, s, lightness, _ in middle if s > 0.5 and lightness > 0.3}
    assert {1, 5, 7} <= hues, hues
