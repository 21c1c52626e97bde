"""Memory that a model's contacts and constraints need: how much, and a model with more of it.

MuJoCo takes it from an arena whose size is fixed when the model is compiled (``<size memory>``). It
takes no part in the physics, so a copy with a larger one continues exactly.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf
from stroboscope.engine.frames.evaluation import evaluate
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.stops.cause import Cause, option_edit

__all__ = ["MEMORY", "bytes_text", "memory_cause", "needed_memory", "split_memory", "with_memory"]

MEMORY = "memory"
"""What the size is called among the options of a re-simulation [bytes]."""
_MOST_BYTES = 1 << 30
_LARGEST_MODEL = 64 << 20
_SMALLEST_OFFER = 1 << 20


def with_memory(model: Any, size: int, *, adapter: MujocoAdapter) -> Any:
    """Return a copy of ``model`` whose data have ``size`` bytes of memory for constraints.

    Raises CommandError for less than the model has, for more than 1 GiB, and for models of which
    MuJoCo's binary form does not say the size where it is expected.
    """
    now = int(model.narena)
    if not now <= size <= _MOST_BYTES:
        raise CommandError(
            f"memory must be {bytes_text(now)}…{bytes_text(_MOST_BYTES)}, not {bytes_text(size)}"
        )
    module = adapter.module
    image = np.empty(int(module.mj_sizeModel(model)), dtype=np.uint8)
    module.mj_saveModel(model, None, image)
    place = _place_of_size(image, model)
    image[place : place + 8].view(np.int64)[0] = size
    name = "model.mjb"
    larger = module.MjModel.from_binary_path(name, {name: image.tobytes()})
    if int(larger.narena) != size:
        raise CommandError("the memory of this model can't be changed: compile it with more")
    return larger


def _place_of_size(image: NDArray[np.uint8], model: Any) -> int:
    """Return where the header says how large the arena is: just before the size of the buffer."""
    pattern = np.array((int(model.narena), int(model.nbuffer)), dtype=np.int64).tobytes()
    place = image[:_HEADER_BYTES].tobytes().find(pattern)
    if place < 0:
        raise CommandError("the memory of this model can't be changed: compile it with more")
    return place


_HEADER_BYTES = 4096


def split_memory(edits: Sequence[WhatIf]) -> tuple[int | None, tuple[WhatIf, ...]]:
    """Return the memory that edits ask for [bytes], and the other edits."""
    others = tuple(e for e in edits if (e.kind, e.name) != (EditKind.OPTION, MEMORY))
    sizes = [e.values[0] for e in edits if e not in others and len(e.values) == 1]
    return (int(sizes[-1]) if sizes else None), others


def needed_memory(model: Any, row: NDArray[np.float64], *, adapter: MujocoAdapter) -> int | None:
    """Return how many bytes the step that begins with ``row`` needs; None if that can't be told."""
    if adapter.callbacks_of_steps(model):
        return None
    if int(adapter.module.mj_sizeModel(model)) > _LARGEST_MODEL:
        return None
    for factor in (16, 256, 4096):
        size = min(max(int(model.narena) * factor, _SMALLEST_OFFER), _MOST_BYTES // 4)
        try:
            larger = with_memory(model, size, adapter=adapter)
            data = adapter.module.MjData(larger)
            adapter.mj_setState(larger, data, row, adapter.integration)
            evaluate(larger, data, adapter=adapter)
        except CommandError:
            return None
        except adapter.module.FatalError:
            continue
        if not any(int(warning.number) for warning in _full(data, adapter)):
            return int(data.maxuse_arena)  # the stack included
    return None


def _full(data: Any, adapter: MujocoAdapter) -> list[Any]:
    kinds = adapter.module.mjtWarning
    return [data.warning[int(k)] for k in (kinds.mjWARN_CONTACTFULL, kinds.mjWARN_CNSTRFULL)]


def memory_cause(
    model: Any, row: NDArray[np.float64], *, adapter: MujocoAdapter, has_raised: bool
) -> Cause:
    """Return the words for contacts or constraints that found no room.

    ``has_raised``: the step can't be done at all, else it would be done without them.
    """
    limit = bytes_text(int(model.narena))
    needed = needed_memory(model, row, adapter=adapter)
    text = f'the memory limit of {limit} (<size memory="{limit}"/>)'
    if needed is None:
        offered = max(_SMALLEST_OFFER, 16 * int(model.narena))
    else:
        text += f": this step needs {bytes_text(needed)}"
        offered = max(_SMALLEST_OFFER, 1 << (4 * needed - 1).bit_length())
    offered = min(offered, _MOST_BYTES)
    size = bytes_text(offered)
    if not has_raised:
        text += "; states from here on would be wrong: contacts are missing in them"
    return Cause(
        text=text,
        advice=f'Set <size memory="{size}"/> in the model; it can be simulated again from here',
        offers=((f"memory {size}", (option_edit(MEMORY, offered),)),),
    )


def bytes_text(size: int) -> str:
    """Return a size as MJCF writes it: 60K, 1M."""
    for unit, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size >= unit:
            return f"{size / unit:.3g}{letter}"
    return str(size)
