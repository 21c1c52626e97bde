"""The elements of a description: which there are, what they are called, where their values are."""

from collections.abc import Sequence

from stroboscope.app.models.expressions import position_channel
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol.scene_description import (
    SceneDescription,
    SensorInfo,
)
from stroboscope.debugger_protocol.topics import Topic

__all__ = [
    "actuator_columns",
    "element_name",
    "elements_of",
    "optional_topics_for",
    "sensor_components",
    "signals_of",
    "topics_for",
]


def elements_of(description: SceneDescription, kind: ElementKind) -> Sequence[object]:
    """Return the description's tuple of that kind."""
    by_kind: dict[ElementKind, Sequence[object]] = {
        ElementKind.BODY: description.bodies,
        ElementKind.GEOM: description.geoms,
        ElementKind.JOINT: description.joints,
        ElementKind.SITE: description.sites,
        ElementKind.ACTUATOR: description.actuators,
        ElementKind.SENSOR: description.sensors,
        ElementKind.CAMERA: description.cameras,
        ElementKind.LIGHT: description.lights,
        ElementKind.TENDON: description.tendons,
        ElementKind.EQUALITY: description.equalities,
        ElementKind.FLEX: description.flexes,
        ElementKind.SKIN: description.skins,
    }
    return by_kind.get(kind, ())


def element_name(description: SceneDescription, element: Element) -> str:
    """Return the element's name; unnamed ones are called by kind and index."""
    items = elements_of(description, element.kind)
    if element.kind is ElementKind.CONTACT:
        pair = (Element(ElementKind.GEOM, index) for index in (element.index, element.other))
        return " – ".join(element_name(description, g) if g.index >= 0 else "flex" for g in pair)
    if element.index >= len(items):
        return f"{element.kind.value} {element.index}"
    return getattr(items[element.index], "name", "") or f"{element.kind.value} {element.index}"


def signals_of(description: SceneDescription, element: Element) -> tuple[tuple[str, int], ...]:
    """Return channel and column of what is plotted when an element itself is dragged."""
    if element.index >= len(elements_of(description, element.kind)):
        return ()
    match element.kind:
        case ElementKind.JOINT:
            joint = description.joints[element.index]
            return tuple(("qpos", joint.qpos + n) for n in range(joint.type.n_qpos))
        case ElementKind.ACTUATOR:
            controls, outputs = actuator_columns(description, element.index)
            return (
                *(("ctrl", column) for column in controls),
                *(("actuator_force", column) for column in outputs),
            )
        case ElementKind.SENSOR:
            sensor = description.sensors[element.index]
            return tuple(("sensordata", sensor.adr + n) for n in range(sensor.dim))
        case ElementKind.BODY:
            # No channels of their own: bodies are many, and few of them are plotted.
            channel = position_channel("xpos", element_name(description, element))
            return tuple((channel, n) for n in range(3)) if channel else ()
        case _:
            return ()


def sensor_components(sensor: SensorInfo) -> tuple[str, ...]:
    """Return what each number of a sensor is called; "" for the only one."""
    count = max(sensor.dim, 1)
    letters = {1: ("",), 2: ("x", "y"), 3: ("x", "y", "z"), 4: ("w", "x", "y", "z")}.get(count)
    # Several numbers of a range finder are whichever its model asks for, no vector.
    if letters is None or (count > 1 and sensor.kind == "rangefinder"):
        return tuple(f"[{n}]" for n in range(count))
    return letters


def topics_for(element: Element | None) -> tuple[Topic, ...]:
    """Return the topics whose values an element's rows need, all at one instant."""
    if element is None:
        return ()
    match element.kind:
        case ElementKind.SENSOR:
            return (Topic.SENSORS,)
        case ElementKind.JOINT | ElementKind.ACTUATOR:
            return (Topic.STATE,)
        case ElementKind.BODY:
            return (Topic.POSE, Topic.STATE)
        case ElementKind.TENDON:
            return (Topic.TENDONS,)
        case ElementKind.EQUALITY:
            return (Topic.CONSTRAINTS,)
        case ElementKind.CONTACT:
            return (Topic.CONTACTS,)
        case _:
            return (Topic.POSE,)


def optional_topics_for(element: Element | None) -> tuple[Topic, ...]:
    """Return the topics that add to an element's rows where the engine has them.

    None is the scene itself.
    """
    if element is None:
        return (Topic.OPTIONS,)
    match element.kind:
        case ElementKind.BODY:
            return (Topic.BODIES,)
        case ElementKind.GEOM:
            return (Topic.CONTACTS,)
        case ElementKind.CONTACT | ElementKind.ACTUATOR:
            return (Topic.OPTIONS,)
        case _:
            return ()


def actuator_columns(d: SceneDescription, index: int) -> tuple[range, range]:
    """Return where an actuator's controls and outputs stand in their arrays."""
    actuator = d.actuators[index]
    ctrl = index if actuator.ctrl < 0 else actuator.ctrl
    output = index if actuator.output < 0 else actuator.output
    return range(ctrl, ctrl + actuator.nctrl), range(output, output + actuator.noutput)
