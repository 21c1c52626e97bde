"""What the engine's plugins draw of themselves, and the descents of SDFs that look for contacts."""

import dataclasses
from collections.abc import Iterator

import numpy as np

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.view3d.overlays.drawings import drawn_shapes
from stroboscope.app.view3d.overlays.glyphs import Glyphs
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["plugin_glyphs"]

_DESCENT = (Role.DESCENT_START, Role.DESCENT_END)


def plugin_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield what is switched on of it, in the plugins' own colours."""
    options = subject.options
    if not (options.plugin_drawings or options.sdf_iterations):
        return
    iteration = subject.value(Topic.PLUGINS, "iteration", -1)
    kinds = subject.value(Topic.PLUGINS, "kind", -1)
    if iteration is None or kinds is None or len(iteration) != len(kinds):
        return
    descent = np.asarray(iteration > 0.0)
    if options.plugin_drawings:
        yield from drawn_shapes(subject, Topic.PLUGINS, chosen=~descent)
    if options.sdf_iterations:
        for glyphs in drawn_shapes(subject, Topic.PLUGINS, chosen=descent):
            yield dataclasses.replace(glyphs, roles=_DESCENT)
