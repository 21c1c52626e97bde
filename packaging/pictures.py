"""Pictures of the window in its states, into ``pictures/``: run them, then look at them.

    python packaging/pictures.py [NAME...]        all of them, or those named
    python packaging/pictures.py --list

Real scripts run as processes of their own and the real window attaches to them; every picture has
a window of its own, because sizes and scales are a process's business. The display is an Xvfb that
is large enough for the window at 200 %.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from picture_recordings import (
    RECORDING,
    REPLAYED,
    REPLAYED_DAMAGED,
    REPLAYED_NOTES,
    damaged,
    linked,
    noted,
    recordings,
    repaired,
    repairing,
    replayed,
)
from picture_scripts import (
    EPISODES,
    FAILING,
    HERD,
    HUMANOID,
    LONG_NAMES,
    MANY_SCENES,
    NO_SCENES,
    OVERLAID,
    SERVO,
)
from picture_stage import Picture, Stage, running_script
from picture_states import (
    attached,
    behind_a_dead_one,
    failed,
    joined,
    long_names,
    many,
    overlays,
    played,
    playing,
    robot,
    stale,
    table,
    welcome,
)
from picture_travels import (
    asked,
    branches,
    checkpoints,
    conditions,
    curves,
    environments,
    episodes,
    past,
    slider,
    stopped,
    tried,
)
from with_display import display_environment, virtual_display

FOLDER = Path(__file__).resolve().parent.parent / "pictures"
SCREEN = "2600x1700"


def _travel_pictures() -> "Iterator[Picture]":
    for name, prepare in (
        ("stopped", stopped),
        ("tried", tried),
        ("curves", curves),
        ("conditions", conditions),
        ("checkpoints", checkpoints),
    ):
        for theme in ("dark", "light"):
            yield Picture(
                name=f"{name}_{theme}",
                script=SERVO,
                size=(1280, 800) if theme == "dark" else (1280, 720),
                theme=theme,
                prepare=prepare,
            )
        yield Picture(
            name=f"{name}_200", script=SERVO, size=(1280, 720), scale=2.0, prepare=prepare
        )


PICTURES = (
    Picture(name="welcome_dark", script="", scenes=0, prepare=welcome),
    Picture(name="welcome_light", script="", scenes=0, theme="light", prepare=welcome),
    Picture(name="attached_paused", prepare=attached),
    Picture(name="playing_dark", prepare=playing),
    Picture(name="playing_light", theme="light", prepare=playing),
    Picture(name="paused_after_playing", prepare=played),
    Picture(name="script_killed", prepare=stale),
    Picture(name="script_failed", script=FAILING, scenes=1, prepare=failed),
    Picture(name="another_joined", prepare=joined),
    Picture(name="after_a_dead_one", prepare=behind_a_dead_one),
    Picture(name="small_1280x720", size=(1280, 720), prepare=played),
    Picture(name="large_1920x1080", size=(1920, 1080), prepare=played),
    Picture(name="scale_200", size=(1280, 800), scale=2.0, prepare=played),
    Picture(name="scale_200_light", size=(1280, 720), scale=2.0, theme="light", prepare=played),
    Picture(name="long_names", script=LONG_NAMES, scenes=1, prepare=long_names),
    Picture(name="robot_dark", script=HUMANOID, scenes=1, prepare=robot),
    Picture(name="robot_light", script=HUMANOID, scenes=1, theme="light", prepare=robot),
    Picture(name="overlays_dark", script=OVERLAID, scenes=1, prepare=overlays),
    Picture(
        name="overlays_light",
        script=OVERLAID,
        scenes=1,
        size=(1280, 720),
        theme="light",
        prepare=overlays,
    ),
    *(
        Picture(
            name=f"time_{name}_{theme}{suffix}",
            script=script,
            scenes=1,
            size=(1280, 720),
            theme=theme,
            scale=scale,
            prepare=prepare,
        )
        for name, script, prepare in (
            ("past", OVERLAID, past),
            ("asked", OVERLAID, asked),
            ("branches", EPISODES, branches),
            ("episodes", EPISODES, episodes),
        )
        for theme, scale, suffix in (("dark", 1.0, ""), ("light", 1.0, ""), ("dark", 2.0, "_200"))
    ),
    *_travel_pictures(),
    *(
        Picture(
            name=f"table_{name}_{theme}",
            script=OVERLAID,
            scenes=1,
            size=(1280, 720),
            theme=theme,
            prepare=table(name),
        )
        for name in ("state", "contacts", "constraints", "why", "profiler", "findings")
        for theme in ("dark", "light")
    ),
    *(
        Picture(
            name=f"{name}_{theme}{suffix}",
            script=script,
            scenes=1,
            size=(1280, 720),
            theme=theme,
            scale=scale,
            prepare=prepare,
        )
        for name, script, prepare in (
            ("environments", HERD, environments),
            ("controls", OVERLAID, slider),
        )
        for theme, scale, suffix in (("dark", 1.0, ""), ("light", 1.0, ""), ("dark", 2.0, "_200"))
    ),
    *(
        Picture(
            name=f"recorded_{name}_{theme}{suffix}",
            script=script,
            scenes=scenes,
            size=(1280, 720),
            theme=theme,
            scale=scale,
            prepare=prepare,
        )
        for name, script, scenes, prepare in (
            ("replayed", REPLAYED, 1, replayed),
            ("noted", REPLAYED_NOTES, 1, noted),
            ("damaged", REPLAYED_DAMAGED, 1, damaged),
            ("repairing", REPLAYED_DAMAGED, 1, repairing),
            ("repaired", REPLAYED_DAMAGED, 1, repaired),
            ("linked", REPLAYED, 1, linked),
            ("running", RECORDING, 2, recordings),
        )
        for theme, scale, suffix in (("dark", 1.0, ""), ("light", 1.0, ""), ("dark", 2.0, "_200"))
    ),
    Picture(name="scenes_0", script=NO_SCENES, scenes=0, prepare=attached),
    Picture(name="scenes_64", script=MANY_SCENES, scenes=64, prepare=many),
)


# --- one picture, in a process of its own


def take(picture: Picture) -> None:
    """Take one picture; the environment must have been prepared by :func:`main`."""
    from stroboscope.app.main.application import DesktopApplication, make_qapplication

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runtime = folder / "runtime"
        runtime.mkdir(mode=0o700)
        os.environ["STROBOSCOPE_RUNTIME_DIR"] = str(runtime)
        with running_script(picture, folder) as script:
            app = make_qapplication(["stroboscope"])
            desktop = DesktopApplication(app, settings_path=folder / "settings.json")
            desktop.window.set_theme(picture.theme)
            desktop.window.resize(*picture.size)
            desktop.window.show()
            stage = Stage(picture, desktop, script)
            picture.prepare(stage)
            FOLDER.mkdir(exist_ok=True)
            path = FOLDER / f"{picture.name}.png"
            path.write_bytes(stage.picture_png())
            desktop.window.close()
            desktop.close()
            app.processEvents()
            for other in stage.others:
                other.kill()
                other.wait()
    print(path, flush=True)


def main() -> int:
    """Take the pictures asked for, each in a process of its own; return the exit status."""
    parser = argparse.ArgumentParser(description="Pictures of the window in its states.")
    parser.add_argument("names", nargs="*", help="pictures to take; none: all")
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--take", metavar="NAME", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    known = {picture.name: picture for picture in PICTURES}
    if arguments.list:
        print("\n".join(known))
        return 0
    if arguments.take:
        take(known[arguments.take])
        return 0
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        parser.error(f"no picture is called {unknown[0]!r}; there are {', '.join(known)}")
    failed = []
    with virtual_display(SCREEN) as display:
        for name in arguments.names or known:
            environment = display_environment(display)
            environment["QT_SCALE_FACTOR"] = str(known[name].scale)
            command = [sys.executable, __file__, "--take", name]
            if subprocess.call(command, env=environment, timeout=300) != 0:
                failed.append(name)
    if failed:
        print(f"not taken: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
