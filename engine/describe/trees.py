"""The trees of boxes in which MuJoCo looks for what might collide."""

from stroboscope.debugger_protocol.scene_description import TreesInfo
from stroboscope.engine.describe.part import Part
from stroboscope.engine.scene_assets import SceneAssets

__all__ = ["describe_trees"]


def describe_trees(part: Part, assets: SceneAssets) -> TreesInfo | None:
    """Return what there is of bounding volume hierarchies, None without any."""
    model = part.model
    if not model.nbvh:
        return None
    depth = int(model.bvh_depth.max())
    if getattr(model, "noct", 0):
        depth = max(depth, int(model.oct_depth.max()))
    return TreesInfo(
        digest=assets.trees(),
        nnode=int(model.nbvh),
        depth=depth,
        active=bool(model.vis.global_.bvactive),
    )
