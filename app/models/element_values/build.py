"""The rows of an element by its kind."""

from collections.abc import Callable

from stroboscope.app.models.element_values.actuators import actuator_sections, sensor_sections
from stroboscope.app.models.element_values.bodies import (
    body_sections,
    camera_sections,
    geom_sections,
    light_sections,
    site_sections,
)
from stroboscope.app.models.element_values.contacts import contact_sections
from stroboscope.app.models.element_values.couplings import (
    equality_sections,
    flex_sections,
    skin_sections,
    tendon_sections,
)
from stroboscope.app.models.element_values.joints import joint_sections
from stroboscope.app.models.element_values.rows import ElementValues, Section
from stroboscope.app.models.elements import element_name, elements_of
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol.scene_description import SceneDescription

__all__ = ["element_values"]

_Build = Callable[[SceneDescription, int, FrameSet | None], tuple[Section, ...]]

_BUILD: dict[ElementKind, _Build] = {
    ElementKind.BODY: body_sections,
    ElementKind.GEOM: geom_sections,
    ElementKind.JOINT: joint_sections,
    ElementKind.SITE: site_sections,
    ElementKind.ACTUATOR: actuator_sections,
    ElementKind.SENSOR: sensor_sections,
    ElementKind.CAMERA: camera_sections,
    ElementKind.LIGHT: light_sections,
    ElementKind.TENDON: tendon_sections,
    ElementKind.EQUALITY: equality_sections,
    ElementKind.FLEX: flex_sections,
    ElementKind.SKIN: skin_sections,
}


def element_values(
    description: SceneDescription, element: Element, frames: FrameSet | None
) -> ElementValues | None:
    """Return the rows of an element, None when the description has no such element."""
    if element.kind is ElementKind.CONTACT:
        if max(element.index, element.other) >= len(description.geoms):
            return None
        sections = contact_sections(description, element, frames)
    else:
        if element.index >= len(elements_of(description, element.kind)):
            return None
        sections = _BUILD[element.kind](description, element.index, frames)
    return ElementValues(
        name=element_name(description, element),
        kind=element.kind.value,
        sections=tuple(section for section in sections if section.rows),
        known=frames is not None,
    )
