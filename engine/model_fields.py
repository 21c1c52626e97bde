"""What a compiled model consists of, field by field: to find what was written into it, and to name
in what two models differ.
"""

import dataclasses
import functools
import struct
import threading
import weakref
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.mjb import PATH_FIELDS

__all__ = ["FieldChange", "FieldTable", "ModelFields", "ModelRegistry", "known_models"]

# Structures inside a model whose numbers are fields like any other.
_STRUCTURES = ("opt", "stat", "vis")
# 0 after a model was loaded from an MJB; sizes of memory follow from everything else; where files
# stood changes nothing.
_NOT_COMPARED = frozenset({"signature", "nbuffer", *PATH_FIELDS})
# Large and practically never written: their checksum is kept, not their content.
_ASSETS = (
    "mesh_", "tex_data", "hfield_data", "skin_", "bvh_", "oct_", "names_map", "flex_elem",
    "flex_shell", "text_data",
)  # fmt: skip
# What follows from other fields: named only when nothing else differs.
_DERIVED = (
    "body_subtreemass", "body_invweight0", "body_simple", "body_sameframe", "body_bvh", "bvh_",
    "oct_", "dof_invweight0", "dof_M0", "dof_length", "dof_simplenum", "dof_Madr", "tendon_invw",
    "tendon_length0", "actuator_acc0", "actuator_length0", "geom_rbound", "geom_aabb", "stat.",
    "vis.", "cam_pos0", "cam_poscom0", "cam_mat0", "light_pos0", "light_poscom0", "light_dir0",
    "geom_sameframe", "site_sameframe", "name_", "names", "M_", "B_", "D_", "map",
    "efm", "flexedge_", "qpos_spring", "tree_", "ten_J", "exclude_signature", "nM", "nB", "nC",
    "nD", "nJ", "nbvh", "noct", "nnames", "ntree", "narena", "nout", "nefm",
    "body_ipos", "body_iquat", "flg_", "ngravcomp", "nconmax", "njmax",
)  # fmt: skip
# The prefix of a kind's fields -> its word, and where its names begin.
_KINDS = {
    "body": "body", "jnt": "joint", "geom": "geom", "site": "site", "cam": "camera",
    "light": "light", "flex": "flex", "mesh": "mesh", "skin": "skin", "hfield": "height field",
    "tex": "texture", "mat": "material", "pair": "pair", "exclude": "exclude", "eq": "equality",
    "tendon": "tendon", "actuator": "actuator", "sensor": "sensor", "numeric": "numeric",
    "text": "text", "tuple": "tuple", "key": "keyframe", "plugin": "plugin",
}  # fmt: skip
_NAMES_OF = "names of "
_NOT_SIMULATED = ("key_", "numeric_", "tuple_", "stat.", "vis.")
_SHOWN = 3
_RANK_OF_DERIVED = 4
_MOST_TABLE_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class FieldChange:
    """A field of a model with other values than before, and which one in words."""

    field: str
    before: NDArray[Any]
    now: NDArray[Any]
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class _FieldNames:
    """The fields of models of one MuJoCo version, in a fixed order."""

    sizes: tuple[str, ...]
    arrays: tuple[str, ...]
    bytes_: tuple[str, ...]

    @property
    def checked(self) -> tuple[str, ...]:
        """All of them, sizes first, as in a :class:`FieldTable`."""
        names = tuple(f"{_NAMES_OF}{kind}" for kind in _KINDS)
        return self.sizes + names + self.arrays + self.bytes_


class FieldTable:
    """Sizes, and checksums of everything else: enough to say which fields differ.

    ``checks`` by field. It travels in checkpoints, so it is small: 16 bits per field, packed.
    """

    def __init__(self, checks: dict[str, int], *, size_count: int) -> None:
        self.checks = checks
        values = tuple(checks.values())
        self._sizes, self._rest = values[:size_count], values[size_count:]

    def packed(self) -> bytes:
        """Return the table as bytes; the order of fields is that of the MuJoCo version."""
        plain = struct.pack(f"<{len(self._sizes)}q{len(self._rest)}H", *self._sizes, *self._rest)
        return zlib.compress(plain, 9)

    @classmethod
    def unpacked(cls, packed: bytes, model: Any) -> "FieldTable | None":
        """Return the table of another model; None when it isn't one of this MuJoCo's."""
        names = _field_names(model)
        sizes, all_names = len(names.sizes), names.checked
        form = struct.Struct(f"<{sizes}q{len(all_names) - sizes}H")
        try:
            plain = zlib.decompressobj().decompress(packed, _MOST_TABLE_BYTES)
        except zlib.error:
            return None
        if len(plain) != form.size:
            return None
        checks = dict(zip(all_names, form.unpack(plain), strict=True))
        return cls(checks, size_count=sizes)


class ModelFields:
    """The fields of a model as they were when this was made; any thread.

    Numbers are copied; of large assets only a checksum is kept.
    """

    def __init__(self, model: Any) -> None:
        names = _field_names(model)
        self.sizes: dict[str, int] = {name: int(getattr(model, name)) for name in names.sizes}
        self.names: dict[str, tuple[str, ...]] = dict(_all_names(model))
        self.arrays: dict[str, NDArray[Any]] = {}
        checks: dict[str, int] = dict(self.sizes)
        for kind, known in self.names.items():
            checks[f"{_NAMES_OF}{kind}"] = _check("\0".join(known).encode() if any(known) else b"")
        for name in names.arrays:
            value = _array(model, name)
            checks[name] = _check(value)
            if not name.startswith(_ASSETS):
                self.arrays[name] = value.copy()
        for name in names.bytes_:
            checks[name] = _check(getattr(model, name))
        self.table = FieldTable(checks, size_count=len(names.sizes))
        self.compared = names.arrays + names.bytes_
        """What can be written into: everything but sizes and names."""
        self._kept_as_check = frozenset(self.compared) - self.arrays.keys()

    def changed(self, model: Any, *, only: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return the names of what :meth:`changes` would return, which takes longer."""
        return tuple(sorted((name for name, *_ in self._written(model, only)), key=_rank))

    def changes(self, model: Any, *, only: Iterable[str] | None = None) -> tuple[FieldChange, ...]:
        """Return what has other values in ``model`` now: somebody has written into it.

        ``only``: of these fields; None: of all.

        Of assets that have changed, ``before`` and ``now`` are empty: they can't be put back.
        """
        found = []
        for name, before, current in self._written(model, only):
            if before is None or current is None:
                nothing = np.empty(0)
                found.append(FieldChange(name, nothing, nothing, f"{name} was changed"))
            else:
                text = self.value_text(name, before, current, "at first", "now")
                found.append(FieldChange(name, before, current.copy(), text))
        return tuple(sorted(found, key=lambda change: _rank(change.field)))

    def _written(
        self, model: Any, only: Iterable[str] | None
    ) -> Iterator[tuple[str, NDArray[Any] | None, NDArray[Any] | None]]:
        """Go through what has other values in ``model``: what it had and has, None of assets."""
        checks, arrays = self.table.checks, self.arrays
        for name in self.compared if only is None else only:
            before = arrays.get(name)
            if before is not None:
                current = _array(model, name)
                if before.tobytes() != current.tobytes():
                    yield name, before, current
            elif name in self._kept_as_check and _check(getattr(model, name)) != checks[name]:
                yield name, None, None

    def check_of(self, model: Any, field: str) -> int:
        """Return a checksum of what a field has in ``model`` now."""
        return _check(_array(model, field))

    def first_nan(self, model: Any) -> str:
        """Say which number of ``model`` is NaN, first one that others follow from; "" if none."""
        for name in sorted(self.arrays, key=_rank):
            current = _array(model, name)
            if current.dtype.kind != "f" or name.startswith(_NOT_SIMULATED):
                continue
            where = np.argwhere(np.isnan(np.atleast_1d(current)))
            if len(where):
                place = self._place(name, tuple(where[0].tolist())) if current.ndim else ""
                return f"{name}{place} is nan"
        return ""

    def differences(self, other: "ModelFields | FieldTable") -> str:
        """Return in words what is different: "here" is this model, "there" the other."""
        its = other.table if isinstance(other, ModelFields) else other
        mine = self.table.checks
        fields = sorted((n for n in mine if its.checks.get(n) != mine[n]), key=_rank)
        if not fields:
            return ""
        # Of fields that follow from others only the cause is named: of other sizes, addresses.
        first = _rank(fields[0])
        most = 1 if first == 0 else min(first + 2, _RANK_OF_DERIVED - 1)
        fields = [name for name in fields if _rank(name) <= most] or fields
        texts = [self._difference(name, other) for name in fields[:_SHOWN]]
        more = f" (+{len(fields) - _SHOWN} more)" if len(fields) > _SHOWN else ""
        return "; ".join(texts) + more

    def _difference(self, name: str, other: "ModelFields | FieldTable") -> str:
        table = other.table if isinstance(other, ModelFields) else other
        if name in self.sizes:
            return f"{name} is {self.sizes[name]} here, {table.checks[name]} there"
        if isinstance(other, ModelFields):
            if name.startswith(_NAMES_OF):
                kind = name.removeprefix(_NAMES_OF)
                return _name_difference(_KINDS[kind], self.names[kind], other.names[kind])
            if name in self.arrays and self.arrays[name].shape == other.arrays[name].shape:
                return self.value_text(name, self.arrays[name], other.arrays[name], "here", "there")
        if name.startswith(_NAMES_OF):
            return (
                f"{_plural(_KINDS[name.removeprefix(_NAMES_OF)])} have other names or another order"
            )
        return f"{name} differs"

    def value_text(
        self, name: str, one: NDArray[Any], two: NDArray[Any], first: str, second: str
    ) -> str:
        """Say which value differs first; ``one`` and ``two`` have the same shape."""
        unequal = np.atleast_1d(one != two) & ~np.atleast_1d(_both_nan(one, two))
        where = np.argwhere(unequal)
        if not len(where):  # -0.0 and 0.0, or other NaNs
            return f"{name} differs in its bits"
        index = tuple(int(i) for i in where[0])
        a, b = np.atleast_1d(one)[index], np.atleast_1d(two)[index]
        more = f" (+{len(where) - 1} more values)" if len(where) > 1 else ""
        place = self._place(name, index) if one.ndim else ""
        return f"{name}{place}: {_number(a)} {first}, {_number(b)} {second}{more}"

    def _place(self, name: str, index: tuple[int, ...]) -> str:
        column = "".join(f"[{i}]" for i in index[1:])
        if "." in name:
            return "".join(f"[{i}]" for i in index)
        prefix = name.split("_", 1)[0]
        row = index[0]
        if prefix == "dof" and "dof_jntid" in self.arrays:
            row, prefix = int(self.arrays["dof_jntid"][row]), "jnt"
        names = self.names.get(prefix, ())
        if row < len(names) and names[row]:
            return f"{column} of {_KINDS[prefix]} {names[row]!r}"
        if row < len(names):
            return f"{column} of {_KINDS[prefix]} {row}"
        return f"[{row}]{column}"

    def value(self, name: str) -> NDArray[Any] | None:
        """Return the values of a field as they were; None for assets."""
        return self.arrays.get(name)


def write_field(model: Any, name: str, value: NDArray[Any]) -> None:
    """Write ``value`` into a field of a model; its shape must be the field's."""
    owner, last = owner_of(model, name)
    current = getattr(owner, last)
    if isinstance(current, np.ndarray):
        current[...] = value
    else:
        setattr(owner, last, value.reshape(()).item())


def owner_of(model: Any, name: str) -> tuple[Any, str]:
    """Return the model, or the structure in it, that has a field, and what the field is there."""
    *path, last = name.split(".")
    return functools.reduce(getattr, path, model), last


def read_field(model: Any, name: str) -> NDArray[Any]:
    """Return the values of a field as an array; a view where MuJoCo has an array."""
    return _array(model, name)


class ModelRegistry:
    """The fields of all models that scenes of this process have, by digest; any thread.

    Scenes of the same model share one entry, and a checkpoint of another model can say in which
    value that one differs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: weakref.WeakValueDictionary[bytes, ModelFields] = weakref.WeakValueDictionary()

    def fields_of(self, model: Any, digest: bytes) -> ModelFields:
        """Return the fields of a model whose digest this is, read once per model."""
        known = self.find(digest)
        if known is None:
            known = ModelFields(model)
            with self._lock:
                known = self._known.setdefault(digest, known)
        return known

    def find(self, digest: bytes) -> ModelFields | None:
        """Return the fields of a model that some scene has; None when none has it."""
        with self._lock:
            return self._known.get(digest)


_registry = ModelRegistry()
_known_fields: dict[type, _FieldNames] = {}


def known_models() -> ModelRegistry:
    """Return this process's registry."""
    return _registry


def _field_names(model: Any) -> _FieldNames:
    """Return the fields of models of this kind, looked up once."""
    if type(model) not in _known_fields:
        _known_fields[type(model)] = _find_fields(model)
    return _known_fields[type(model)]


def _find_fields(model: Any) -> _FieldNames:
    sizes, arrays, texts = [], [], []
    for name in sorted(dir(type(model))):
        if name.startswith("_") or name in _NOT_COMPARED:
            continue
        value = getattr(model, name)
        if isinstance(value, np.ndarray | bool):  # what mj_setConst finds is no size
            arrays.append(name)
        elif isinstance(value, bytes):
            texts.append(name)
        elif isinstance(value, int):
            sizes.append(name)
    for structure in _STRUCTURES:
        arrays.extend(_numbers_in(getattr(model, structure), structure))
    return _FieldNames(tuple(sizes), tuple(arrays), tuple(texts))


def _numbers_in(structure: Any, path: str) -> Iterator[str]:
    for name in sorted(dir(type(structure))):
        if name.startswith("_"):
            continue
        value = getattr(structure, name)
        if isinstance(value, int | float | np.ndarray):
            yield f"{path}.{name}"
        elif not callable(value):
            yield from _numbers_in(value, f"{path}.{name}")


def _array(model: Any, name: str) -> NDArray[Any]:
    if "." not in name:  # a third of the time; hundreds of fields are compared at once
        return np.asarray(getattr(model, name))
    return np.asarray(functools.reduce(getattr, name.split("."), model))


def _check(content: Any) -> int:
    """Return 16 bits of a checksum; 0 for nothing."""
    if isinstance(content, np.ndarray):
        if not content.size:
            return 0
        content = (
            np.ascontiguousarray(content).data.cast("B") if content.ndim else content.tobytes()
        )
    return zlib.crc32(content) & 0xFFFF if len(content) else 0


def _all_names(model: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    blob = bytes(model.names)
    for prefix in _KINDS:
        starts: Iterable[int] = getattr(model, f"name_{prefix}adr", ())
        yield (
            prefix,
            tuple(
                blob[start : blob.index(b"\0", start)].decode("utf-8", "replace")
                for start in map(int, starts)
            ),
        )


def _name_difference(kind: str, mine: tuple[str, ...], its: tuple[str, ...]) -> str:
    if sorted(mine) == sorted(its):
        moved = next(i for i, (a, b) in enumerate(zip(mine, its, strict=True)) if a != b)
        return (
            f"{_plural(kind)} stand in another order: number {moved} is {mine[moved]!r} here, "
            f"{its[moved]!r} there"
        )
    for index, (a, b) in enumerate(zip(mine, its, strict=False)):
        if a != b:
            return f"{kind} {index} is called {a!r} here, {b!r} there"
    return f"there are {len(mine)} {_plural(kind)} here, {len(its)} there"


def _plural(kind: str) -> str:
    return {"body": "bodies", "equality": "equalities", "mesh": "meshes", "flex": "flexes"}.get(
        kind, f"{kind}s"
    )


def _rank(name: str) -> int:
    """Return how early to name a field: sizes, names, options, physics, looks, what follows."""
    if name.startswith(_NAMES_OF):
        return 1
    if name.startswith(_DERIVED):
        return _RANK_OF_DERIVED
    if "_" not in name and "." not in name:
        return 0
    return 2 if name.startswith(("opt.", "body_mass")) else 3


def _both_nan(one: NDArray[Any], two: NDArray[Any]) -> NDArray[np.bool_] | bool:
    if one.dtype.kind != "f":
        return False
    return np.asarray(np.isnan(one) & np.isnan(two))


def _number(value: Any) -> str:
    if isinstance(value, bytes):
        return repr(value)
    number = value.item()
    return repr(number)
