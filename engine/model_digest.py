"""What makes two compiled models the same: every byte of them, but who wrote them and where."""

import hashlib
from typing import Any

from stroboscope.engine.mjb import mjb_of, without_version
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["digest_of_mjb", "model_digest"]


def model_digest(model: Any, *, adapter: MujocoAdapter) -> bytes:
    """Return the 32-byte sha256 of ``model`` as an MJB without its version and without paths.

    MuJoCo refuses an MJB of another patch release though the model is the same, and the same
    script has its files in another folder on each computer. Any thread; nothing is written. It
    takes about a millisecond and the model's size in memory, so it is computed when a scene is
    made, not per checkpoint.
    """
    return digest_of_mjb(mjb_of(model, adapter=adapter), adapter=adapter)


def digest_of_mjb(content: bytearray, *, adapter: MujocoAdapter) -> bytes:
    """Return the digest of the model in what :func:`mjb_of` has returned, which is spoilt by it."""
    without_version(content, adapter=adapter)
    return hashlib.sha256(content).digest()
