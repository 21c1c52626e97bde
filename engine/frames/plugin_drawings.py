"""What plugins draw of themselves: the descents of an SDF's search for contacts, touch grids.

Only MuJoCo can ask a plugin for that, when it makes a scene for its viewer. Plugins draw from what
they remember of their last computation, so that is made again on data of our own.
"""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.topics import DrawKind
from stroboscope.engine.frames.evaluation import evaluate
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["PluginDrawings"]

_KINDS = {kind: index for index, kind in enumerate(DrawKind)}
# An SDF draws a line per iteration and a ball at both ends; it takes some steps besides.
_MORE_PER_DESCENT = 6
_LEAST_GEOMS, _MOST_GEOMS = 1000, 20_000


class PluginDrawings:
    """Has MuJoCo ask the plugins of a model what they draw; owner thread only.

    Its data and scene are made on first use.
    """

    def __init__(self, model: Any, *, adapter: MujocoAdapter) -> None:
        self._model = model
        self._adapter = adapter
        self._data: Any = None
        self._scene: Any = None
        self._row = np.empty(int(adapter.module.mj_stateSize(model, adapter.integration)))

    def arrays(self, whole: Any) -> Arrays | None:
        """Return PLUGINS of the state of ``whole``; None when there is nobody to ask.

        Nothing is computed where that would call the script's callbacks.
        """
        model, adapter = self._model, self._adapter
        if not getattr(model, "nplugin", 0) or adapter.callbacks_in_the_way(model):
            return None
        adapter.mj_getState(model, whole, self._row, adapter.integration)
        if self._data is None:
            self._data = adapter.module.MjData(model)
        adapter.mj_setState(model, self._data, self._row, adapter.integration)
        try:
            evaluate(model, self._data, adapter=adapter)
        except adapter.module.FatalError:
            self._data = None  # what was under way in its arena never ends
            return None
        always, asked = self._drawn(iterations=False), self._drawn(iterations=True)
        return self._as_arrays(asked, _which_are_new(always, asked))

    def _drawn(self, *, iterations: bool) -> list[Any]:
        """Return what plugins draw, with everything off that MuJoCo draws itself."""
        module, model = self._adapter.module, self._model
        # MuJoCo would write a warning into a file when there is too little room.
        descent = model.opt.sdf_initpoints * (model.opt.sdf_iterations + _MORE_PER_DESCENT)
        room = min(_LEAST_GEOMS + model.nsensordata + model.nplugin * descent, _MOST_GEOMS)
        if self._scene is None or self._scene.maxgeom < room:
            self._scene = module.MjvScene(model, maxgeom=room)
        option = module.MjvOption()
        option.flags[:] = 0
        option.flags[int(module.mjtVisFlag.mjVIS_SDFITER)] = iterations
        category = int(module.mjtCatBit.mjCAT_DECOR)
        module.mjv_updateScene(
            model, self._data, option, None, module.MjvCamera(), category, self._scene
        )
        # Copied: the next scene is made in the same place.
        return [
            (
                int(geom.type),
                tuple(geom.pos.tolist()),
                tuple(geom.size.tolist()),
                tuple(geom.rgba.tolist()),
                tuple(geom.mat.ravel().tolist()),
            )
            for geom in itertools.islice(self._scene.geoms, self._scene.ngeom)
        ]

    def _as_arrays(self, drawn: list[Any], iteration: NDArray[np.int32]) -> Arrays:
        geoms = self._adapter.module.mjtGeom
        kinds = {
            int(geoms.mjGEOM_SPHERE): DrawKind.SPHERE,
            int(geoms.mjGEOM_BOX): DrawKind.BOX,
            int(geoms.mjGEOM_LINE): DrawKind.LINE,
            int(geoms.mjGEOM_ARROW): DrawKind.ARROW,
        }
        known = [index for index, geom in enumerate(drawn) if geom[0] in kinds]
        kind = np.array([_KINDS[kinds[drawn[i][0]]] for i in known], dtype=np.int32)
        pos, size, rgba, mat = (
            np.array([drawn[i][part] for i in known], dtype=np.float64).reshape(-1, width)
            for part, width in ((1, 3), (2, 3), (3, 4), (4, 9))
        )
        quat = np.empty((len(known), 4))
        for turned, values in zip(quat, mat, strict=True):
            self._adapter.module.mju_mat2Quat(turned, values)
        width = np.zeros(len(known))
        line, arrow = kind == _KINDS[DrawKind.LINE], kind == _KINDS[DrawKind.ARROW]
        width[line] = size[line, 0]
        along = line | arrow
        size[along] = mat[along][:, 2::3] * size[along, 2:]
        return {
            "kind": kind,
            "pos": pos.astype(np.float32),
            "quat": quat.astype(np.float32),
            "size": size.astype(np.float32),
            "rgba": rgba.astype(np.float32),
            "width": width.astype(np.float32),
            "iteration": iteration[known],
            "left_out": np.array([len(drawn) - len(known)], dtype=np.int32),
        }


def _which_are_new(always: list[Any], asked: list[Any]) -> NDArray[np.int32]:
    """Return (n,) 1 for each of ``asked`` that is not among ``always``, both in the same order."""
    new = np.ones(len(asked), dtype=np.int32)
    rest = iter(enumerate(asked))
    for geom in always:
        found = next((index for index, other in rest if other == geom), None)
        if found is None:
            break
        new[found] = 0
    return new
