"""What makes two compiled models the same: every byte of them but the version that wrote them."""

import hashlib
from typing import Any

import numpy as np

from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["model_digest"]

# An MJB file begins with a few ints: magic, size of a number, counts, and the version.
_HEADER_INTS = 8


def model_digest(model: Any, *, adapter: MujocoAdapter) -> bytes:
    """Return the 32-byte sha256 of ``model`` as an MJB without its version field.

    Any thread; nothing is written. It takes about a millisecond and the model's size in memory,
    so it is computed when a scene is made, not per checkpoint.
    """
    module = adapter.module
    data = np.empty(module.mj_sizeModel(model), dtype=np.uint8)
    module.mj_saveModel(model, None, data)
    header = data[: 4 * _HEADER_INTS].view(np.int32)
    # MuJoCo refuses an MJB of another patch release though the model is the same.
    header[header == module.mj_version()] = 0
    return hashlib.sha256(data.data).digest()
