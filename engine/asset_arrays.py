"""The arrays that assets of a model consist of: meshes, height fields, textures, skins, flexes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays

__all__ = [
    "flex_arrays",
    "flex_materials",
    "hfield_arrays",
    "mesh_arrays",
    "skin_arrays",
    "texture_arrays",
    "tree_arrays",
]


def mesh_arrays(model: Any, index: int) -> Arrays:
    """Return a mesh in the compiled frame that geom poses refer to, with its convex hull."""
    faces = _rows(model.mesh_face, model.mesh_faceadr, model.mesh_facenum, index)
    vertices = _rows(model.mesh_vert, model.mesh_vertadr, model.mesh_vertnum, index)
    arrays: dict[str, NDArray[np.generic]] = {
        "vertices": vertices.astype(np.float32),
        "faces": faces.astype(np.int32),
    }
    if int(model.mesh_normalnum[index]):
        normals = _rows(model.mesh_normal, model.mesh_normaladr, model.mesh_normalnum, index)
        corners = _rows(model.mesh_facenormal, model.mesh_faceadr, model.mesh_facenum, index)
        arrays["normals"] = normals.astype(np.float32)
        arrays["face_normals"] = corners.astype(np.int32)
    if int(model.mesh_texcoordnum[index]) and int(model.mesh_texcoordadr[index]) >= 0:
        coordinates = _rows(
            model.mesh_texcoord, model.mesh_texcoordadr, model.mesh_texcoordnum, index
        )
        corners = _rows(model.mesh_facetexcoord, model.mesh_faceadr, model.mesh_facenum, index)
        arrays["texcoords"] = coordinates.astype(np.float32)
        arrays["face_texcoords"] = corners.astype(np.int32)
    hull = _hull_faces(model, index)
    if len(hull):
        arrays["hull_faces"] = hull
    return arrays


def _hull_faces(model: Any, index: int) -> NDArray[np.int32]:
    """Return the faces (n, 3) of a mesh's convex hull; empty when MuJoCo made none.

    ``mesh_graph`` holds per mesh: numvert, numface, vert_edgeadr (numvert), vert_globalid
    (numvert), edge_localid (numvert + 3 numface), face_globalid (3 numface).
    """
    begin = int(model.mesh_graphadr[index])
    if begin < 0:
        return np.zeros((0, 3), dtype=np.int32)
    numvert, numface = (int(count) for count in model.mesh_graph[begin : begin + 2])
    first = begin + 2 + 3 * numvert + 3 * numface
    faces = np.asarray(model.mesh_graph[first : first + 3 * numface])
    return faces.reshape(numface, 3).astype(np.int32)


def hfield_arrays(model: Any, index: int) -> Arrays:
    """Return the elevations of a height field."""
    rows, columns = int(model.hfield_nrow[index]), int(model.hfield_ncol[index])
    begin = int(model.hfield_adr[index])
    values = np.asarray(model.hfield_data[begin : begin + rows * columns])
    return {"data": values.reshape(rows, columns).astype(np.float32)}


def texture_arrays(model: Any, index: int) -> Arrays:
    """Return the pixels of a texture."""
    height, width = int(model.tex_height[index]), int(model.tex_width[index])
    channels = int(model.tex_nchannel[index])
    begin = int(model.tex_adr[index])
    values = np.asarray(model.tex_data[begin : begin + height * width * channels])
    return {"data": values.reshape(height, width, channels).astype(np.uint8)}


def skin_arrays(model: Any, index: int) -> Arrays:
    """Return a skin in its bind pose, and which bones pull which of its vertices how much."""
    bones = _slice(model.skin_boneadr, model.skin_bonenum, index)
    counts = np.asarray(model.skin_bonevertnum[bones])
    # The vertices of a skin's bones stand one bone after the other.
    begin = int(model.skin_bonevertadr[bones.start]) if len(counts) else 0
    pulled = slice(begin, begin + int(counts.sum()))
    vertices = _slice(model.skin_vertadr, model.skin_vertnum, index)
    faces = _slice(model.skin_faceadr, model.skin_facenum, index)
    arrays: dict[str, NDArray[np.generic]] = {
        "vertices": np.array(model.skin_vert[vertices], dtype=np.float32),
        "faces": np.array(model.skin_face[faces], dtype=np.int32),
        "bone_body": np.array(model.skin_bonebodyid[bones], dtype=np.int32),
        "bone_pos": np.array(model.skin_bonebindpos[bones], dtype=np.float32),
        "bone_quat": np.array(model.skin_bonebindquat[bones], dtype=np.float32),
        "bone_count": counts.astype(np.int32),
        "bone_vertex": np.array(model.skin_bonevertid[pulled], dtype=np.int32),
        "bone_weight": np.array(model.skin_bonevertweight[pulled], dtype=np.float32),
    }
    texture = int(model.skin_texcoordadr[index])
    if texture >= 0:
        count = int(model.skin_vertnum[index])
        coordinates = model.skin_texcoord[texture : texture + count]
        arrays["texcoords"] = np.array(coordinates, dtype=np.float32)
    return arrays


def _element_materials(model: Any, index: int) -> NDArray[np.int64]:
    """Return the material (nelem,) of each element; before 4.0 a flex had one for all."""
    if len(model.flex_matid) != model.nflexelem:
        return np.array(model.flex_matid[index : index + 1], dtype=np.int64)
    elements = _slice(model.flex_elemadr, model.flex_elemnum, index)
    return np.array(model.flex_matid[elements], dtype=np.int64)


def flex_materials(model: Any, index: int) -> tuple[int, ...]:
    """Return the materials of a flex, each once, in the order of its elements; -1 for none."""
    return tuple(dict.fromkeys(_element_materials(model, index).tolist())) or (-1,)


def flex_arrays(model: Any, index: int) -> Arrays:
    """Return how the vertices of a flex hang together; indices count from its first vertex."""
    corners = int(model.flex_dim[index]) + 1
    begin, count = int(model.flex_elemdataadr[index]), int(model.flex_elemnum[index])
    elements = slice(begin, begin + corners * count)
    begin, count = int(model.flex_shelldataadr[index]), int(model.flex_shellnum[index])
    shell = slice(max(0, begin), max(0, begin) + (corners - 1) * count)
    edges = _slice(model.flex_edgeadr, model.flex_edgenum, index)
    vertices = _table(model.flex_elem[elements], columns=corners)
    arrays: dict[str, NDArray[np.generic]] = {
        "elements": vertices,
        "shell": _table(model.flex_shell[shell], columns=corners - 1),
        "edges": _table(model.flex_edge[edges], columns=2),
    }
    materials = flex_materials(model, index)
    if len(materials) > 1:
        own = _element_materials(model, index).tolist()
        arrays["element_material"] = np.array([materials.index(m) for m in own], dtype=np.int32)
    if corners == 4:
        layer = model.flex_elemlayer[_slice(model.flex_elemadr, model.flex_elemnum, index)]
        arrays["element_layer"] = np.array(layer, dtype=np.int32)
    first = int(model.flex_texcoordadr[index])
    if first >= 0:
        if hasattr(model, "flex_elemtexcoord"):
            of_corner = _table(model.flex_elemtexcoord[elements], columns=corners)
        else:
            of_corner = vertices  # one coordinate per vertex
        # How many coordinates a flex has is said nowhere but by who uses them.
        used = int(of_corner.max(initial=-1)) + 1
        coordinates = model.flex_texcoord[first : first + used]
        arrays["texcoords"] = np.array(coordinates, dtype=np.float32).reshape(-1, 2)
        arrays["element_texcoords"] = of_corner
    return {**arrays, **_flex_cage(model, index)}


def _flex_cage(model: Any, index: int) -> Arrays:
    """Return the nodes that move a flex of few degrees of freedom, and the lattice between them."""
    nodes = _slice(model.flex_nodeadr, model.flex_nodenum, index)
    if nodes.start == nodes.stop:
        return {}
    order = int(model.flex_interp[index])
    cells = np.ones(3, dtype=np.int64)  # before 4.0 a flex had one cell
    if hasattr(model, "flex_cellnum"):
        cells = np.maximum(np.asarray(model.flex_cellnum[index], dtype=np.int64), 1)
    count = cells * order + 1
    if count.prod() != nodes.stop - nodes.start:
        return {}
    numbers = np.arange(count.prod(), dtype=np.int32).reshape(count)
    lines = [
        np.stack([below.ravel(), above.ravel()], axis=1)
        for below, above in (
            (numbers[:-1], numbers[1:]),
            (numbers[:, :-1], numbers[:, 1:]),
            (numbers[:, :, :-1], numbers[:, :, 1:]),
        )
    ]
    return {
        "node_body": np.array(model.flex_nodebodyid[nodes], dtype=np.int32),
        "node_pos": np.array(model.flex_node[nodes], dtype=np.float32),
        "cage": np.concatenate(lines),
    }


def tree_arrays(model: Any) -> Arrays:
    """Return the trees of bounding volumes of bodies, meshes and flexes.

    MuJoCo bounds the node of a single geom in the body's frame, too; its viewer draws that geom's
    own box, which is what a person expects.
    """
    aabb = np.array(model.bvh_aabb[: model.nbvhstatic], dtype=np.float32).reshape(-1, 6)
    element = np.array(model.bvh_nodeid, dtype=np.int32)
    of_bodies = np.zeros(len(aabb), dtype=np.bool_)
    for first, count in zip(model.body_bvhadr.tolist(), model.body_bvhnum.tolist(), strict=True):
        of_bodies[max(first, 0) : max(first, 0) + count] = True
    single = np.flatnonzero(of_bodies & (element[: len(aabb)] >= 0))
    aabb[single] = model.geom_aabb[element[single]]
    trees: Arrays = {
        name: np.stack([address, count], axis=1).astype(np.int32)
        for name, address, count in (
            ("body", model.body_bvhadr, model.body_bvhnum),
            ("mesh", model.mesh_bvhadr, model.mesh_bvhnum),
            ("flex", model.flex_bvhadr, model.flex_bvhnum),
        )
    }
    if getattr(model, "noct", 0):
        address, count = np.array(model.mesh_octadr), np.array(model.mesh_octnum)
        trees = {
            **trees,
            "octree": np.stack([address, count], axis=1).astype(np.int32),
            "oct_depth": np.array(model.oct_depth, dtype=np.int32),
            "oct_aabb": np.array(model.oct_aabb, dtype=np.float32).reshape(-1, 6),
        }
    return {
        "aabb": aabb,
        "child": _table(model.bvh_child, columns=2),
        "depth": np.array(model.bvh_depth, dtype=np.int32),
        "element": element,
        **trees,
    }


def _table(values: Any, *, columns: int) -> NDArray[np.int32]:
    return np.array(values, dtype=np.int32).reshape(-1, columns)


def _slice(addresses: Any, counts: Any, index: int) -> slice:
    begin = int(addresses[index])
    return slice(begin, begin + int(counts[index]))


def _rows(values: Any, addresses: Any, counts: Any, index: int) -> NDArray[Any]:
    return np.asarray(values[_slice(addresses, counts, index)])
