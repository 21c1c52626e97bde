"""The demos: small scripts that work as they stand, each about one thing.

``stroboscope demo NAME`` runs one; ``python -m stroboscope.resources.examples.MODULE`` does too.
Nothing is imported from a demo before it is run.
"""

import dataclasses
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, cast

__all__ = ["DEMOS", "Demo", "find_demo"]


class _DemoModule(Protocol):
    main: Callable[..., None]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """One demo: what it is called, what it shows, and what it needs beyond ``[mujoco]``."""

    name: str
    title: str
    description: str
    module: str
    requires: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The script itself, for reading."""
        return Path(__file__).with_name(self.module.rpartition(".")[2] + ".py")

    def missing(self) -> tuple[str, ...]:
        """Return the packages that this demo imports and this environment does not have."""
        return tuple(name for name in self.requires if importlib.util.find_spec(name) is None)

    def run(self, *, launch: bool = True) -> None:
        """Run the demo in this process to its end; ``launch=False`` opens no window but waits.

        Call it on the main thread: the demo owns scenes and ends on Ctrl+C. While it runs,
        ``sys.argv`` is what it would be for the script alone, so that the window calls it by its
        own name.
        """
        module = cast(_DemoModule, importlib.import_module(self.module))
        arguments = sys.argv
        sys.argv = [str(self.path)]
        try:
            module.main(launch=launch)
        finally:
            sys.argv = arguments


_PACKAGE = "stroboscope.resources.examples"

DEMOS: tuple[Demo, ...] = (
    Demo(
        name="explode",
        title="A servo that is too stiff",
        description="An arm that blows up: stopped just before, rewound, and tried again.",
        module=f"{_PACKAGE}.explode",
        requires=("mujoco",),
    ),
    Demo(
        name="cross-thread",
        title="Cross-thread capture and restore",
        description="One checkpoint, two worker threads, two rollouts of the same kick.",
        module=f"{_PACKAGE}.cross_thread_capture_restore",
        requires=("mujoco",),
    ),
    Demo(
        name="pose-controller",
        title="Pose controller",
        description="A three-joint arm follows target poses through position actuators.",
        module=f"{_PACKAGE}.pose_controller",
        requires=("mujoco",),
    ),
    Demo(
        name="debug-draw",
        title="Drawing from a script",
        description="An arrow, a text and a trail of points that a script draws into the 3D view.",
        module=f"{_PACKAGE}.debug_draw",
        requires=("mujoco",),
    ),
    Demo(
        name="state-capture",
        title="State capture",
        description="Capture, disturb, restore: the same trajectory again, bit for bit.",
        module=f"{_PACKAGE}.state_capture",
        requires=("mujoco",),
    ),
    Demo(
        name="adopt-mujoco-loop",
        title="Adopt a MuJoCo loop",
        description="A script that calls mj_step itself, made debuggable with one line.",
        module=f"{_PACKAGE}.adopt_mujoco_loop",
        requires=("mujoco",),
    ),
    Demo(
        name="gymnasium-env",
        title="Gymnasium environment",
        description="Humanoid-v5 under a random policy, with the reward as a channel.",
        module=f"{_PACKAGE}.gymnasium_env",
        requires=("mujoco", "gymnasium"),
    ),
    Demo(
        name="hand-made-scene",
        title="A scene of another kind",
        description="Two bodies and a channel streamed with the protocol alone, without MuJoCo.",
        module=f"{_PACKAGE}.hand_made_scene",
    ),
)


def find_demo(name: str) -> Demo:
    """Return the demo called ``name``; raises KeyError whose message lists those there are."""
    for demo in DEMOS:
        if demo.name == name:
            return demo
    names = ", ".join(demo.name for demo in DEMOS)
    raise KeyError(f"there is no demo called {name!r}; there are: {names}")
