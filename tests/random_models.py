"""Random small models that use whatever a state may consist of, and random inputs for them.

What the installed MuJoCo does not know is left out: each feature is tried with the model that
there is so far, and kept when that compiles.
"""

import dataclasses

import mujoco
import numpy as np

__all__ = ["RandomModel", "disturb", "random_model"]

_INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast", "discrete")
_SOLVERS = ("PGS", "CG", "Newton")
_CONES = ("pyramidal", "elliptic")


@dataclasses.dataclass(frozen=True, slots=True)
class RandomModel:
    """A model as MJCF, and what it was made of."""

    xml: str
    features: tuple[str, ...]


@dataclasses.dataclass
class _Parts:
    """The sections of a model that features write into."""

    option: dict[str, str] = dataclasses.field(default_factory=dict)
    flags: dict[str, str] = dataclasses.field(default_factory=dict)
    size: dict[str, str] = dataclasses.field(default_factory=dict)
    extension: str = ""
    bodies: str = ""
    tendons: str = ""
    actuators: str = ""
    sensors: str = ""
    equalities: str = ""

    def xml(self) -> str:
        option = " ".join(f'{key}="{value}"' for key, value in self.option.items())
        flags = " ".join(f'{key}="{value}"' for key, value in self.flags.items())
        size = " ".join(f'{key}="{value}"' for key, value in self.size.items())
        return (
            f'<mujoco><option {option}><flag {flags}/></option><size memory="32M" {size}/>'
            f"<extension>{self.extension}</extension>"
            f'<worldbody><geom name="floor" type="plane" size="5 5 .1"/>{self.bodies}</worldbody>'
            f"<tendon>{self.tendons}</tendon><equality>{self.equalities}</equality>"
            f"<actuator>{self.actuators}</actuator><sensor>{self.sensors}</sensor></mujoco>"
        )


def random_model(seed: int) -> RandomModel:
    """Return the model of a seed; the same on every run of one MuJoCo version."""
    rng = np.random.default_rng(seed)
    parts = _Parts()
    parts.option["timestep"] = str(rng.choice([0.001, 0.002, 0.004]))
    integrator, solver, cone = (str(rng.choice(of)) for of in (_INTEGRATORS, _SOLVERS, _CONES))
    if f"mjINT_{integrator.upper()}" in mujoco.mjtIntegrator.__members__:
        parts.option["integrator"] = integrator
    parts.option["solver"], parts.option["cone"] = solver, cone
    _chain(parts, rng)
    features = [integrator, solver, cone]
    for feature, chance in _FEATURES.items():
        if rng.random() >= chance:
            continue
        with_it = dataclasses.replace(
            parts, option=dict(parts.option), flags=dict(parts.flags), size=dict(parts.size)
        )
        globals()[f"_{feature}"](with_it, rng)
        if _compiles(with_it):
            parts = with_it
            features.append(feature)
    return RandomModel(parts.xml(), tuple(features))


def _compiles(parts: _Parts) -> bool:
    try:
        model = mujoco.MjModel.from_xml_string(parts.xml())
        mujoco.mj_step(model, mujoco.MjData(model))
    except (ValueError, mujoco.FatalError):
        return False
    return True


def disturb(
    model: mujoco.MjModel, data: mujoco.MjData, rng: np.random.Generator, *, gently: bool
) -> None:
    """Write random inputs of every kind for the coming step; ``gently`` lets bodies sleep."""
    data.ctrl[:] = rng.uniform(-1.0, 1.0, model.nu)
    if model.nuserdata:
        data.userdata[:] = rng.normal(size=model.nuserdata)
    if gently and rng.random() < 0.99:
        return
    if rng.random() < 0.1:
        data.qfrc_applied[:] = rng.normal(0.0, 0.2, model.nv)
    if rng.random() < 0.05:
        data.xfrc_applied[int(rng.integers(model.nbody))] = rng.normal(0.0, 0.5, 6)
    if rng.random() < 0.05:
        data.xfrc_applied[:] = 0.0
    if model.nmocap:
        data.mocap_pos[:] += rng.normal(0.0, 2e-3, data.mocap_pos.shape)
    if model.neq and rng.random() < 0.02:
        one = int(rng.integers(model.neq))
        data.eq_active[one] = not data.eq_active[one]


def _chain(parts: _Parts, rng: np.random.Generator) -> None:
    length = int(rng.integers(2, 5))
    body = close = ""
    for i in range(length):
        axis = rng.choice(["1 0 0", "0 1 0", "0 0 1"])
        damping, armature = rng.uniform(0.01, 0.2), rng.uniform(0.01, 0.1)
        limits = 'range="-60 60"' if rng.random() < 0.5 else ""
        body += (
            f'<body name="link{i}" pos="0 0 {0.8 if i == 0 else 0.25}">'
            f'<joint name="hinge{i}" axis="{axis}" damping="{damping:.4f}" '
            f'armature="{armature:.4f}" {limits}/>'
            f'<geom type="capsule" fromto="0 0 0 0 0 .2" size=".04"/><site name="tip{i}" '
            'pos="0 0 .2" size=".05"/>'
        )
        close += "</body>"
    parts.bodies += body + close
    parts.actuators += '<motor name="motor" joint="hinge0" gear="2"/>'


def _falling_bodies(parts: _Parts, rng: np.random.Generator) -> None:
    for i in range(int(rng.integers(1, 6))):
        x, y, z = *rng.uniform(-0.6, 0.6, 2), rng.uniform(0.1, 0.6)
        kind = rng.choice(["box", "ellipsoid", "cylinder"])
        parts.bodies += (
            f'<body name="thing{i}" pos="{x:.3f} {y:.3f} {z:.3f}"><freejoint/>'
            f'<geom type="{kind}" size=".1 .08 .06" condim="{rng.choice([1, 3, 4, 6])}"/></body>'
        )


def _ball_joint(parts: _Parts, rng: np.random.Generator) -> None:
    parts.bodies += (
        '<body pos="1 0 1"><joint name="ball" type="ball" damping=".05" frictionloss=".02"/>'
        '<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body>'
    )


def _sleep(parts: _Parts, rng: np.random.Generator) -> None:
    parts.flags["sleep"] = "enable"
    parts.option["sleep_tolerance"] = "0.01"


def _dominoes(parts: _Parts, rng: np.random.Generator) -> None:
    _sleep(parts, rng)
    for i in range(6):
        parts.bodies += (
            f'<body name="domino{i}" pos="{1.5 + 0.09 * i:.2f} 1 .1"><freejoint/>'
            '<geom type="box" size=".01 .05 .1"/></body>'
        )
    parts.bodies += '<body pos="1.2 1 .3"><freejoint/><geom size=".03" mass=".3"/></body>'


def _noslip(parts: _Parts, rng: np.random.Generator) -> None:
    parts.option["noslip_iterations"] = str(int(rng.integers(1, 6)))


def _delayed_actuator(parts: _Parts, rng: np.random.Generator) -> None:
    samples = int(rng.integers(2, 8))
    parts.actuators += (
        f'<motor name="late" joint="hinge1" delay="{rng.uniform(0.001, 0.015):.4f}" '
        f'nsample="{samples}" interp="{rng.choice(["zoh", "linear", "cubic"])}"/>'
    )


def _delayed_sensor(parts: _Parts, rng: np.random.Generator) -> None:
    parts.sensors += (
        f'<jointpos name="late" joint="hinge0" delay="{rng.uniform(0.001, 0.015):.4f}" '
        f'nsample="{int(rng.integers(2, 8))}" interp="linear"/>'
        '<gyro name="rare" site="tip1" interval="0.008 0" nsample="2" delay="0.004"/>'
    )


def _sensors(parts: _Parts, rng: np.random.Generator) -> None:
    parts.sensors += (
        '<accelerometer site="tip0"/><touch site="tip1"/><subtreeangmom body="link0"/>'
        '<jointvel joint="hinge1"/><force site="tip0"/>'
    )


def _plastic_spring(parts: _Parts, rng: np.random.Generator) -> None:
    parts.bodies += (
        '<body pos="-1 1 1"><joint name="bent1" axis="0 1 0" stiffness="5" damping=".02" '
        f'springyield="{rng.uniform(0.05, 0.3):.3f}"/>'
        '<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body>'
    )


def _mocap_weld(parts: _Parts, rng: np.random.Generator) -> None:
    parts.bodies += (
        '<body name="hand" mocap="true" pos="0 -1 .5"><geom size=".02" contype="0" '
        'conaffinity="0"/></body><body name="carried" pos="0 -1 .5"><freejoint/>'
        '<geom type="box" size=".05 .06 .07"/></body>'
    )
    parts.equalities += '<weld body1="hand" body2="carried"/>'


def _switches(parts: _Parts, rng: np.random.Generator) -> None:
    parts.equalities += (
        f'<joint joint1="hinge0" joint2="hinge1" active="{rng.choice(["true", "false"])}" '
        'polycoef="0 -1 0 0 0"/><connect body1="link1" anchor="0 0 .2" active="false"/>'
    )


def _cloth(parts: _Parts, rng: np.random.Generator) -> None:
    parts.bodies += (
        '<body name="frame" pos="0 1.5 .6"><flexcomp name="cloth" type="grid" count="4 4 1" '
        'spacing=".08 .08 .08" mass=".2" radius=".01" dim="2"><edge equality="true" '
        'damping=".01"/><contact selfcollide="none"/><pin id="0 3"/></flexcomp></body>'
    )


def _soft_block(parts: _Parts, rng: np.random.Generator) -> None:
    extra = rng.choice(["", 'yield="200"', 'yield="0.1"'])
    parts.bodies += (
        '<body name="mount1" pos="-1.5 1 .4"><flexcomp name="block1" type="grid" count="3 3 3" '
        'spacing=".08 .08 .08" mass=".5" radius=".01" dim="3">'
        f'<elasticity young="{rng.choice([2e3, 2e4])}" poisson=".2" damping=".01" {extra}/>'
        '<contact selfcollide="none"/></flexcomp></body>'
    )


def _trilinear_block(parts: _Parts, rng: np.random.Generator) -> None:
    parts.bodies += (
        '<body name="mount2" pos="-1.5 -1 .4"><flexcomp name="block2" type="grid" count="4 4 4" '
        'spacing=".06 .06 .06" mass=".5" radius=".01" dim="3" dof="trilinear">'
        '<elasticity young="1e4" poisson=".2" damping=".01"/>'
        '<contact selfcollide="none"/></flexcomp></body>'
    )


def _cable(parts: _Parts, rng: np.random.Generator) -> None:
    parts.bodies += (
        '<body name="post" pos="1.5 -1 .8"><flexcomp name="rope" type="grid" count="6 1 1" dim="1" '
        'spacing=".06 .06 .06" mass=".1" radius=".01"><edge stiffness="200" damping=".1"/>'
        '<contact selfcollide="none"/><pin id="0"/></flexcomp></body>'
    )


def _tendon(parts: _Parts, rng: np.random.Generator) -> None:
    parts.tendons += (
        '<spatial name="string" stiffness="20" damping=".1" springlength=".1 .3">'
        '<site site="tip0"/><site site="tip1"/></spatial>'
    )
    parts.actuators += '<muscle name="muscle" tendon="string" lengthrange=".05 .5" force="5"/>'


def _plastic_tendon(parts: _Parts, rng: np.random.Generator) -> None:
    parts.tendons += (
        '<fixed name="coupling" stiffness="5" springyield="0.1"><joint joint="hinge0" coef="1"/>'
        '<joint joint="hinge1" coef="-1"/></fixed>'
    )


def _activations(parts: _Parts, rng: np.random.Generator) -> None:
    parts.actuators += (
        '<intvelocity name="integrating" joint="hinge1" kp="5" actrange="-1 1"/>'
        '<general name="filtered" joint="hinge0" dyntype="filterexact" dynprm="0.05" gainprm="1"/>'
        '<cylinder name="cylinder" joint="hinge1" timeconst="0.1" area="1"/>'
    )


def _pid(parts: _Parts, rng: np.random.Generator) -> None:
    parts.actuators += '<pid name="pid" joint="hinge0" kp="5" ki="3" kv=".2" imax="2"/>'


def _dcmotor(parts: _Parts, rng: np.random.Generator) -> None:
    parts.actuators += (
        '<dcmotor name="dc" joint="hinge1" motorconst="0.05" resistance="1" inductance="0.01"/>'
    )


def _servo(parts: _Parts, rng: np.random.Generator) -> None:
    parts.actuators += '<position name="servo" joint="hinge0" kp="8" kv=".5" ctrlrange="-1 1"/>'


def _pid_plugin(parts: _Parts, rng: np.random.Generator) -> None:
    parts.extension += (
        '<plugin plugin="mujoco.pid"><instance name="gains"><config key="kp" value="8"/>'
        '<config key="ki" value="4"/><config key="kd" value="0.2"/>'
        '<config key="slewmax" value="30"/><config key="imax" value="3"/></instance></plugin>'
    )
    parts.actuators += (
        '<plugin name="plugged" joint="hinge0" plugin="mujoco.pid" instance="gains" actdim="2"/>'
    )


def _touch_grid_plugin(parts: _Parts, rng: np.random.Generator) -> None:
    parts.extension += (
        '<plugin plugin="mujoco.sensor.touch_grid"><instance name="grid"><config key="size" '
        'value="4 4"/><config key="fov" value="45 45"/><config key="gamma" value="0"/>'
        '<config key="nchannel" value="3"/></instance></plugin>'
    )
    parts.sensors += (
        '<plugin name="grid" plugin="mujoco.sensor.touch_grid" instance="grid" objtype="site" '
        'objname="tip1"/>'
    )


def _userdata(parts: _Parts, rng: np.random.Generator) -> None:
    parts.size["nuserdata"] = "5"


def _medium(parts: _Parts, rng: np.random.Generator) -> None:
    parts.option["density"], parts.option["viscosity"] = "1.2", "0.001"
    parts.option["wind"] = "1 0.5 0"


def _ipc(parts: _Parts, rng: np.random.Generator) -> None:
    parts.option.update(integrator="discrete", solver="CG", cone="pyramidal")
    parts.flags["ipc"] = "enable"


def _no_warmstart(parts: _Parts, rng: np.random.Generator) -> None:
    parts.flags["warmstart"] = "disable"


def _no_islands(parts: _Parts, rng: np.random.Generator) -> None:
    parts.flags["island"] = "disable"


def _energy(parts: _Parts, rng: np.random.Generator) -> None:
    parts.flags["energy"] = "enable"


# How often each occurs; in the order in which they are tried.
_FEATURES = {
    "falling_bodies": 0.6,
    "ball_joint": 0.3,
    "sleep": 0.2,
    "dominoes": 0.2,
    "noslip": 0.25,
    "delayed_actuator": 0.3,
    "delayed_sensor": 0.3,
    "sensors": 0.4,
    "plastic_spring": 0.3,
    "mocap_weld": 0.3,
    "switches": 0.4,
    "cloth": 0.15,
    "soft_block": 0.15,
    "trilinear_block": 0.1,
    "cable": 0.1,
    "tendon": 0.3,
    "plastic_tendon": 0.2,
    "activations": 0.3,
    "pid": 0.2,
    "dcmotor": 0.2,
    "servo": 0.3,
    "pid_plugin": 0.15,
    "touch_grid_plugin": 0.15,
    "userdata": 0.2,
    "medium": 0.2,
    "no_warmstart": 0.1,
    "no_islands": 0.15,
    "energy": 0.2,
    "ipc": 0.08,
}
