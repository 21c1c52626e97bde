"""What is in a scene file, as ``stroboscope info`` says it: no model is built, nothing unpacked."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from stroboscope.engine.counted import counted
from stroboscope.engine.files.bundle import Archive
from stroboscope.engine.files.scene_manifest import SCENE_LIMITS, SceneManifest, read_manifest

__all__ = ["scene_lines", "scene_told"]

_SIZES = ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsensor", "nmocap", "nkey")
# The file may come from anybody.
_MOST_NAMES, _LONGEST = 12, 120


def scene_told(path: Path) -> dict[str, Any]:
    """Return what a scene file says of itself, for programs.

    Reads the archive's directory and its manifest, within the limits that loading has; compares
    no checksums, as loading does. Raises FileError's kinds.
    """
    with Archive(path, path=path, limits=SCENE_LIMITS, what="a scene") as archive:
        manifest = read_manifest(archive)
        members = {
            name: {"bytes": archive.size(name) if name in archive else None, "sha256": digest}
            for name, digest in manifest.members.items()
        }
    return {
        "file": str(path),
        "kind": "scene",
        "bytes": path.stat().st_size,
        "format": manifest.format,
        "stroboscope": manifest.stroboscope,
        "engine": f"{manifest.engine} {manifest.engine_version}",
        "name": manifest.name,
        "origin": manifest.origin,
        "model_digest": manifest.model_digest,
        "sizes": {name: manifest.fields[name] for name in _SIZES if name in manifest.fields},
        "n_envs": manifest.n_envs,
        "playback": manifest.playback,
        "options": manifest.options,
        "changes": _changes(manifest),
        "channels": {name: list(values) for name, values in manifest.channels.items()},
        "script_states": list(manifest.script_states),
        "plugins": list(manifest.plugins.values()),
        "portable_note": manifest.portable_note,
        "missing": list(manifest.missing),
        "members": members,
    }


def _changes(manifest: SceneManifest) -> list[str]:
    return [
        f"{change.field} of each environment" if change.environments else change.field
        for change in manifest.changes
    ]


def scene_lines(told: dict[str, Any]) -> list[str]:
    """Return what :func:`scene_told` has found, in lines for people."""
    sizes = ", ".join(f"{name} {count:,}" for name, count in told["sizes"].items())
    envs = f", {counted(told['n_envs'], 'environment')}" if told["n_envs"] else ""
    options = (f"{name} {json.dumps(value)}" for name, value in told["options"].items())
    channels = (
        f"{name} ({_listed(values)})" if values else name
        for name, values in told["channels"].items()
    )
    lines = [
        f"{told['file']}  a scene, {told['bytes'] / 1e3:,.1f} kB",
        f"Stroboscope {_short(told['stroboscope'])}, {_short(told['engine'])}, "
        f"format {told['format']}",
        f"\n{_short(told['name'])}: {_short(told['origin'])}{envs}",
        f"  sizes: {sizes}",
        f"  model digest: {_short(told['model_digest'])}",
        f"  playback: {_short(told['playback'])}",
    ]
    for what, names in (
        ("options", options),
        ("written into the model", told["changes"]),
        ("channels", channels),
        ("script states", told["script_states"]),
        ("plugins", told["plugins"]),
    ):
        if listed := _listed(names):
            lines.append(f"  {what}: {listed}")
    if told["missing"]:
        lines.append(f"MISSING, so it goes on differently: {_listed(told['missing'])}")
    if told["portable_note"]:
        lines.append(
            f"only {_short(told['engine'])} can open it, there is no portable model: "
            f"{_short(told['portable_note'])}"
        )
    members = list(told["members"].items())
    lines.append("")
    for name, member in members[:_MOST_NAMES]:
        size = "NOT IN THE FILE" if member["bytes"] is None else f"{member['bytes']:,} bytes"
        lines.append(f"  {_short(name)}  {size}  sha256 {_short(member['sha256'])}")
    if len(members) > _MOST_NAMES:
        lines.append(f"  +{len(members) - _MOST_NAMES:,} more: --json")
    return lines


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    shown = ", ".join(map(_short, every[:_MOST_NAMES]))
    more = len(every) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


def _short(text: str) -> str:
    """Return at most so much of a text of a stranger, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
