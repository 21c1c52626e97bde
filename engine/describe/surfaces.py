"""Meshes, height fields, textures, materials: what surfaces are made of."""

from stroboscope.debugger_protocol.scene_description import (
    HeightFieldInfo,
    MaterialInfo,
    MeshInfo,
    TextureInfo,
    TextureKind,
)
from stroboscope.engine.describe.columns import scalars, tuples
from stroboscope.engine.describe.part import Part
from stroboscope.engine.scene_assets import SceneAssets

__all__ = ["describe_hfields", "describe_materials", "describe_meshes", "describe_textures"]

# In the order of MuJoCo's mjtTexture.
_TEXTURE_KINDS = (TextureKind.TWO_D, TextureKind.CUBE, TextureKind.SKYBOX)


def describe_meshes(part: Part, assets: SceneAssets) -> tuple[MeshInfo, ...]:
    """Return the meshes."""
    model = part.model
    nvert, nface = scalars(model.mesh_vertnum), scalars(model.mesh_facenum)
    return tuple(
        MeshInfo(name=part.names.mesh(i), digest=assets.mesh(i), nvert=nvert[i], nface=nface[i])
        for i in range(model.nmesh)
    )


def describe_hfields(part: Part, assets: SceneAssets) -> tuple[HeightFieldInfo, ...]:
    """Return the height fields."""
    model = part.model
    nrow, ncol = scalars(model.hfield_nrow), scalars(model.hfield_ncol)
    size = tuples(model.hfield_size)
    return tuple(
        HeightFieldInfo(
            name=part.names.hfield(i),
            digest=assets.hfield(i),
            nrow=nrow[i],
            ncol=ncol[i],
            size=size[i],
        )
        for i in range(model.nhfield)
    )


def describe_textures(part: Part, assets: SceneAssets) -> tuple[TextureInfo, ...]:
    """Return the textures, sky boxes among them."""
    model = part.model
    kind = scalars(model.tex_type)
    width, height = scalars(model.tex_width), scalars(model.tex_height)
    nchannel = scalars(model.tex_nchannel)
    srgb = part.adapter.srgb_textures(model)
    return tuple(
        TextureInfo(
            name=part.names.texture(i),
            digest=assets.texture(i),
            kind=_TEXTURE_KINDS[kind[i]],
            width=width[i],
            height=height[i],
            nchannel=nchannel[i],
            srgb=srgb[i],
        )
        for i in range(model.ntex)
    )


def describe_materials(part: Part) -> tuple[MaterialInfo, ...]:
    """Return the materials; their texture is the one for colour."""
    model = part.model
    rgba, texrepeat = tuples(model.mat_rgba), tuples(model.mat_texrepeat)
    emission, specular = scalars(model.mat_emission), scalars(model.mat_specular)
    shininess, reflectance = scalars(model.mat_shininess), scalars(model.mat_reflectance)
    texuniform = scalars(model.mat_texuniform)
    return tuple(
        MaterialInfo(
            name=part.names.material(i),
            rgba=rgba[i],
            emission=emission[i],
            specular=specular[i],
            shininess=shininess[i],
            reflectance=reflectance[i],
            texture=part.adapter.color_texture(model, i),
            texrepeat=texrepeat[i],
            texuniform=bool(texuniform[i]),
        )
        for i in range(model.nmat)
    )
