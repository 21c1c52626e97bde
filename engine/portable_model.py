"""A scene's model as MJCF with all its assets in one archive (MJZ), which any MuJoCo can compile.

The archive is ours, not MuJoCo's: its names say nothing of where files stood, and the same model
makes the same bytes. MuJoCo before 4.0 makes none, and writes MJCF with fewer digits.
"""

import dataclasses
import posixpath
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stroboscope.engine.files.bundle import Archive, ArchiveLimits, pack_archive
from stroboscope.engine.files.compression import needed
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.model_source import ModelSource
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["PortableModel", "portable_model"]

_MODEL = "model.xml"
_ASSETS = "assets"
_FOLDERS = ("meshdir", "texturedir", "assetdir")
_FILES = ("file", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 100
_LIMITS = ArchiveLimits(
    entries=60_000, directory_bytes=16 << 20, total_bytes=8 << 30, entry_bytes=4 << 30
)
# What makes MuJoCo write a model as it is in the spec, every digit of it.
_AS_WRITTEN = ("savecompiled", "savecanonical")


@dataclasses.dataclass(frozen=True, slots=True)
class PortableModel:
    """The archive, or why there is none."""

    content: bytes
    missing: str = ""


def portable_model(source: ModelSource, *, adapter: MujocoAdapter) -> PortableModel:
    """Return the model of a scene as an archive of MJCF and assets; owner thread only.

    Compiled by the same MuJoCo it is the same model to the last bit (except what was written into
    the compiled model itself). Reads the assets from where they came from.
    """
    spec: Any = source.spec
    if spec is None:
        return PortableModel(b"", source.spec_missing)
    try:
        if hasattr(spec, "encode"):
            return PortableModel(_gathered_by_mujoco(spec, source.model))
        return PortableModel(_gathered(spec))
    except (ValueError, RuntimeError, OSError, adapter.module.FatalError) as error:
        return PortableModel(b"", f"its source can't be gathered: {' '.join(str(error).split())}")
    except FileError as error:
        return PortableModel(b"", f"its source can't be gathered: {error.wrong}")


def _gathered_by_mujoco(spec: Any, model: Any) -> bytes:
    with tempfile.TemporaryDirectory(prefix="stroboscope-") as folder:
        path = Path(folder) / "model.mjz"
        with _as_written(spec.compiler):
            spec.encode(str(path), model)
        with Archive(path, path=path, limits=_LIMITS) as archive:
            return _neutral(archive.read(_MODEL), lambda name: name in archive, archive.read)


def _gathered(spec: Any) -> bytes:
    """Do the same where MuJoCo can't: read what the MJCF names from where it names it."""
    given = {posixpath.normpath(name): content for name, content in (spec.assets or {}).items()}
    folder = Path(spec.modelfiledir or ".")

    def read(name: str) -> bytes:
        content = given.get(name)
        return (folder / name).read_bytes() if content is None else bytes(content)

    text = spec.to_xml().encode("utf-8")
    return _neutral(text, lambda name: name in given or (folder / name).is_file(), read)


@contextmanager
def _as_written(compiler: Any) -> Iterator[None]:
    before = {name: getattr(compiler, name) for name in _AS_WRITTEN if hasattr(compiler, name)}
    for name in before:
        setattr(compiler, name, False)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(compiler, name, value)


def _neutral(model: bytes, exists: Callable[[str], bool], read: Callable[[str], bytes]) -> bytes:
    """Return an archive with the same model, whose files have names without folders.

    ``exists`` and ``read`` take the names that its MJCF says, joined with the folders it says.
    """
    parser = needed("defusedxml.ElementTree")
    root = parser.fromstring(model.decode("utf-8"))
    folders = [""]
    for compiler in root.iter("compiler"):
        folders += [compiler.attrib.pop(name) for name in _FOLDERS if name in compiler.attrib]
    names: dict[str, str] = {}
    for element in root.iter():
        for attribute in _FILES:
            file = element.get(attribute)
            if not file:
                continue
            places = (posixpath.normpath(posixpath.join(folder, file)) for folder in folders)
            member = next((place for place in places if exists(place)), None)
            if member is None:
                raise ValueError(f"{posixpath.basename(file)!r} is not among its assets")
            if member not in names:
                names[member] = _free_name(member, set(names.values()))
            element.set(attribute, names[member])
    content = {_MODEL: parser.tostring(root, encoding="utf-8")}
    for member, name in sorted(names.items(), key=lambda each: each[1]):
        content[name] = read(member)
    return pack_archive(content)


def _free_name(member: str, taken: set[str]) -> str:
    stem, suffix = posixpath.splitext(_UNUSUAL.sub("_", posixpath.basename(member)))
    folded = {name.casefold() for name in taken}
    for number in range(len(taken) + 1):
        extra = f"_{number}" if number else ""
        name = f"{_ASSETS}/{stem[:_LONGEST_NAME]}{extra}{suffix}"
        if name.casefold() not in folded:
            return name
    raise AssertionError("there are fewer names than numbers")
