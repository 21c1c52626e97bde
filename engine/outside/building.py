"""From a file that is not ours to a compiled model; only ever called in the guarded process."""

import codecs
import hashlib
import importlib
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from stroboscope.engine.changed_fields import changed_models
from stroboscope.engine.files.bundle import Archive, ArchiveLimits
from stroboscope.engine.files.errors import FileDamagedError, FileFormatError, FileVersionError
from stroboscope.engine.files.kinds import HEAD_BYTES, FileKind, kind_of
from stroboscope.engine.files.scene_manifest import (
    EXACT_MODEL,
    PORTABLE_MODEL,
    SCENE_LIMITS,
    SceneManifest,
    read_manifest,
)
from stroboscope.engine.mjb import mjb_of, mjb_version
from stroboscope.engine.model_digest import digest_of_mjb
from stroboscope.engine.model_fields import FieldTable, ModelFields
from stroboscope.engine.mujoco_adapter import MujocoAdapter, load_mujoco
from stroboscope.engine.option_codes import impossible_option
from stroboscope.engine.outside.answers import Built, Question
from stroboscope.engine.outside.named_files import NamedFiles

__all__ = ["build", "import_all", "plain"]

# What is imported late elsewhere: modules, and codecs, which are modules as well.
_LATE = ("defusedxml.ElementTree", "defusedxml.common", "xml.etree.ElementTree", "linecache")
_CODECS = ("utf-8", "utf-8-sig", "ascii", "latin-1", "cp437")
_MJZ_LIMITS = ArchiveLimits(entries=10_000, directory_bytes=4 << 20)
_MODEL_IN_ARCHIVE = "model.xml"
_XML_SUFFIXES = (".xml", ".urdf")
_MOST_NOTES, _LONGEST_NOTE = 20, 500
_REPAIR = "repair it, or get another copy"
_AGAIN = "get the file once more from whoever made it"


def import_all() -> None:
    """Import what building needs, as nothing can be imported later."""
    for name in _LATE:
        try:
            importlib.import_module(name)
        except ImportError:  # told when it is needed
            continue
    for name in _CODECS:
        codecs.lookup(name)
    load_mujoco().plugin_names()  # which looks for MuJoCo's library


def build(question: Question, content: bytes | None) -> tuple[Built, tuple[bytes, ...]]:
    """Return what the file is, and its compiled and portable model (which may be empty).

    ``content``: the file's bytes when it is none on the disk. Raises an EngineError.
    """
    return _Builder(question, content).build()


class _Builder:
    """Builds one model."""

    def __init__(self, question: Question, content: bytes | None) -> None:
        self._question = question
        self._content = content
        self._path = Path(question.path)
        self._limits = question.limits
        self._adapter: MujocoAdapter = load_mujoco()
        self._notes: list[str] = []
        self._given = 0
        """How many bytes the model is made of."""

    def build(self) -> tuple[Built, tuple[bytes, ...]]:
        head = self._content
        if head is None:
            with self._path.open("rb") as file:
                head = file.read(HEAD_BYTES)
        kind = kind_of(head[:HEAD_BYTES])
        match kind:
            case FileKind.SCENE:
                return self._scene()
            case FileKind.MJZ:
                model = self._from_mjz(self._source())
            case FileKind.MJB:
                model = self._from_mjb(self._bytes())
            case FileKind.MJCF | FileKind.URDF:
                model_file = self._on_disk()
                own = self._content is not None
                root = model_file.parent if own else Path(self._question.root)
                model = self._from_xml(model_file, root=root)
            case FileKind.TRAJECTORY:
                raise self._refused(
                    "it is a recorded run or a checkpoint", "use load_trajectory or load_checkpoint"
                )
            case _:
                raise self._refused(
                    f"it is no file that can be opened: it begins with {head[:16]!r}",
                    "name a scene, a trajectory, MJCF, URDF or MJB",
                )
        content, digest = self._compiled(model)
        built = Built(kind=kind, name=self._name(model), exact=kind is FileKind.MJB, digest=digest)
        return self._answer(built, content, b"")

    # --- scenes

    def _scene(self) -> tuple[Built, tuple[bytes, ...]]:
        with Archive(
            self._source(), path=self._path, limits=SCENE_LIMITS, what="a scene"
        ) as archive:
            manifest = read_manifest(archive)
            members = {name: self._member(archive, manifest, name) for name in manifest.members}
        extra = set(archive.names) - set(members) - {"manifest.json"}
        if extra:
            raise self._refused(f"{sorted(extra)[0]!r} in it is not in its manifest", _AGAIN)
        model, exact = self._model_of_scene(manifest, members)
        content, digest = self._compiled(model)
        difference = ""
        if digest != manifest.model_digest:
            if exact:
                raise FileDamagedError(
                    self._path,
                    f"its {EXACT_MODEL} is not the model that its manifest describes "
                    f"({self._difference(model, manifest)})",
                    _AGAIN,
                )
            difference = self._difference(model, manifest)
        manifest = self._with_changes(model, manifest, same=not difference)
        built = Built(
            kind=FileKind.SCENE,
            name=manifest.name,
            exact=exact,
            digest=digest,
            difference=difference,
            manifest=manifest,
        )
        return self._answer(built, content, members.get(PORTABLE_MODEL, b""))

    def _member(self, archive: Archive, manifest: SceneManifest, name: str) -> bytes:
        content = archive.read(name)
        if hashlib.sha256(content).hexdigest() != manifest.members[name]:
            raise FileDamagedError(
                self._path, f"{name!r} in it is not what its manifest says (sha256)", _AGAIN
            )
        return content

    def _model_of_scene(
        self, manifest: SceneManifest, members: dict[str, bytes]
    ) -> tuple[Any, bool]:
        """Return the model, and whether it is the exact one."""
        if manifest.engine != "mujoco":
            raise self._refused(
                f"its engine is {manifest.engine!r}; only 'mujoco' is known here", _REPAIR
            )
        why = f"its exact model is of MuJoCo {manifest.engine_version}, this is "
        why += self._adapter.version
        if EXACT_MODEL in members and manifest.engine_version == self._adapter.version:
            why = self._other_plugins(manifest)
            if not why:
                return self._from_mjb(members[EXACT_MODEL]), True
        if PORTABLE_MODEL not in members:
            raise FileVersionError(
                self._path,
                f"{why}, and there is no portable model in it ({manifest.portable_note})",
                f"open it with MuJoCo {manifest.engine_version}, or have it exported from a scene "
                "that was made from a file",
            )
        return self._from_mjz(members[PORTABLE_MODEL]), False

    def _with_changes(self, model: Any, manifest: SceneManifest, *, same: bool) -> SceneManifest:
        """Try what had been written into the model as well: it may be anything.

        What another model (not ``same``) can't have is left out, and told.
        """
        if not manifest.changes:
            return manifest
        try:
            for changed in changed_models(model, manifest.changes, adapter=self._adapter):
                self._try(changed)
        except ValueError as error:
            text = f"what was written into its model can't be written into this one: {error}"
            if same:
                raise FileDamagedError(self._path, text, _AGAIN) from error
            self._notes.append(text)
            return msgspec.structs.replace(manifest, changes=())
        return manifest

    def _other_plugins(self, manifest: SceneManifest) -> str:
        """Say whether the numbers of plugins in the exact model mean other plugins here."""
        if not manifest.plugins:
            return ""
        here = self._adapter.plugin_names()
        for number, name in manifest.plugins.items():
            index = int(number) if number.isdecimal() else -1
            found = here[index] if 0 <= index < len(here) else ""
            if found != name:
                return f"its plugin {name!r} has another number here"
        return ""

    def _difference(self, model: Any, manifest: SceneManifest) -> str:
        mine = ModelFields(model)
        checks = mine.table.checks
        # What only one of two versions of MuJoCo has can't be compared.
        theirs = checks | {name: n for name, n in manifest.fields.items() if name in checks}
        named = mine.differences(FieldTable(theirs, size_count=len(mine.sizes)))
        return named or "in what only one of both versions of MuJoCo has"

    # --- models

    def _from_mjz(self, content: bytes | Path) -> Any:
        """Compile an archive of MJCF and assets, unpacked into a folder of its own."""
        folder = Path(self._question.scratch) / "unpacked"
        shutil.rmtree(folder, ignore_errors=True)
        with Archive(content, path=self._path, limits=_MJZ_LIMITS, what="an MJZ") as archive:
            names = archive.names
            if any(name.lower().endswith((".mjz", ".zip", ".strobe")) for name in names):
                raise self._refused("it is an archive with archives in it")
            main = _main_file(names)
            if not main:
                raise self._refused("there is no MJCF file in it", _REPAIR)
            for name in names:
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))
        return self._from_xml(folder / main, root=folder)

    def _from_xml(self, path: Path, *, root: Path) -> Any:
        files = NamedFiles(path, root=root, limits=self._limits)
        files.check()
        self._given = files.nbytes
        module = self._adapter.module
        if path.suffix.lower() in _XML_SUFFIXES and plain(str(path)) == str(path):
            spec = self._guarded(lambda: module.MjSpec.from_file(str(path)))
        else:
            # By another name MuJoCo takes it for nothing, or can't open it; what it names is looked
            # for in this folder then.
            os.chdir(path.parent)
            text = path.read_text(encoding="utf-8-sig")
            spec = self._guarded(lambda: module.MjSpec.from_string(text))
        return self._guarded(spec.compile)

    def _from_mjb(self, content: bytes) -> Any:
        self._given = len(content)
        written_by = mjb_version(content)
        if written_by and written_by != self._adapter.version:
            raise FileVersionError(
                self._path,
                f"it is a compiled model of MuJoCo {written_by}, this is {self._adapter.version}",
                f"use MuJoCo {written_by}, or compile it anew from its source",
            )
        module = self._adapter.module
        return self._guarded(
            lambda: module.MjModel.from_binary_path("model.mjb", {"model.mjb": content})
        )

    def _try(self, model: Any) -> None:
        """Compute one step: a model that crashes MuJoCo shall do that here."""
        module = self._adapter.module
        numbers = int(module.mj_stateSize(model, self._adapter.integration))
        if not 0 < numbers <= self._limits.state_numbers:
            raise self._refused(
                f"its state has {numbers:,} numbers; at most {self._limits.state_numbers:,} are "
                "kept"
            )

        # A step in which nothing touches would not show these.
        if wrong := impossible_option(model, adapter=self._adapter):
            raise self._refused(wrong, _REPAIR)

        data = self._guarded(lambda: module.MjData(model))
        self._check_proportion(data, int(data.nbuffer), "its data take", self._limits.small_state)
        self._guarded(lambda: module.mj_forward(model, data))

    def _check_proportion(self, owner: Any, nbytes: int, what: str, small: int) -> None:
        """Refuse what takes far more than all that it is made of, with the name of the largest."""
        most = max(small, self._limits.ratio * self._given)
        if nbytes <= most:
            return
        values = {name: getattr(owner, name, None) for name in dir(owner)}
        arrays = {name: each for name, each in values.items() if isinstance(each, np.ndarray)}
        largest = max(arrays, key=lambda name: arrays[name].nbytes)
        raise self._refused(
            f"{what} {nbytes:,} bytes, most of them {largest} ({arrays[largest].nbytes:,}); what "
            f"is made of {self._given:,} bytes takes at most {most:,}",
            "make it smaller, or open it in a script of your own if you trust it",
        )

    def _guarded(self, action: Any) -> Any:
        """Do something in MuJoCo; its complaints become ours."""
        module = self._adapter.module
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                return action()
            except (ValueError, RuntimeError, OSError, OverflowError, module.FatalError) as error:
                if "allocate memory" in str(error):
                    raise self._too_much_memory() from error
                raise self._refused(f"MuJoCo can't build it: {_short(error)}", _REPAIR) from error
            except MemoryError:
                raise self._too_much_memory() from None
            finally:
                self._notes.extend(_short(each.message) for each in caught)

    # --- what comes out

    def _compiled(self, model: Any) -> tuple[bytes, str]:
        """Return the bytes of a model that can be stepped, and its digest."""
        nbytes = int(self._adapter.module.mj_sizeModel(model))
        self._check_proportion(model, nbytes, "compiled it has", self._limits.small)
        self._try(model)
        content = mjb_of(model, adapter=self._adapter)
        if len(content) > self._limits.result:
            raise self._refused(
                f"compiled it has {len(content):,} bytes; at most {self._limits.result:,} are taken"
            )
        kept = bytes(content)
        return kept, digest_of_mjb(content, adapter=self._adapter).hex()

    def _answer(
        self, built: Built, content: bytes, portable: bytes
    ) -> tuple[Built, tuple[bytes, ...]]:
        notes = tuple(self._notes[:_MOST_NOTES])
        if len(self._notes) > _MOST_NOTES:
            notes = (*notes, f"+{len(self._notes) - _MOST_NOTES} more warnings")
        # A robot's meshes are a hundred megabytes: who has them needs no copy.
        is_given = content == self._content
        content = b"" if is_given else content
        sizes = (len(content), len(portable))
        built = msgspec.structs.replace(built, notes=notes, sizes=sizes, is_given=is_given)
        return built, (content, portable)

    def _name(self, model: Any) -> str:
        own = bytes(model.names).partition(b"\0")[0].decode("utf-8", errors="replace")
        return plain(own if own not in ("", "MuJoCo Model") else self._path.stem)

    def _source(self) -> bytes | Path:
        return self._path if self._content is None else self._content

    def _bytes(self) -> bytes:
        if self._content is not None:
            return self._content
        size = os.path.getsize(self._path)
        if size > self._limits.file_bytes:
            raise self._refused(
                f"it has {size:,} bytes; at most {self._limits.file_bytes:,} are read"
            )
        return self._path.read_bytes()

    def _on_disk(self) -> Path:
        """Return a file with the content, which may name no other."""
        if self._content is None:
            return self._path
        file = Path(self._question.scratch) / "model" / _MODEL_IN_ARCHIVE
        file.parent.mkdir()
        file.write_bytes(self._content)
        return file

    def _too_much_memory(self) -> FileFormatError:
        return self._refused(f"it needs more than {self._limits.memory / 2**30:g} GiB of memory")

    def _refused(self, wrong: str, todo: str = "make it smaller or simpler") -> FileFormatError:
        return FileFormatError(self._path, wrong, todo)


def _main_file(names: tuple[str, ...]) -> str:
    """Return the model among an archive's files: the one called so, or the outermost."""
    if _MODEL_IN_ARCHIVE in names:
        return _MODEL_IN_ARCHIVE
    files = [name for name in names if name.lower().endswith((".xml", ".mjcf", ".urdf"))]
    return min(files, key=lambda name: (name.count("/"), name), default="")


def plain(text: str) -> str:
    """Return text that UTF-8 can hold: names of files may be anything."""
    return text.encode("utf-8", "backslashreplace").decode()


def _short(error: object) -> str:
    text = " ".join(plain(str(error)).split())
    return text if len(text) <= _LONGEST_NOTE else f"{text[: _LONGEST_NOTE - 1]}…"
