"""What must be subscribed for what is switched on in the 3D view."""

from stroboscope.app.models.overlays import active_overlays
from stroboscope.app.models.view_options import FrameMode, LabelMode, ViewOptions
from stroboscope.debugger_protocol.scene_description import GeomType, SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["topics_of"]

_LABEL_TOPICS = {
    LabelMode.TENDON: Topic.TENDONS,
    LabelMode.CONTACT: Topic.CONTACTS,
    LabelMode.CONTACT_FORCE: Topic.CONTACTS,
    LabelMode.CONSTRAINT: Topic.CONSTRAINTS,
    LabelMode.ISLAND: Topic.BODIES,
}


def topics_of(options: ViewOptions, description: SceneDescription) -> frozenset[Topic]:
    """Return the topics that must be subscribed for what is switched on; poses not included.

    What the scene has nothing of costs nothing: no ray sensors, no SENSORS for their rays.
    """
    has = {
        "tendons": any(tendon.spatial for tendon in description.tendons),
        "tendon_wraps": any(tendon.spatial for tendon in description.tendons),
        "rangefinders": any(sensor.kind == "rangefinder" for sensor in description.sensors),
        "sensors": bool(description.sensors),
        "taxels": any(sensor.kind == "tactile" for sensor in description.sensors),
        "plugin_drawings": any(sensor.kind == "plugin" for sensor in description.sensors),
        "sdf_iterations": any(geom.type is GeomType.SDF for geom in description.geoms),
        "equalities": bool(description.equalities),
        "actuators": bool(description.actuators),
        "joint_limits": any(joint.range is not None for joint in description.joints),
        "target_pose": bool(description.actuators),
    }
    wanted = {
        topic
        for each in active_overlays(options)
        if has.get(each.name, True)
        for topic in each.topics
    }
    if options.labels in _LABEL_TOPICS:
        wanted.add(_LABEL_TOPICS[options.labels])
    if options.frames is FrameMode.CONTACT:
        wanted.add(Topic.CONTACTS)
    if description.flexes:
        wanted.add(Topic.DEFORMABLE)
    if description.tells_looks:
        wanted.add(Topic.LOOKS)
    trees = options.body_trees or options.mesh_trees or options.flex_trees
    if trees and description.trees is not None and description.trees.active:
        wanted.add(Topic.VOLUMES)
    return frozenset(wanted)
