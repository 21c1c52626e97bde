"""Put our functions in the place of the ``mujoco`` module's, and back.

A wrapped function does one attribute test and calls MuJoCo's own while nothing wants to know of
the call. Modules that already hold the original (``from mujoco import mj_step``) are pointed to
the wrapped one; references kept elsewhere, in instances or default arguments, can't be found, and
MuJoCo's native ``rollout`` and batch calls never come through Python: those run unseen.
"""

import sys
import types
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["WRAPPED_NAMES", "CallHandler", "Gate", "Wrapping"]

WRAPPED_NAMES = (
    "mj_step",
    "mj_step1",
    "mj_step2",
    "mj_forward",
    "mj_resetData",
    "mj_resetDataDebug",
    "mj_resetDataKeyframe",
)

# MuJoCo's own modules keep their originals, ours take theirs from the adapter.
_LEFT_ALONE = ("mujoco._", "stroboscope.")


class Gate:
    """What every wrapped call looks at first: ``idle`` True means call MuJoCo and nothing else."""

    __slots__ = ("idle",)

    def __init__(self) -> None:
        self.idle = True


class CallHandler(Protocol):
    """What happens in a wrapped call while the gate is not idle; any thread.

    Each method does what the MuJoCo function of that name does, raising what it raises.
    """

    def step(self, m: Any, d: Any, nstep: Any) -> None:
        """Run ``mj_step``."""

    def step1(self, m: Any, d: Any) -> None:
        """Run ``mj_step1``."""

    def step2(self, m: Any, d: Any) -> None:
        """Run ``mj_step2``."""

    def forward(self, m: Any, d: Any) -> None:
        """Run ``mj_forward``."""

    def reset(self, original: Callable[..., None], m: Any, d: Any, *rest: Any) -> None:
        """Run ``original``, one of the ``mj_resetData…`` functions."""


class Wrapping:
    """The wrapped functions of one ``mujoco`` module. ``install`` and ``remove`` from any thread,
    best before other threads use MuJoCo: each name is replaced by a single assignment.
    """

    def __init__(self, module: types.ModuleType, gate: Gate, handler: CallHandler) -> None:
        self._module = module
        self.originals: dict[str, Callable[..., None]] = {
            name: getattr(module, name) for name in WRAPPED_NAMES
        }
        self.wrapped = _wrap_all(self.originals, gate, handler)
        self.installed = False

    def install(self) -> None:
        """Put the wrapped functions in place; harmless when they are."""
        if not self.installed:
            self.installed = True
            self._replace(self.originals, self.wrapped)

    def remove(self) -> None:
        """Put MuJoCo's functions back wherever ours stand; harmless when none do."""
        if self.installed:
            self.installed = False
            self._replace(self.wrapped, self.originals)

    def _replace(
        self, old: dict[str, Callable[..., None]], new: dict[str, Callable[..., None]]
    ) -> None:
        by_identity = {id(old[name]): new[name] for name in WRAPPED_NAMES}
        for name in WRAPPED_NAMES:
            setattr(self._module, name, new[name])
        for module_name, module in list(sys.modules.items()):
            if module is self._module or module_name.startswith(_LEFT_ALONE):
                continue
            namespace = _namespace(module)
            for key, value in list(namespace.items()):
                replacement = by_identity.get(id(value))
                if replacement is not None:
                    namespace[key] = replacement


def _namespace(module: object) -> dict[str, Any]:
    """Return the globals of a module without running code of it (lazy modules load on access)."""
    if not isinstance(module, types.ModuleType):
        return {}
    namespace = object.__getattribute__(module, "__dict__")
    return namespace if type(namespace) is dict else {}


def _wrap_all(
    originals: dict[str, Callable[..., None]], gate: Gate, handler: CallHandler
) -> dict[str, Callable[..., None]]:
    wrapped = {
        **_wrap_steps(originals, gate, handler),
        **_wrap_resets(originals, gate, handler),
    }
    for name, function in wrapped.items():
        function.__name__ = function.__qualname__ = name
        function.__module__ = "mujoco"  # found there by pickle
        function.__doc__ = originals[name].__doc__
    return wrapped


def _wrap_steps(
    originals: dict[str, Callable[..., None]], gate: Gate, handler: CallHandler
) -> dict[str, Callable[..., None]]:
    # Closures, and no *args: together they keep an idle call at some 0.1 µs.
    original_step, original_step1 = originals["mj_step"], originals["mj_step1"]
    original_step2, original_forward = originals["mj_step2"], originals["mj_forward"]

    def mj_step(m: Any, d: Any, nstep: Any = 1) -> None:
        if gate.idle:
            return original_step(m, d, nstep)
        return handler.step(m, d, nstep)

    def mj_step1(m: Any, d: Any) -> None:
        if gate.idle:
            return original_step1(m, d)
        return handler.step1(m, d)

    def mj_step2(m: Any, d: Any) -> None:
        if gate.idle:
            return original_step2(m, d)
        return handler.step2(m, d)

    def mj_forward(m: Any, d: Any) -> None:
        if gate.idle:
            return original_forward(m, d)
        return handler.forward(m, d)

    return {
        "mj_step": mj_step,
        "mj_step1": mj_step1,
        "mj_step2": mj_step2,
        "mj_forward": mj_forward,
    }


def _wrap_resets(
    originals: dict[str, Callable[..., None]], gate: Gate, handler: CallHandler
) -> dict[str, Callable[..., None]]:
    original_reset = originals["mj_resetData"]
    original_debug = originals["mj_resetDataDebug"]
    original_keyframe = originals["mj_resetDataKeyframe"]

    def mj_resetData(m: Any, d: Any) -> None:
        if gate.idle:
            return original_reset(m, d)
        return handler.reset(original_reset, m, d)

    def mj_resetDataDebug(m: Any, d: Any, debug_value: Any) -> None:
        if gate.idle:
            return original_debug(m, d, debug_value)
        return handler.reset(original_debug, m, d, debug_value)

    def mj_resetDataKeyframe(m: Any, d: Any, key: Any) -> None:
        if gate.idle:
            return original_keyframe(m, d, key)
        return handler.reset(original_keyframe, m, d, key)

    return {
        "mj_resetData": mj_resetData,
        "mj_resetDataDebug": mj_resetDataDebug,
        "mj_resetDataKeyframe": mj_resetDataKeyframe,
    }
