"""What people have hidden in the 3D view: bodies with all below them, and single shapes."""

from collections.abc import Iterator

from stroboscope.app.models.elements import elements_of
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.scene_description import (
    GeomInfo,
    GeomType,
    SceneDescription,
    SiteInfo,
)

__all__ = ["HIDEABLE", "VisibilityModel", "hidden_parts"]

_SHAPES = (
    ElementKind.GEOM,
    ElementKind.SITE,
    ElementKind.TENDON,
    ElementKind.FLEX,
    ElementKind.SKIN,
)
HIDEABLE = (ElementKind.BODY, *_SHAPES)
_Hidden = frozenset[Element]
_NOTHING: _Hidden = frozenset()


class VisibilityModel:
    """Hidden elements per scene, found again when a script is started again. GUI thread only.

    ``changed`` is emitted with the scene.
    """

    def __init__(self) -> None:
        self.changed: Signal[[SceneModel]] = Signal()
        self._hidden: dict[tuple[str, str], _Hidden] = {}
        self._isolated: dict[tuple[str, str], Element] = {}

    def hidden(self, scene: SceneModel) -> frozenset[Element]:
        """Return what was hidden by hand; parts of hidden bodies are not named again."""
        return self._hidden.get(_key(scene), _NOTHING)

    def isolated(self, scene: SceneModel) -> Element | None:
        """Return the element that alone is shown, None when nothing is isolated."""
        return self._isolated.get(_key(scene))

    def toggle(self, scene: SceneModel, element: Element) -> None:
        """Hide an element, or show it again. Showing one takes its hidden parents with it."""
        description = scene.description
        if element.kind not in HIDEABLE or description is None:
            return
        hidden = self.hidden(scene)
        covering = {e for e in hidden if e in {element, *_ancestors(description, element)}}
        self._isolated.pop(_key(scene), None)
        self._set(scene, hidden - covering if covering else hidden | {element})

    def isolate(self, scene: SceneModel, element: Element) -> None:
        """Show only this element (with what hangs on it) and floors; again: everything."""
        description = scene.description
        if element.kind not in HIDEABLE or description is None:
            return
        if self.isolated(scene) == element:
            self.show_all(scene)
            return
        away = frozenset(
            part
            for part in _shapes(description)
            if part != element
            and element not in _ancestors(description, part)
            and not _is_floor(description, part)
        )
        self._isolated[_key(scene)] = element
        self._set(scene, away)

    def show_all(self, scene: SceneModel) -> None:
        """Hide nothing any more."""
        self._isolated.pop(_key(scene), None)
        self._set(scene, _NOTHING)

    def is_hidden(self, scene: SceneModel, element: Element) -> bool:
        """Return whether an element, or a body above it, is hidden."""
        hidden = self.hidden(scene)
        if not hidden or scene.description is None:
            return False
        return element in hidden or not hidden.isdisjoint(_ancestors(scene.description, element))

    def _set(self, scene: SceneModel, hidden: _Hidden) -> None:
        if hidden != self.hidden(scene):
            self._hidden[_key(scene)] = hidden
            self.changed.emit(scene)


def hidden_parts(description: SceneDescription, hidden: _Hidden) -> frozenset[Element]:
    """Return the geoms, sites, tendons, flexes and skins that ``hidden`` takes out of the picture.

    Tendons, flexes and skins hang on several bodies: only they themselves hide them.
    """
    if not hidden:
        return _NOTHING
    bodies: set[int] = set()
    for index, body in enumerate(description.bodies):  # parents come before children
        above = index > 0 and body.parent in bodies
        if above or Element(ElementKind.BODY, index) in hidden:
            bodies.add(index)
    on_bodies: tuple[tuple[ElementKind, tuple[GeomInfo | SiteInfo, ...]], ...] = (
        (ElementKind.GEOM, description.geoms),
        (ElementKind.SITE, description.sites),
    )
    found = {element for element in hidden if element.kind in _SHAPES}
    for kind, infos in on_bodies:
        found.update(Element(kind, i) for i, info in enumerate(infos) if info.body in bodies)
    return frozenset(found)


def _shapes(description: SceneDescription) -> Iterator[Element]:
    for kind in _SHAPES:
        yield from (Element(kind, i) for i in range(len(elements_of(description, kind))))


def _key(scene: SceneModel) -> tuple[str, str]:
    return scene.session.identity, scene.name


def _is_floor(description: SceneDescription, part: Element) -> bool:
    if part.kind is not ElementKind.GEOM:
        return False
    return description.geoms[part.index].type is GeomType.PLANE


def _ancestors(description: SceneDescription, element: Element) -> set[Element]:
    """Return the bodies that ``element`` hangs on, itself left out."""
    owners: dict[ElementKind, tuple[GeomInfo | SiteInfo, ...]] = {
        ElementKind.GEOM: description.geoms,
        ElementKind.SITE: description.sites,
    }
    found: set[Element] = set()
    if element.kind is ElementKind.BODY:
        if not 0 < element.index < len(description.bodies):
            return found
        body = description.bodies[element.index].parent
    elif element.kind in owners and element.index < len(owners[element.kind]):
        body = owners[element.kind][element.index].body
    else:
        return found
    while 0 <= body < len(description.bodies):
        found.add(Element(ElementKind.BODY, body))
        parent = description.bodies[body].parent
        if body == 0 or parent >= body:
            break
        body = parent
    return found
