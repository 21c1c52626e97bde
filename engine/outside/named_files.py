"""Which files a model names, and whether each of them is its own.

MuJoCo opens whatever MJCF and URDF name: ``<include file="/etc/passwd"/>`` puts it into an error
message. So all names are looked at before MuJoCo sees the model, links resolved.
"""

import os
import re
import stat
from pathlib import Path
from typing import Any

from stroboscope.engine.files.compression import needed
from stroboscope.engine.files.errors import FileDamagedError, FileFormatError
from stroboscope.engine.outside.limits import GuardLimits
from stroboscope.engine.outside.trust import ASKS_TRUST

__all__ = ["NamedFiles"]

# Whatever is called like this names a file or a folder; `dir` alone is the direction of a light.
_NAMES_A_FILE = re.compile(r"file\w*|\w+file|filename|\w+dir|uri|url|href|src|path")
_FOLDERS = re.compile(r"\w+dir")
# What names further XML, wherever it stands.
_XML_ELEMENTS = ("include", "model")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PACKAGE = re.compile(r"package://|model://")
_FORBIDDEN = ("\0", "\\")
_REPAIR = "name files inside its own folder only"
_SMALLER = "make it smaller or simpler"


class NamedFiles:
    """Follows a model's names from file to file; ``check`` raises for the first that may not be.

    ``root``: the folder whose files it may name. Raises FileFormatError for a name that leads
    out of it, for what is too large or too much, FileDamagedError for XML that can't be read.
    """

    def __init__(self, path: Path, *, root: Path, limits: GuardLimits) -> None:
        self._path = path
        self._root = os.path.realpath(root)
        self._limits = limits
        self._xml: dict[str, int] = {}
        """Files of XML that were looked through, and how deep they are included."""
        self._waiting: list[tuple[str, int]] = []
        self._folders: dict[str, None] = {}
        self._names: dict[tuple[str, bool], str] = {}
        self._known: dict[str, None] = {}
        self._sizes: dict[tuple[int, int], int] = {}
        """Bytes of each file, by what it is, whatever it is called."""

    @property
    def nbytes(self) -> int:
        """How many bytes all files that were looked at have."""
        return sum(self._sizes.values())

    def check(self) -> None:
        """Look at every file that the model names, in all files that it includes."""
        main = os.path.abspath(self._path)
        self._folders[os.path.dirname(main)] = None
        self._waiting.append((main, 0))
        self._add_size(os.stat(main))
        # A folder that one file names counts for the files that any other names.
        while self._waiting:
            while self._waiting:
                self._look_through(*self._waiting.pop())
            self._check_names()

    def _look_through(self, file: str, depth: int) -> None:
        if file in self._xml:
            return
        if len(self._xml) >= self._limits.xml_files:
            raise self._refused(f"it includes more than {self._limits.xml_files} files", _SMALLER)
        if depth > self._limits.xml_depth:
            raise self._refused(
                f"its includes are nested deeper than {self._limits.xml_depth}", _SMALLER
            )
        self._xml[file] = depth
        root = self._parsed(file)
        self._add_folder(os.path.dirname(file), file)
        folders: list[str] = []
        for element in root.iter():
            tag = element.tag if isinstance(element.tag, str) else ""
            attributes = dict(element.attrib)
            if tag == "config":
                # What a plugin takes has names of its own.
                attributes = {attributes.get("key", "").strip(): attributes.get("value", "")}
            for name, value in attributes.items():
                if not _NAMES_A_FILE.fullmatch(name) or not value.strip():
                    continue
                text = self._plain(value, f"{tag} {name}", file)
                if _FOLDERS.fullmatch(name):
                    folders.append(text)
                else:
                    self._names[(text, tag in _XML_ELEMENTS)] = f"<{tag} {name}> in {_base(file)}"
        for folder in folders:
            for base in tuple(self._folders):
                where = os.path.normpath(os.path.join(base, folder))
                self._inside(where, f"the folder {folder!r} named in {_base(file)}")
                self._add_folder(where, file)
        if len(self._names) > self._limits.named_files:
            raise self._refused(f"it names more than {self._limits.named_files:,} files", _SMALLER)

    def _add_folder(self, folder: str, file: str) -> None:
        self._folders[folder] = None
        if len(self._folders) > self._limits.folders:
            raise self._refused(
                f"files of it stand in more than {self._limits.folders} folders ({_base(file)})",
                _SMALLER,
            )

    def _check_names(self) -> None:
        """Look at every place where MuJoCo may look for a name: there is no harm in one more."""
        for (name, is_xml), place in tuple(self._names.items()):
            for base in tuple(self._folders):
                # MuJoCo joins folder and name, or takes the name alone (strippath).
                for each in {name, os.path.basename(name)}:
                    file = os.path.normpath(os.path.join(base, each))
                    if file not in self._known:
                        self._known[file] = None
                        self._check_file(file, f"{name!r} ({place})")
                    if is_xml and file not in self._xml and os.path.isfile(file):
                        depth = 1 + max(self._xml.values(), default=0)
                        self._waiting.append((file, depth))

    def _check_file(self, file: str, what: str) -> None:
        self._inside(file, what)
        try:
            status = os.stat(file)
        except (OSError, ValueError):
            return  # MuJoCo will look elsewhere, or say that it is missing.
        if stat.S_ISDIR(status.st_mode):
            return
        if not stat.S_ISREG(status.st_mode):
            raise self._refused(f"{what} is no plain file")
        if status.st_size > self._limits.file_bytes:
            most = self._limits.file_bytes
            raise self._refused(
                f"{what} has {status.st_size:,} bytes; at most {most:,} are read", _SMALLER
            )
        self._add_size(status)

    def _add_size(self, status: os.stat_result) -> None:
        self._sizes[status.st_dev, status.st_ino] = status.st_size

    def _inside(self, file: str, what: str) -> None:
        real = os.path.realpath(file)
        if real != self._root and not real.startswith(self._root.rstrip(os.sep) + os.sep):
            linked = "" if real == file else f", which leads to {real}"
            raise self._refused(
                f"{what} lies outside of the folder {self._root}{linked}",
                f"if you trust its files: stroboscope open {ASKS_TRUST} {self._path.name}, with "
                "a FOLDER that holds all of them",
            )

    def _plain(self, value: str, what: str, file: str) -> str:
        """Return a name as MuJoCo takes it; refuses those of which nobody knows where they lead."""
        text = _PACKAGE.sub("", value.strip(), count=1)
        if any(character in text for character in _FORBIDDEN) or _SCHEME.match(text):
            raise self._refused(f"{what} {value[:200]!r} in {_base(file)} is no name of a file")
        if text.startswith("~"):
            raise self._refused(f"{what} {value[:200]!r} in {_base(file)} is no name of a file")
        return text

    def _parsed(self, file: str) -> Any:
        parser, errors = needed("defusedxml.ElementTree"), needed("defusedxml.common")
        content = self._content(file)
        try:
            # As text: what the file says of its encoding must not make us read other letters
            # than MuJoCo, which takes every file for UTF-8.
            text = content.decode("utf-8-sig")
            return parser.fromstring(text, forbid_dtd=True)
        except errors.DefusedXmlException as error:
            what = f"{_base(file)} has a DTD or entities, which models from outside may not have"
            raise self._refused(what, "take them out of it") from error
        except UnicodeDecodeError as error:
            raise FileDamagedError(file, f"it is not UTF-8 ({error.reason})", _REPAIR) from error
        except (parser.ParseError, ValueError, LookupError, RecursionError) as error:
            raise FileDamagedError(
                file, f"it is no XML that can be read ({error})", "repair it, or get another copy"
            ) from error

    def _content(self, file: str) -> bytes:
        try:
            with open(file, "rb") as stream:
                content = stream.read(self._limits.xml_bytes + 1)
        except OSError as error:
            raise FileFormatError(
                file, f"it can't be read ({error.strerror or error})", "look at who may read it"
            ) from error
        if len(content) > self._limits.xml_bytes:
            raise self._refused(
                f"{_base(file)} has more than {self._limits.xml_bytes:,} bytes", _SMALLER
            )
        return content

    def _refused(self, wrong: str, todo: str = _REPAIR) -> FileFormatError:
        return FileFormatError(self._path, wrong, todo)


def _base(file: str) -> str:
    return os.path.basename(file)
