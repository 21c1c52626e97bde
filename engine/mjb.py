"""Compiled models as bytes (MJB), without the paths of files that MuJoCo writes into them.

A model remembers from which files its meshes, textures and height fields came, with their folders.
Nothing depends on that, but it tells a stranger where somebody keeps what, and the same model has
other bytes on another computer.
"""

import copy
import dataclasses
import functools
import struct
from typing import Any

import numpy as np

from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["PATH_FIELDS", "mjb_of", "mjb_version", "without_version"]

PATH_FIELDS = (
    "npaths", "paths", "mesh_pathadr", "skin_pathadr", "hfield_pathadr", "tex_pathadr",
    "tex_contenttypeadr",
)  # fmt: skip
"""The fields of a model that say where its files stood."""

_MAGIC = 54321
# An MJB file begins with a few ints: magic, size of a number, counts, and the version.
_HEADER_INTS = 8
# MuJoCo begins every array of a model's memory at a multiple of this.
_ALIGNMENT = 64
_TETRAHEDRON = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"


def mjb_of(model: Any, *, adapter: MujocoAdapter) -> bytearray:
    """Return ``model`` as an MJB that knows no path; any thread, nothing is written into it.

    It loads into a model that differs in :data:`PATH_FIELDS` only.
    """
    paths = bytes(model.paths)
    if not paths.strip(b"\0"):
        return _saved(model, adapter)
    neutral = copy.copy(model)
    for name in PATH_FIELDS:
        if name.endswith("adr") and hasattr(neutral, name):
            getattr(neutral, name)[...] = -1
    content = _saved(neutral, adapter)
    at = content.rfind(paths)
    content[at : at + len(paths)] = b"\0"
    places = _places(adapter)
    fewer = _aligned(len(paths)) - _aligned(1)
    places.write(content, places.npaths, 1)
    places.write(content, places.nbuffer, int(model.nbuffer) - fewer)
    return content


def mjb_version(content: bytes | bytearray | memoryview) -> str:
    """Return the MuJoCo that wrote an MJB, like "4.0.1"; empty where the MJB does not say it.

    Since 4.0 it stands among the first numbers, with three digits each for minor and patch.
    """
    if len(content) < 4 * _HEADER_INTS:
        return ""
    magic, *words = struct.unpack_from(f"<{_HEADER_INTS}i", content)
    if magic != _MAGIC:
        return ""
    version = next((word for word in words if 4_000_000 <= word < 100_000_000), 0)
    if not version:
        return ""
    return f"{version // 1_000_000}.{version // 1000 % 1000}.{version % 1000}"


def without_version(content: bytearray, *, adapter: MujocoAdapter) -> None:
    """Make an MJB forget which patch release wrote it: the model may be the same in several."""
    header = np.frombuffer(content, dtype=np.int32, count=_HEADER_INTS)
    header[header == int(adapter.module.mj_version())] = 0


def _saved(model: Any, adapter: MujocoAdapter) -> bytearray:
    module = adapter.module
    content = bytearray(module.mj_sizeModel(model))
    module.mj_saveModel(model, None, np.frombuffer(content, dtype=np.uint8))
    return content


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


@dataclasses.dataclass(frozen=True, slots=True)
class _Places:
    """Where in an MJB the length of all paths stands, and the size of the model's memory."""

    npaths: int
    nbuffer: int
    number: struct.Struct

    def write(self, content: bytearray, place: int, value: int) -> None:
        self.number.pack_into(content, place, value)


@functools.cache
def _places(adapter: MujocoAdapter) -> _Places:
    """Find these places by comparing two models that differ in the length of a path alone.

    The list of sizes is another one in each version of MuJoCo, so MuJoCo itself is asked.
    """
    models = [_model_of_file(name, adapter) for name in ("a.obj", f"{'b' * _ALIGNMENT}.obj")]
    contents = [_saved(model, adapter) for model in models]
    end = min(
        content.rfind(bytes(model.paths)) for content, model in zip(contents, models, strict=True)
    )
    for number in (struct.Struct("<q"), struct.Struct("<i")):
        found = [
            [
                at
                for at in range(0, end - number.size, 4)
                if all(
                    number.unpack_from(content, at)[0] == int(getattr(model, size))
                    for content, model in zip(contents, models, strict=True)
                )
            ]
            for size in ("npaths", "nbuffer")
        ]
        if all(len(places) == 1 for places in found):
            return _Places(found[0][0], found[1][0], number)
    raise NotImplementedError(
        f"the compiled models of MuJoCo {adapter.version} have an order that is not known here"
    )


def _model_of_file(name: str, adapter: MujocoAdapter) -> Any:
    text = (
        f'<mujoco><asset><mesh name="m" file="{name}"/></asset>'
        '<worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>'
    )
    return adapter.module.MjModel.from_xml_string(text, {name: _TETRAHEDRON})
