"""Everything that depends on which MuJoCo is installed (3.3 … 4.x) stands here.

MuJoCo is imported on first use. Its functions are taken once, when the adapter is made, so that
later wrapping of the ``mujoco`` module (``stroboscope run``) never reaches our own calls.
"""

import copy
import ctypes
import dataclasses
import functools
import importlib
import importlib.metadata
import pathlib
import re
from types import ModuleType
from typing import Any

import numpy as np

from stroboscope.engine.errors import MujocoUnavailableError

__all__ = ["MINIMUM_VERSION", "MujocoAdapter", "installed_mujoco_distributions", "load_mujoco"]

MINIMUM_VERSION = (3, 3)

# The callbacks that a stage function may call; mjcb_control is called by mj_step alone.
_STAGE_CALLBACKS = ("passive", "contactfilter", "act_dyn", "act_gain", "act_bias", "sensor")


@functools.cache
def _library(module: str) -> ctypes.CDLL | None:
    """Return the library that belongs to a module's file; None where it isn't beside it.

    Remembered, as a process that may read no file any more can't look for it.
    """
    folder = pathlib.Path(module).parent
    files = [*folder.glob("libmujoco*.so*"), *folder.glob("libmujoco*.dylib")]
    files += folder.glob("mujoco.dll")
    # It is loaded already: this is another reference to it.
    return ctypes.CDLL(str(files[0])) if files else None


@dataclasses.dataclass(frozen=True)
class MujocoAdapter:
    """The MuJoCo that is there: its module, its functions as they were before any wrapping."""

    module: Any
    version: str
    version_tuple: tuple[int, ...]
    mj_step: Any
    mj_step1: Any
    mj_step2: Any
    mj_forward: Any
    mj_resetData: Any
    mj_getState: Any
    mj_setState: Any
    integration: int
    """``mjSTATE_INTEGRATION``: what a physics step reads, as a bit mask."""

    def callbacks_in_the_way(self, model: Any) -> tuple[str, ...]:
        """Return the names of installed callbacks that recomputing values would call."""
        module = self.module
        found = [n for n in _STAGE_CALLBACKS if getattr(module, f"get_mjcb_{n}")() is not None]
        if self.has_control_callback() and self._is_discrete(model):
            found.append("control")
        return tuple(found)

    def callbacks_of_steps(self, model: Any) -> tuple[str, ...]:
        """Return the names of installed callbacks that a physics step would call.

        Those that recomputing would, and what writes controls within a step: what is computed
        without it is of other controls.
        """
        called = self.callbacks_in_the_way(model)
        is_more = self.has_control_callback() and "control" not in called
        return (*called, "control") if is_more else called

    def _is_discrete(self, model: Any) -> bool:
        """Return whether constraints are solved in a metric that only mj_forward sets up."""
        member = getattr(self.module.mjtIntegrator, "mjINT_DISCRETE", None)
        return member is not None and int(model.opt.integrator) == int(member)

    def installed_callbacks(self) -> tuple[str, ...]:
        """Return the names of all callbacks that are installed, like "mjcb_control"."""
        kinds = ("control", *_STAGE_CALLBACKS, "time")
        getters = {f"mjcb_{kind}": getattr(self.module, f"get_mjcb_{kind}", None) for kind in kinds}
        return tuple(name for name, get in getters.items() if get is not None and get() is not None)

    def plugin_names(self) -> tuple[str, ...]:
        """Return the names of all plugins that are registered, by the numbers models know them by.

        Python has no function for that: the library itself is asked. Empty where it can't be.
        """
        library = _library(str(self.module.__file__))
        if library is None:
            return ()
        # A plugin's description begins with its name.
        library.mjp_getPluginAtSlot.restype = ctypes.POINTER(ctypes.c_char_p)
        slots = (library.mjp_getPluginAtSlot(i) for i in range(library.mjp_pluginCount()))
        return tuple(slot[0].decode("utf-8", "replace") if slot else "" for slot in slots)

    def has_control_callback(self) -> bool:
        """Return whether the script set ``mjcb_control``, which writes ctrl inside a step."""
        return self.module.get_mjcb_control() is not None

    def has_user_sensors(self, model: Any) -> bool:
        """Return whether ``mjcb_sensor`` would be called: ``model`` has sensors for it to fill."""
        return bool((model.sensor_type == int(self.module.mjtSensor.mjSENS_USER)).any())

    def has_sensor_callback(self, model: Any) -> bool:
        """Return whether the script set ``mjcb_sensor``, and ``model`` has sensors for it."""
        return self.module.get_mjcb_sensor() is not None and self.has_user_sensors(model)

    def has_contact_filter(self) -> bool:
        """Return whether the script set ``mjcb_contactfilter``."""
        return self.module.get_mjcb_contactfilter() is not None

    def sleeps(self, model: Any) -> bool:
        """Return whether islands of ``model`` may fall asleep (no state vector holds that)."""
        flag = getattr(self.module.mjtEnableBit, "mjENBL_SLEEP", None)
        return flag is not None and bool(model.opt.enableflags & int(flag))

    def prepare_sleep(self, model: Any, data: Any) -> None:
        """Place what never moves, before ``enable.sleep`` is switched on.

        From then on MuJoCo does not compute that anew, and data that was just made or reset has
        it at zero.
        """
        self.prepare_energy(model, data)
        self.module.mj_camlight(model, data)

    def hidden_state_reason(self, model: Any) -> str:
        """Return why a checkpoint of ``model`` can only be approximate; empty when it is exact."""
        flag = getattr(self.module.mjtEnableBit, "mjENBL_IPC", None)
        if flag is not None and model.opt.enableflags & int(flag):
            return "the ipc contact solver keeps state that MuJoCo does not expose"
        return ""

    def copy_data(self, model: Any, source: Any, target: Any) -> None:
        """Copy all that the next step of ``source`` reads to ``target``, sleep included."""
        copy_data = getattr(self.module, "mj_copyData", None)
        # A step that failed has left the stack in use; MuJoCo refuses to copy such data.
        if copy_data is not None and not source.pstack:
            copy_data(target, model, source)
            return
        row = np.empty(int(self.module.mj_stateSize(model, self.integration)))
        self.mj_getState(model, source, row, self.integration)
        self.mj_setState(model, target, row, self.integration)

    def self_resets(self, model: Any, data: Any) -> int:
        """Return how often MuJoCo has reset diverged ``data``, since somebody else did: 0 or 1."""
        if model.opt.disableflags & int(self.module.mjtDisableBit.mjDSBL_AUTORESET):
            return 0
        kinds, warning = self.module.mjtWarning, data.warning
        bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
        return sum(int(warning[int(kind)].number) for kind in bad)

    def batch_module(self) -> Any | None:
        """Return ``mujoco.batch``, which steps many states on native threads; None before it."""
        try:
            return importlib.import_module("mujoco.batch")
        except ModuleNotFoundError:
            return None

    def copy_results(self, model: Any, source: Any, target: Any) -> Any:
        """Return ``target`` with all of ``source``, also what a step has computed.

        Another copy where MuJoCo can't copy into existing data (3.3's Python part).
        """
        if not hasattr(self.module, "mj_copyData"):
            return copy.copy(source)
        self.module.mj_copyData(target, model, source)
        return target

    def free_stack(self, data: Any) -> None:
        """Give back what a step that failed has left in use: else the next ones fail earlier.

        Only when no MuJoCo function is running on ``data``.
        """
        data.pstack = 0
        data.pbase = 0

    def prepare_energy(self, model: Any, data: Any) -> None:
        """Compute positions and inertia of the state in ``data``: what its energies depend on."""
        module = self.module
        module.mj_kinematics(model, data)
        module.mj_comPos(model, data)
        module.mj_flex(model, data)
        module.mj_tendon(model, data)
        module.mj_crb(model, data)
        make_inertia = getattr(module, "mj_makeM", None)
        if make_inertia is not None:
            make_inertia(model, data)

    def forget_lazy_results(self, data: Any) -> None:
        """Make MuJoCo compute anew what it computes on demand and remembers in flags.

        A copy of live data says "done" for results of the state before; ``mj_forward`` clears
        these flags, the stage functions do not.
        """
        for flag in ("flg_energypos", "flg_energyvel", "flg_subtreevel", "flg_rnepost"):
            if hasattr(data, flag):
                setattr(data, flag, 0)

    @property
    def sums_margins(self) -> bool:
        """Return whether margins (and gaps) of two geoms are added; before 3.5 the larger won."""
        return self.version_tuple >= (3, 5)

    def has_gravity(self, model: Any) -> bool:
        """Return whether gravity acts."""
        return not model.opt.disableflags & int(self.module.mjtDisableBit.mjDSBL_GRAVITY)

    def springs_and_dampers(self, model: Any) -> tuple[bool, bool]:
        """Return whether springs and dampers act; one flag switched both before 3.4."""
        bits = self.module.mjtDisableBit
        names = ("mjDSBL_SPRING", "mjDSBL_DAMPER")
        off = [getattr(bits, name, None) or bits.mjDSBL_PASSIVE for name in names]
        return (
            not model.opt.disableflags & int(off[0]),
            not model.opt.disableflags & int(off[1]),
        )

    def inertia_diagonal(self, model: Any, data: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the diagonal of the joint-space inertia, (nv,)."""
        if hasattr(data, "qM"):  # until 3.12
            return np.array(np.asarray(data.qM)[model.dof_Madr])
        last = np.asarray(model.M_rowadr) + np.asarray(model.M_rownnz) - 1
        return np.array(np.asarray(data.M)[last])

    def full_inertia(self, model: Any, data: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the joint-space inertia, (nv, nv)."""
        inertia = np.zeros((model.nv, model.nv))
        if hasattr(data, "qM"):
            self.module.mj_fullM(model, inertia, data.qM)
        else:
            self.module.mj_fullM(model, data, inertia)
        return inertia

    def has_discrete_metric(self, data: Any) -> bool:
        """Return whether :meth:`discrete_metric` takes the place of the inertia."""
        return bool(getattr(data, "efm_active", 0))

    def discrete_metric(self, model: Any, data: Any) -> Any | None:
        """Return the (nv, nv) matrix that takes the place of the inertia when a step solves the
        linearly implicit dynamics (``integrator="discrete"``); None when it doesn't.
        """
        if not self.has_discrete_metric(data):
            return None
        module = self.module
        inertia = self.full_inertia(model, data)
        if len(data.efm_K_val):
            implicit = np.zeros((model.nv, model.nv))
            module.mju_sparse2dense(
                implicit, data.efm_K_val, data.efm_K_rownnz, data.efm_K_rowadr, data.efm_K_colind
            )
            inertia += implicit
        inertia[np.diag_indices(model.nv)] += data.efm_diag
        return inertia

    def is_runge_kutta(self, model: Any) -> bool:
        """Return whether a step evaluates the model several times (its arrays are no instant)."""
        return int(model.opt.integrator) == int(self.module.mjtIntegrator.mjINT_RK4)

    def actuator_count(self, model: Any) -> int:
        """Return the number of actuators; since 4.0 one may have several controls."""
        return int(getattr(model, "nactuator", model.nu))

    def actuator_slices(self, model: Any, index: int) -> tuple[slice, slice]:
        """Return where actuator ``index`` stands in ``ctrl`` and in ``actuator_force``."""
        if not hasattr(model, "actuator_ctrladr"):
            return slice(index, index + 1), slice(index, index + 1)
        ctrl, out = int(model.actuator_ctrladr[index]), int(model.actuator_outadr[index])
        return (
            slice(ctrl, ctrl + int(model.actuator_ctrlnum[index])),
            slice(out, out + int(model.actuator_outnum[index])),
        )

    def control_ranges(
        self, model: Any
    ) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], np.ndarray[Any, np.dtype[np.float64]]]:
        """Return whether each control is limited, (nu,), and to what, (nu, 2).

        MuJoCo keeps both per control, and what limits forces per actuator.
        """
        limited = np.asarray(model.actuator_ctrllimited).astype(bool)
        ranges = np.array(model.actuator_ctrlrange, dtype=np.float64).reshape(-1, 2)
        return limited, ranges

    def light_is_directional(self, model: Any, index: int) -> bool:
        """Return whether a light shines in parallel rays."""
        if hasattr(model, "light_type"):
            directional = int(self.module.mjtLightType.mjLIGHT_DIRECTIONAL)
            return int(model.light_type[index]) == directional
        return bool(model.light_directional[index])

    def light_is_point(self, model: Any, index: int) -> bool:
        """Return whether a light shines from a point in all directions."""
        if not hasattr(model, "light_type"):
            return False
        return int(model.light_type[index]) == int(self.module.mjtLightType.mjLIGHT_POINT)

    def srgb_textures(self, model: Any) -> list[bool]:
        """Return for each texture whether its bytes are sRGB and not linear."""
        if not hasattr(model, "tex_colorspace"):
            return [False] * int(model.ntex)
        srgb = int(self.module.mjtColorSpace.mjCOLORSPACE_SRGB)
        return [int(space) == srgb for space in model.tex_colorspace]

    def camera_is_orthographic(self, model: Any, index: int) -> bool:
        """Return whether a camera projects in parallel."""
        if hasattr(model, "cam_projection"):
            return int(model.cam_projection[index]) == 1
        return bool(model.cam_orthographic[index])

    def color_texture(self, model: Any, material: int) -> int:
        """Return the colour texture of a material, or -1."""
        roles = self.module.mjtTextureRole
        for role in (roles.mjTEXROLE_RGB, roles.mjTEXROLE_RGBA):
            texture = int(model.mat_texid[material, int(role)])
            if texture >= 0:
                return texture
        return -1

    def members(self, enum_name: str, prefix: str) -> tuple[str, ...]:
        """Return the names of a MuJoCo enum in order, lower case and without ``prefix``."""
        enum = getattr(self.module, enum_name)
        names = (name for name in enum.__members__ if name.startswith(prefix))
        return tuple(name.removeprefix(prefix).lower() for name in names)


def installed_mujoco_distributions() -> dict[str, str]:
    """Return the versions of the MuJoCo distributions that share the folder ``mujoco``."""
    found = {}
    for name in ("mujoco", "mujoco-core"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@functools.cache
def load_mujoco() -> MujocoAdapter:
    """Import MuJoCo and return its adapter; any thread.

    Raises MujocoUnavailableError when there is none, when it is older than 3.3, or when two
    distributions overwrote each other's files.
    """
    # Whoever waits for this import (``stroboscope run``) asks for the adapter within it, and then
    # puts other functions in the place of MuJoCo's: that adapter is the one that has MuJoCo's own.
    module = _imported()
    return _adapter(module)


def _imported() -> Any:
    try:
        return importlib.import_module("mujoco")
    except ModuleNotFoundError as error:
        if error.name == "mujoco":
            raise MujocoUnavailableError(
                "MuJoCo is not installed in this Python environment; install it with "
                '`pip install "stroboscope[mujoco]"`, or use the `mujoco` you need (>= 3.3)'
            ) from None
        raise MujocoUnavailableError(_broken(error)) from error
    except (ImportError, OSError, AttributeError) as error:
        raise MujocoUnavailableError(_broken(error)) from error


@functools.cache
def _adapter(module: Any) -> MujocoAdapter:
    version = _version_of(module)
    numbers = _numbers(version)
    if numbers < MINIMUM_VERSION:
        raise MujocoUnavailableError(
            f"MuJoCo {version} is too old: Stroboscope needs 3.3 or newer; "
            '`pip install "stroboscope[mujoco]"` brings one'
        )
    python_part = getattr(module, "__version__", version)
    if _numbers(python_part) != numbers:
        raise MujocoUnavailableError(
            _broken(f"the Python part says {python_part}, the library {version}")
        )
    return MujocoAdapter(
        module=module,
        version=version,
        version_tuple=numbers,
        mj_step=module.mj_step,
        mj_step1=module.mj_step1,
        mj_step2=module.mj_step2,
        mj_forward=module.mj_forward,
        mj_resetData=module.mj_resetData,
        mj_getState=module.mj_getState,
        mj_setState=_taking_read_only(module.mj_setState),
        integration=int(module.mjtState.mjSTATE_INTEGRATION),
    )


def _taking_read_only(set_state: Any) -> Any:
    """Return ``mj_setState`` that takes read-only states as well; 3.3 refuses them."""
    if "flags.writeable" not in (set_state.__doc__ or ""):
        return set_state

    def set_copy(model: Any, data: Any, state: Any, signature: int) -> None:
        set_state(model, data, state if state.flags.writeable else state.copy(), signature)

    return set_copy


def _version_of(module: ModuleType) -> str:
    """Return the library's version; raises MujocoUnavailableError for what is left of a MuJoCo."""
    try:
        return str(module.mj_versionString())
    except AttributeError as error:
        if getattr(module, "__file__", None) is None:
            folders = ", ".join(map(str, getattr(module, "__path__", ())))
            raise MujocoUnavailableError(
                f"MuJoCo is not installed in this Python environment, there is only a folder "
                f"without its code ({folders}): remove what is left with `pip uninstall mujoco "
                'mujoco-core`, then `pip install "stroboscope[mujoco]"`'
            ) from None
        raise MujocoUnavailableError(_broken(error)) from error


def _numbers(version: str) -> tuple[int, ...]:
    """Return major, minor and patch; development builds add words behind them."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _broken(reason: object) -> str:
    found = installed_mujoco_distributions()
    text = f"MuJoCo is installed but can't be imported: {reason}"
    if len(found) > 1:
        both = " and ".join(f"{name} {version}" for name, version in found.items())
        return (
            f"{text}; {both} share one folder and overwrite each other: "
            "`pip uninstall mujoco mujoco-core`, then install one of them"
        )
    return f"{text}; reinstall it: `pip install --force-reinstall {' '.join(found) or 'mujoco'}`"
