"""Ready-made conditions for a scene, with what is selected in their blanks, to begin with."""

import dataclasses
from collections.abc import Iterator

from stroboscope.app.models.elements import element_name
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol.expressions import (
    READY_MADE,
    ExpressionError,
    ParameterKind,
    ReadyMade,
    SignalTable,
    awaited_channels,
    check_condition,
)
from stroboscope.debugger_protocol.scene_description import SceneDescription

__all__ = ["Offer", "condition_problem", "ready_offers"]


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """A ready-made condition; ``problem``: why it does not fit this scene, empty when it does."""

    title: str
    expression: str
    problem: str = ""


def condition_problem(text: str, table: SignalTable | None) -> str:
    """Return what is wrong with a condition, with carets under the place; "" when nothing is.

    One that speaks of what the script may log later waits for that.
    """
    if table is None:
        return "No scene is shown that this could be about."
    try:
        awaited_channels(text, table)
    except ExpressionError as error:
        return str(error)
    return ""


def ready_offers(scene: SceneModel, selected: Element | None) -> Iterator[Offer]:
    """Yield all of them, with the selected elements and else the first ones in their blanks."""
    table, description = scene.signal_table(), scene.description
    if description is None:
        return
    colliders = _colliders(description, selected)
    joints = _joints(table, description, selected)
    for each in READY_MADE.values():
        yield _offer(each, table, colliders, joints)


def _offer(each: ReadyMade, table: SignalTable, colliders: list[str], joints: list[str]) -> Offer:
    values: dict[str, float | str] = {}
    names = {ParameterKind.COLLIDER: iter(colliders), ParameterKind.JOINT: iter(joints)}
    for parameter in each.parameters:
        if parameter.kind is ParameterKind.NUMBER:
            continue
        name = next(names[parameter.kind], None)
        if name is None:
            wanted = "joint with a limit" if parameter.kind is ParameterKind.JOINT else "named geom"
            return Offer(each.title, "", f"This scene has no {wanted} for it.")
        values[parameter.name] = name
    try:
        expression = each.expression(values)
    except ValueError as error:
        return Offer(each.title, "", str(error))
    try:
        check_condition(expression, table)
    except ExpressionError:
        return Offer(each.title, expression, "This scene has nothing of the kind.")
    return Offer(each.title, expression, "")


def _colliders(description: SceneDescription, selected: Element | None) -> list[str]:
    """Return names of geoms or bodies: of what is selected, then named geoms."""
    names: list[str] = []
    if selected is not None and selected.kind is ElementKind.CONTACT:
        for geom in (selected.index, selected.other):
            if 0 <= geom < len(description.geoms):
                names.append(description.geoms[geom].name)
    elif selected is not None and selected.kind in (ElementKind.GEOM, ElementKind.BODY):
        names.append(element_name(description, selected))
    names += [geom.name for geom in description.geoms]
    return [name for name in dict.fromkeys(names) if name and not {"'", "\\"} & set(name)]


def _joints(
    table: SignalTable, description: SceneDescription, selected: Element | None
) -> list[str]:
    entry = table.find("joint.margin")
    limited = list(entry.names) if entry is not None else []
    if selected is not None and selected.kind is ElementKind.JOINT:
        name = element_name(description, selected)
        if name in limited:
            limited.insert(0, name)
    return limited
