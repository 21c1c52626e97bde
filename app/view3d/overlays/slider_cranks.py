"""Slider-cranks: what slides along its site's axis, and the rod from there to the crank."""

from collections.abc import Iterator

import numpy as np

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.view3d.overlays.glyphs import Glyphs, lines
from stroboscope.app.view3d.overlays.subject import Subject

__all__ = ["slider_crank_glyphs"]


def slider_crank_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield slider and rod of each; a rod that is too short to reach the crank is red."""
    cranks = subject.facts.cranks
    if not subject.options.slider_cranks or not len(cranks.index):
        return
    site_pos, site_mat = subject.site_frames()
    start, axis = site_pos[cranks.slider], site_mat[cranks.slider, :, 2]
    pin = site_pos[cranks.crank]
    # s along the axis, so that the rod just reaches the pin: |toward - s axis| = length.
    toward = pin - start
    along = np.einsum("ni,ni->n", toward, axis)
    square = along**2 + cranks.length**2 - np.einsum("ni,ni->n", toward, toward)
    broken = square < 0.0
    end = start + (along - np.sqrt(np.maximum(square, 0.0)))[:, None] * axis
    radius = subject.sizes.scale.slidercrank * subject.sizes.mean
    colors = np.where(broken[:, None], Role.CRANK_BROKEN.value, Role.CRANK.value)
    roles = (Role.CRANK, Role.CRANK_BROKEN) if broken.any() else (Role.CRANK,)
    good = np.flatnonzero(np.isfinite(start).all(axis=1) & np.isfinite(pin).all(axis=1))
    for made in (
        lines(start[good], end[good], radius=radius, color=Role.CRANK),
        lines(end[good], pin[good], radius=0.5 * radius, color=colors[good], roles=roles),
    ):
        yield made.of_elements(ElementKind.ACTUATOR, cranks.index[good])
