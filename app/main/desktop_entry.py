"""``stroboscope desktop install|remove``: let file managers open our files (freedesktop.org)."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from stroboscope.engine.files.atomic import write_file

__all__ = ["main"]

USAGE = """\
usage: stroboscope desktop install   open .strobe and .mcap files by a double click (this user),
                                     and models: .mjcf .urdf .mjz .mjb
       stroboscope desktop remove    take that back
"""

# A scene begins with a ZIP whose first member is its manifest, a recording with a mark of its own.
# MJCF has the suffix of all XML mostly. It is not among them: a second type of that pattern is
# given to every XML file by some file managers, and what opens application/xml from the user's own
# folder is taken before the desktop's editor.
_TYPES = """\
<?xml version="1.0" encoding="UTF-8"?>
<mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">
  <mime-type type="application/x-stroboscope-scene">
    <comment>Stroboscope scene</comment>
    <sub-class-of type="application/zip"/>
    <glob pattern="*.strobe"/>
    <magic priority="60">
      <match type="string" offset="0" value="PK\\003\\004">
        <match type="string" offset="30" value="manifest.json"/>
      </match>
    </magic>
  </mime-type>
  <mime-type type="application/x-mcap">
    <comment>MCAP recording</comment>
    <glob pattern="*.mcap"/>
    <magic priority="60"><match type="string" offset="0" value="\\x89MCAP0\\r\\n"/></magic>
  </mime-type>
  <mime-type type="application/x-mjcf+xml">
    <comment>MuJoCo model (MJCF)</comment>
    <sub-class-of type="application/xml"/>
    <glob pattern="*.mjcf"/>
  </mime-type>
  <mime-type type="application/x-urdf+xml">
    <comment>Robot model (URDF)</comment>
    <sub-class-of type="application/xml"/>
    <glob pattern="*.urdf"/>
  </mime-type>
  <mime-type type="application/x-mujoco-mjz">
    <comment>MuJoCo model with its files (MJZ)</comment>
    <sub-class-of type="application/zip"/>
    <glob pattern="*.mjz"/>
  </mime-type>
  <mime-type type="application/x-mujoco-mjb">
    <comment>Compiled MuJoCo model (MJB)</comment>
    <glob pattern="*.mjb"/>
  </mime-type>
</mime-info>
"""
_MODELS = (
    "application/x-mjcf+xml",
    "application/x-urdf+xml",
    "application/x-mujoco-mjz",
    "application/x-mujoco-mjb",
)
_ENTRY = """\
[Desktop Entry]
Type=Application
Name=Stroboscope
Comment=The debugger for physics simulations
Exec={command} open --dialog %f
Terminal=false
NoDisplay=true
Categories=Development;Science;
MimeType=application/x-stroboscope-scene;application/x-mcap;{models}
StartupWMClass=stroboscope
"""


def main(argv: Sequence[str]) -> int:
    """Install or remove; returns the exit code."""
    if list(argv) not in (["install"], ["remove"]):
        sys.stderr.write(USAGE)
        return 2
    if sys.platform in ("win32", "darwin"):
        sys.stderr.write(
            "stroboscope desktop: this is for freedesktop.org desktops (Linux); here, choose "
            "`stroboscope open` for .strobe and .mcap files in the file manager itself\n"
        )
        return 1
    data = Path(platformdirs.user_data_dir())
    entry = data / "applications" / "stroboscope.desktop"
    types = data / "mime" / "packages" / "stroboscope.xml"
    if argv[0] == "install":
        for path, text in ((entry, _entry()), (types, _TYPES)):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, text.encode("utf-8"))
    else:
        entry.unlink(missing_ok=True)
        types.unlink(missing_ok=True)
    _refresh("update-mime-database", data / "mime")
    _refresh("update-desktop-database", data / "applications")
    done = "Installed" if argv[0] == "install" else "Removed"
    sys.stdout.write(f"{done} {entry}\n{done} {types}\n")
    return 0


def _entry() -> str:
    return _ENTRY.format(command=_command(), models="".join(f"{each};" for each in _MODELS))


def _command() -> str:
    """Return this very installation, as a desktop entry has it: quoted, no sign with a meaning."""
    words = (sys.executable, "-P", "-m", "stroboscope.app.main.cli")
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    for sign in ("\\", '"', "`", "$"):
        word = word.replace(sign, f"\\{sign}")
    # Once more, as strings of a desktop entry have backslashes of their own; %% is a percent sign.
    return '"' + word.replace("\\", "\\\\").replace("%", "%%") + '"'


def _refresh(tool: str, folder: Path) -> None:
    """Have the desktop read the folder again, where there is such a tool."""
    program = shutil.which(tool)
    if program is not None and folder.is_dir():
        subprocess.run([program, str(folder)], check=False, capture_output=True, timeout=60)
