"""What a file says about the scenes that it records, and the models that it carries for them."""

import contextlib
import dataclasses
import enum
import functools
import hashlib
import importlib.metadata
import os
import platform
import time
import uuid
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.env_indices import env_indices, refuse_environments
from stroboscope.engine.errors import EngineError
from stroboscope.engine.files.compression import Compressor
from stroboscope.engine.files.frames import (
    Manifest,
    RecordMode,
    SceneRecord,
    Segment,
    not_in_file,
)
from stroboscope.engine.files.manifest import FORMAT
from stroboscope.engine.mjb import mjb_of
from stroboscope.engine.recording.by_owner import is_mine
from stroboscope.engine.recording.feed import Attachments, wall_ns
from stroboscope.engine.recording.trajectory_file import RecordAs, TrajectoryFile
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.scene_files import scene_bundle

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.mujoco_adapter import MujocoAdapter
    from stroboscope.engine.scene import Scene
    from stroboscope.engine.world import World

__all__ = [
    "MOST_UNASKED",
    "Recorded",
    "chosen_environments",
    "manifest_of",
    "record_of",
    "records_of",
    "this_machine",
]

MOST_UNASKED = 256
"""Environments of a scene that are recorded without anybody having chosen them."""
_MODEL = "stroboscope/model{}.mjb.zst"
_SCENE = "stroboscope/scene{}.strobe"


class Recorded(Protocol):
    """What a scene of one world, or one of many environments, is to a recording."""

    world: "World"

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def timestep_of_state(self) -> float:
        """The timestep [s] of a step."""


def record_of(
    scene: Recorded,
    wanted: TrajectoryFile,
    *,
    index: int,
    attachments: Attachments,
    with_model: bool = True,
) -> SceneRecord:
    """Return what a file says of a scene as it is now; its model is added to ``attachments``.

    A model that is there already, from another scene, is not added again.
    """
    world = scene.world
    layout = RowLayout(world.model, adapter=world.adapter)
    every = wanted.every_at(scene.timestep_of_state)
    callbacks = tuple(n for n in world.adapter.installed_callbacks() if n != "mjcb_time")
    return SceneRecord(
        index=index,
        name=scene.name,
        width=layout.size,
        columns=tuple(
            Segment(name, part.start, part.stop - part.start) for name, part in layout.parts.items()
        ),
        inputs=(layout.inputs.start, layout.inputs.stop),
        model_digest=world.codec.digest.hex(),
        model=_attach(scene, attachments) if with_model else "",
        timestep=scene.timestep_of_state,
        mode=_mode(world, wanted, every=every),
        every=every,
        exactness=world.codec.inexact_reason
        or not_in_file(callbacks)
        or _not_in_rows(world, every=every),
        options=_plain(world),
        callbacks=callbacks,
    )


def chosen_environments(envs: object, *, n_envs: int) -> NDArray[np.intp]:
    """Return which environments are meant, in their order; None: all.

    Raises what :func:`~stroboscope.engine.env_indices.env_indices` does, and ValueError for none.
    """
    chosen = np.unique(env_indices(envs, n_envs=n_envs))
    if not len(chosen):
        raise ValueError("envs chooses no environment: a recording needs one at least")
    return chosen


def records_of(
    scene: Recorded,
    wanted: TrajectoryFile,
    *,
    first: int,
    attachments: Attachments,
    envs: NDArray[np.intp] | None = None,
) -> list[SceneRecord]:
    """Return the records of a scene, numbered from ``first`` on: one, or one per environment.

    ``envs``: these, in place of those that ``wanted`` names. Raises what
    :func:`chosen_environments` does for ``wanted.envs``, and ValueError for more of them than
    anybody wants without saying so.
    """
    n_envs = int(getattr(scene, "n_envs", 0))
    if not n_envs:
        if wanted.envs is not None:
            refuse_environments(wanted.envs, scene_name=scene.name)
        return [record_of(scene, wanted, index=first, attachments=attachments)]
    if envs is None:
        envs = chosen_environments(wanted.envs, n_envs=n_envs)
        if wanted.envs is None and n_envs > MOST_UNASKED:
            raise ValueError(
                f"scene {scene.name!r} has {n_envs:,} environments: say which are to be recorded, "
                f"TrajectoryFile(…, envs=…); without that at most {MOST_UNASKED} are"
            )
    shared = record_of(scene, wanted, index=first, attachments=attachments)
    timestep_of = cast("BatchScene", scene).environments.timestep
    return [
        msgspec.structs.replace(
            shared, index=first + place, n_envs=n_envs, env=env, timestep=timestep_of(env)
        )
        for place, env in enumerate(envs.tolist())
    ]


def _attach(scene: Recorded, attachments: Attachments) -> str:
    """Put a scene, or at least its model as it is now, among the attachments; return its name."""
    world = scene.world
    environments = getattr(scene, "environments", None)
    # The world of a batch has the values of the environment that is looked at.
    compiled = world.model if environments is None else environments.model
    model = bytes(mjb_of(compiled, adapter=world.adapter))
    digest = hashlib.sha256(model).digest()
    known = attachments.names.get(digest)
    if known is not None:
        return known
    name, content = _MODEL, b""
    if is_mine(cast("Scene", scene)):
        # Where that can't be had, the compiled model is: it opens with the same MuJoCo.
        with contextlib.suppress(EngineError):
            content = scene_bundle(cast("Scene", scene), allow_missing=_Everything())
            name = _SCENE
    name = attachments.name(name)
    # A copy: what was compressed keeps room for all that it might have taken.
    attachments[name] = content or bytes(memoryview(Compressor()(model)))
    attachments.names[digest] = name
    return name


class _Everything(Collection[str]):
    """All names: what can't travel stays behind, and whoever opens the file is told."""

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _not_in_rows(world: "World", *, every: int) -> str:
    """Return what a step needs and the rows of a file don't say; empty where they say all."""
    if every > 1 and world.codec.keeps_sleep:
        return f"which bodies sleep is not known of every {every}. step"
    return ""


def _mode(world: "World", wanted: TrajectoryFile, *, every: int) -> RecordMode:
    if wanted.mode is not RecordAs.AUTO:
        return RecordMode(str(wanted.mode))
    adapter = world.adapter
    is_all = not world.codec.keeps_sleep and not world.codec.inexact_reason and every == 1
    is_ours = not adapter.callbacks_of_steps(world.model)
    return RecordMode.MINIMAL if is_all and is_ours else RecordMode.EXACT


def _plain(world: "World") -> dict[str, object]:
    """Return the options that the scene was made with as a file can say them."""
    made: dict[str, object] = {}
    for field in dataclasses.fields(world.options):
        value = getattr(world.options, field.name)
        if isinstance(value, frozenset):
            value = sorted(value)
        if value is not None:
            made[field.name] = str(value) if isinstance(value, enum.Enum) else value
    return made


def manifest_of(
    records: Sequence[SceneRecord], *, adapter: "MujocoAdapter", note: str = ""
) -> Manifest:
    """Return what a file of these scenes says about itself."""
    return Manifest(
        format=FORMAT,
        uuid=uuid.uuid4().hex,
        stroboscope=importlib.metadata.version("stroboscope"),
        engine="mujoco",
        engine_version=adapter.version,
        platform=this_machine(),
        created=time.time(),
        clock=wall_ns(),
        scenes=tuple(records),
        note=note,
    )


@functools.cache
def this_machine() -> str:
    """Return what of this computer decides how numbers come out: system, processor, C library.

    Neither its name nor the user's.
    """
    libc = " ".join(filter(None, platform.libc_ver()))
    parts = [f"{platform.system()} {platform.machine()}", _processor(), libc]
    return "; ".join(filter(None, parts))


def _processor() -> str:
    if os.name == "posix":
        try:
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
        except OSError:
            return platform.processor()
    return platform.processor()
