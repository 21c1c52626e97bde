"""What bends: flexes, whose vertices are simulated, and skins, which follow bodies."""

import numpy as np

from stroboscope.debugger_protocol.scene_description import FlexInfo, SkinInfo
from stroboscope.engine.asset_arrays import flex_materials
from stroboscope.engine.describe.columns import scalars, tuples
from stroboscope.engine.describe.part import Part
from stroboscope.engine.scene_assets import SceneAssets

__all__ = ["describe_flexes", "describe_skins"]


def describe_flexes(part: Part, assets: SceneAssets) -> tuple[FlexInfo, ...]:
    """Return the flexes."""
    model = part.model
    dim, radius = scalars(model.flex_dim), scalars(model.flex_radius)
    vert, nvert = scalars(model.flex_vertadr), scalars(model.flex_vertnum)
    materials = [flex_materials(model, i) for i in range(model.nflex)]
    first = [each[0] for each in materials]
    own = tuples(model.flex_rgba)
    rgba, material = part.colours(model.flex_rgba, np.array(first)), first
    flatskin, group = scalars(model.flex_flatskin), scalars(model.flex_group)
    return tuple(
        FlexInfo(
            name=part.names.flex(i),
            digest=assets.flex(i),
            dim=dim[i],
            vert=vert[i],
            nvert=nvert[i],
            radius=radius[i],
            # Of several materials each has its own colour.
            rgba=rgba[i] if len(materials[i]) == 1 else own[i],
            material=material[i],
            flatskin=bool(flatskin[i]),
            group=group[i],
            materials=materials[i] if len(materials[i]) > 1 else (),
        )
        for i in range(model.nflex)
    )


def describe_skins(part: Part, assets: SceneAssets) -> tuple[SkinInfo, ...]:
    """Return the skins."""
    model = part.model
    nvert, nface = scalars(model.skin_vertnum), scalars(model.skin_facenum)
    rgba, material = part.colours(model.skin_rgba, model.skin_matid), scalars(model.skin_matid)
    inflate, group = scalars(model.skin_inflate), scalars(model.skin_group)
    return tuple(
        SkinInfo(
            name=part.names.skin(i),
            digest=assets.skin(i),
            nvert=nvert[i],
            nface=nface[i],
            rgba=rgba[i],
            material=material[i],
            inflate=inflate[i],
            group=group[i],
        )
        for i in range(model.nskin)
    )
