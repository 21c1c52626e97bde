"""The scenes of the reference pictures: small models, each about one thing that is drawn.

Read by the tests and by ``packaging/reference_pictures.py``, which lets MuJoCo's own renderer
draw the same beside them.
"""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SCENES", "ReferenceScene", "Shown", "shown_by_engine"]

_LOOK = '<visual><headlight diffuse=".4 .4 .4" ambient=".2 .2 .2"/></visual>'
_FLOOR = '<geom type="plane" size="0 0 .1" material="floor"/>'
_ASSETS = """
<texture name="floor" type="2d" builtin="checker" rgb1=".25 .3 .36" rgb2=".32 .38 .45"
 mark="edge" markrgb=".6 .65 .7" width="128" height="128"/>
<material name="floor" texture="floor" texrepeat="2 2" texuniform="true" reflectance=".1"/>
"""
_LIGHT = '<light pos="-1 -2 4" dir=".25 .45 -1" directional="true"/>'


@dataclasses.dataclass(frozen=True)
class ReferenceScene:
    """A model, how long it runs before the picture, and from where it is looked at.

    ``camera``: azimuth, elevation [deg], distance [m], lookat [m]. ``options`` are fields of
    ``ViewOptions``, ``flags`` and ``render_flags`` those of MuJoCo that mean the same.
    """

    caption: str
    xml: str
    camera: tuple[float, float, float, tuple[float, float, float]]
    seconds: float = 0.0
    options: dict[str, object] = dataclasses.field(default_factory=dict)
    flags: tuple[str, ...] = ()
    render_flags: tuple[str, ...] = ()
    ghost: bool = False


def _model(world: str, *, assets: str = "", more: str = "", head: str = "") -> str:
    return (
        f"<mujoco>{_LOOK}{head}<asset>{_ASSETS}{assets}</asset>"
        f"<worldbody>{world}</worldbody>{more}</mujoco>"
    )


def _waves() -> str:
    """Return the elevation of a height field of 24 by 32 as text."""
    y, x = np.mgrid[0:24, 0:32]
    heights = 0.5 + 0.25 * np.sin(x / 3.0) + 0.25 * np.cos(y / 2.5)
    return " ".join(f"{value:.3f}" for value in heights.ravel())


def _bump() -> str:
    """Return vertices of a star-shaped solid, whose hull is another shape."""
    points = []
    for ring, (z, reach) in enumerate(((-0.12, 0.8), (0.0, 1.0), (0.12, 0.8))):
        for k in range(10):
            radius = 0.3 * reach * (1.0 if k % 2 else 0.5)
            angle = np.pi * k / 5.0 + 0.0 * ring
            points.append((radius * np.cos(angle), radius * np.sin(angle), z))
    points += [(0.0, 0.0, -0.12), (0.0, 0.0, 0.12)]
    return " ".join(f"{value:.4f}" for point in points for value in point)


def _bump_faces() -> str:
    faces = []
    for ring in range(2):
        for k in range(10):
            a, b = 10 * ring + k, 10 * ring + (k + 1) % 10
            faces += [(a, b, b + 10), (a, b + 10, a + 10)]
    for k in range(10):
        faces += [(30, (k + 1) % 10, k), (31, 20 + k, 20 + (k + 1) % 10)]
    return " ".join(str(index) for face in faces for index in face)


_STAR = f'<mesh name="star" vertex="{_bump()}" face="{_bump_faces()}"/>'
_SKIN = """<skin name="sleeve" material="cloth" inflate=".005"
 vertex="{vertices}" face="{faces}">{bones}</skin>"""


def _sleeve() -> str:
    """Return a tube about three links that bends with them."""
    vertices, faces = [], []
    rings, around = 25, 16
    for i in range(rings):
        for k in range(around):
            angle = 2.0 * np.pi * k / around
            vertices.append(
                (0.9 * i / (rings - 1), 0.08 * np.cos(angle), 1.0 + 0.08 * np.sin(angle))
            )
    for i in range(rings - 1):
        for k in range(around):
            a, b = i * around + k, i * around + (k + 1) % around
            faces += [(a, a + around, b), (b, a + around, b + around)]
    bones = []
    for bone in range(3):
        center = 0.15 + 0.3 * bone
        weights = [
            (index, max(0.0, 1.0 - abs(vertex[0] - center) / 0.3))
            for index, vertex in enumerate(vertices)
        ]
        if bone == 0:
            weights = [(i, 1.0 if vertices[i][0] < center else w) for i, w in weights]
        if bone == 2:
            weights = [(i, 1.0 if vertices[i][0] > center else w) for i, w in weights]
        used = [(i, w) for i, w in weights if w > 0.0]
        ids = " ".join(str(i) for i, _ in used)
        numbers = " ".join(f"{w:.4f}" for _, w in used)
        bones.append(
            f'<bone body="link{bone}" bindpos="{0.3 * bone} 0 1" bindquat="1 0 0 0"'
            f' vertid="{ids}" vertweight="{numbers}"/>'
        )
    return _SKIN.format(
        vertices=" ".join(f"{v:.4f}" for p in vertices for v in p),
        faces=" ".join(str(i) for f in faces for i in f),
        bones="".join(bones),
    )


_SHAPES = f"""{_LIGHT}{_FLOOR}
<geom type="sphere" size=".25" pos="-1.2 0 .25" rgba=".85 .25 .2 1"/>
<geom type="capsule" size=".15 .2" pos="-.6 0 .35" rgba=".2 .55 .85 1"/>
<geom type="ellipsoid" size=".15 .25 .35" pos="0 0 .35" rgba=".3 .7 .35 1"/>
<geom type="cylinder" size=".22 .3" pos=".6 0 .3" rgba=".9 .7 .2 1"/>
<geom type="box" size=".2 .2 .25" pos="1.25 0 .25" euler="0 0 25" rgba=".6 .4 .75 1"/>
<geom type="mesh" mesh="star" pos="0 -.9 .15" rgba=".8 .8 .82 1"/>
<site type="sphere" size=".06" pos="-.7 -.8 .1" rgba="1 .5 .1 1"/>
<site type="box" size=".06 .1 .06" pos=".7 -.8 .1" rgba=".1 .8 .8 1"/>"""

_PAINTED = """
<texture name="tiles" type="2d" builtin="checker" rgb1=".9 .9 .85" rgb2=".2 .35 .6"
 width="64" height="64"/>
<texture name="die" type="cube" builtin="flat" mark="cross" width="64" height="64"
 rgb1=".85 .3 .25" rgb2=".25 .6 .4" markrgb="1 1 1"/>
<texture name="fade" type="cube" builtin="gradient" width="64" height="384"
 rgb1=".9 .8 .3" rgb2=".3 .2 .5"/>
<material name="tiles" texture="tiles" texrepeat="2 2"/>
<material name="metres" texture="tiles" texrepeat="4 4" texuniform="true"/>
<material name="die" texture="die"/><material name="fade" texture="fade"/>"""

SCENES: dict[str, ReferenceScene] = {
    "shapes": ReferenceScene(
        "Every primitive, a mesh, and sites",
        _model(_SHAPES, assets=_STAR),
        (115.0, -22.0, 3.4, (0.0, -0.2, 0.2)),
    ),
    "textures": ReferenceScene(
        "Images by repeats and by metres, cubes on boxes, balls and meshes",
        _model(
            f"""{_LIGHT}{_FLOOR}
<geom type="box" size=".25 .25 .25" pos="-1 0 .25" material="tiles"/>
<geom type="box" size=".25 .25 .25" pos="-.3 0 .25" material="die"/>
<geom type="sphere" size=".28" pos=".4 0 .28" material="fade"/>
<geom type="ellipsoid" size=".3 .2 .2" pos="1.1 0 .2" material="metres"/>
<geom type="mesh" mesh="star" pos="-.3 -.9 .15" material="fade"/>
<geom type="cylinder" size=".2 .15" pos=".5 -.8 .15" material="tiles"/>""",
            assets=_PAINTED + _STAR,
        ),
        (110.0, -28.0, 3.2, (0.0, -0.25, 0.15)),
    ),
    "lights": ReferenceScene(
        "Spot and point lights of the model, materials from matt to glossy",
        _model(
            """<light pos="-1 -1 2" dir=".45 .45 -1" diffuse=".9 .5 .3" specular=".5 .5 .5"
 cutoff="35" exponent="2"/>
<light pos="1.5 -.5 1.5" dir="-.8 .2 -1" diffuse=".3 .45 .9" specular=".5 .5 .5" cutoff="50"
 exponent="1" castshadow="false" attenuation="1 .1 0"/>
<geom type="plane" size="3 3 .1" rgba=".6 .6 .6 1"/>
<geom type="sphere" size=".3" pos="-.8 0 .3" material="matt"/>
<geom type="sphere" size=".3" pos="0 0 .3" material="satin"/>
<geom type="sphere" size=".3" pos=".8 0 .3" material="gloss"/>
<geom type="box" size=".12 .12 .12" pos="0 -.7 .12" material="glow"/>""",
            assets="""<material name="matt" rgba=".8 .8 .8 1" specular="0"/>
<material name="satin" rgba=".8 .8 .8 1" specular=".5" shininess=".2"/>
<material name="gloss" rgba=".8 .8 .8 1" specular="1" shininess=".9"/>
<material name="glow" rgba=".9 .8 .2 1" emission=".8"/>""",
            head="",
        ).replace('diffuse=".4 .4 .4" ambient=".2 .2 .2"', 'diffuse=".1 .1 .1"'),
        (105.0, -25.0, 3.2, (0.0, 0.0, 0.2)),
    ),
    "sky": ReferenceScene(
        "The model's sky, seen with its stars",
        _model(
            f'{_LIGHT}{_FLOOR}<geom type="sphere" size=".4" pos="0 0 .4" rgba=".9 .9 .9 1"/>',
            assets="""<texture type="skybox" builtin="gradient" rgb1=".9 .55 .35"
 rgb2=".1 .12 .3" mark="random" markrgb="1 1 .9" random=".01" width="256" height="1536"/>""",
        ),
        (140.0, -4.0, 2.6, (0.0, 0.0, 0.6)),
    ),
    "height field": ReferenceScene(
        "A height field with its base",
        _model(
            f'{_LIGHT}<geom type="hfield" hfield="waves" rgba=".45 .6 .4 1"/>'
            '<geom type="sphere" size=".15" pos=".2 .1 .6" rgba=".9 .5 .2 1"/>',
            assets=f'<hfield name="waves" nrow="24" ncol="32" size="1.2 .9 .35 .1"'
            f' elevation="{_waves()}"/>',
        ),
        (125.0, -32.0, 3.2, (0.0, 0.0, 0.1)),
    ),
    "skin": ReferenceScene(
        "A skin about three links",
        _model(
            f"""{_LIGHT}{_FLOOR}<body name="link0" pos="0 0 1"><joint axis="0 1 0" ref="0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
<body name="link1" pos=".3 0 0"><joint axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
<body name="link2" pos=".3 0 0"><joint axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/></body></body></body>""",
            assets='<material name="cloth" rgba=".8 .55 .45 1" specular=".2"/>',
            more="<deformable>" + _sleeve() + "</deformable>",
        ),
        (100.0, -15.0, 2.0, (0.25, 0.0, 0.75)),
        seconds=0.25,
    ),
    "flex 1D": ReferenceScene(
        "A rope",
        _model(
            f"""{_LIGHT}{_FLOOR}<body name="anchor" pos="-.7 0 1.2">
<flexcomp name="rope" type="grid" dim="1" count="15 1 1" spacing=".1 .1 .1" radius=".025"
 rgba=".85 .65 .3 1" mass=".5" pos=".7 0 0"><contact selfcollide="none"/>
<edge equality="true"/><pin id="0 14"/></flexcomp></body>"""
        ),
        (100.0, -12.0, 2.6, (0.0, 0.0, 0.8)),
        seconds=0.4,
    ),
    "flex 2D": ReferenceScene(
        "Cloth, seen from both sides",
        _model(
            f"""{_LIGHT}{_FLOOR}<body name="frame" pos="0 0 1.1">
<flexcomp name="cloth" type="grid" dim="2" count="13 13 1" spacing=".1 .1 .1" radius=".01"
 material="weave" mass=".3"><contact selfcollide="none"/><edge equality="true"/>
<pin id="0 12 156 168"/></flexcomp></body>""",
            assets=_PAINTED
            + '<material name="weave" texture="tiles" texrepeat="1 1" rgba="1 .9 .85 1"/>',
        ),
        (115.0, -18.0, 2.9, (0.0, 0.0, 0.8)),
        seconds=0.5,
    ),
    "flex 3D": ReferenceScene(
        "A soft block on the floor",
        _model(
            f"""{_LIGHT}{_FLOOR}<body name="jelly" pos="0 0 .5">
<flexcomp name="block" type="grid" dim="3" count="5 5 5" spacing=".12 .12 .12" radius=".01"
 rgba=".3 .7 .75 1" mass="2"><contact selfcollide="none"/>
<edge equality="true" damping=".1"/></flexcomp></body>"""
        ),
        (120.0, -20.0, 1.9, (0.0, 0.0, 0.3)),
        seconds=0.35,
    ),
    "tendons": ReferenceScene(
        "Tendons about a pulley and a ball, one at its limit",
        _model(
            f"""{_LIGHT}{_FLOOR}
<geom name="drum" type="cylinder" size=".15 .1" pos="0 0 1" euler="90 0 0" rgba=".5 .5 .55 1"/>
<geom name="ball" type="sphere" size=".15" pos=".8 0 1" rgba=".5 .5 .55 1"/>
<site name="a" pos="-.5 0 .4"/><site name="top" pos="0 0 1.3"/>
<site name="c" pos=".5 0 1.2"/><site name="d" pos="1.1 0 1.1"/>
<body name="weight" pos=".35 0 .6"><joint type="slide" axis="0 0 1" damping="5"/>
<geom type="box" size=".1 .1 .1" mass="1" rgba=".85 .4 .25 1"/><site name="b"/></body>""",
            more="""<tendon>
<spatial name="cable" width=".015" rgba=".2 .5 .9 1"><site site="a"/>
<geom geom="drum" sidesite="top"/><site site="b"/></spatial>
<spatial name="band" width=".012" rgba=".3 .8 .4 1" range="0 .2"><site site="c"/>
<geom geom="ball" sidesite="d"/><site site="d"/></spatial></tendon>""",
        ),
        (95.0, -12.0, 2.9, (0.3, 0.0, 0.8)),
    ),
    "hulls": ReferenceScene(
        "Convex hulls, as which meshes collide",
        _model(
            f"""{_LIGHT}{_FLOOR}<body pos="-.4 0 .3"><freejoint/>
<geom type="mesh" mesh="star" euler="70 10 0" rgba=".85 .6 .3 1"/></body>
<body pos=".45 0 .2"><freejoint/>
<geom type="mesh" mesh="star" rgba=".4 .6 .85 1"/></body>""",
            assets=_STAR,
        ),
        (110.0, -22.0, 1.9, (0.0, 0.0, 0.2)),
        options={"convex_hull": True},
        flags=("mjVIS_CONVEXHULL",),
    ),
    "ghost": ReferenceScene(
        "A ghost at the pose to reach",
        _model(
            f"""{_LIGHT}{_FLOOR}<body name="base" pos="0 0 .1">
<geom type="cylinder" size=".15 .1" rgba=".8 .8 .82 1"/>
<body name="upper" pos="0 0 .1"><joint name="one" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 .5" size=".07" rgba=".85 .85 .88 1"/>
<body name="lower" pos="0 0 .5"><joint name="two" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 .4" size=".055" rgba=".3 .32 .36 1"/>
<geom type="box" size=".1 .06 .04" pos="0 0 .42" rgba=".9 .5 .2 1"/></body></body></body>"""
        ),
        (100.0, -14.0, 2.6, (0.2, 0.0, 0.5)),
        ghost=True,
    ),
    "glass": ReferenceScene(
        "See-through things before and behind each other",
        _model(
            f"""{_LIGHT}{_FLOOR}
<geom type="box" size=".25 .25 .3" pos="-.4 .5 .3" rgba=".9 .3 .25 1"/>
<geom type="box" size=".35 .05 .4" pos="-.2 -.1 .4" rgba=".3 .6 .9 .4"/>
<geom type="sphere" size=".3" pos=".3 -.5 .3" rgba=".3 .85 .4 .5"/>
<geom type="capsule" size=".12 .3" pos=".7 .3 .42" rgba=".9 .8 .3 .6"/>"""
        ),
        (100.0, -18.0, 2.8, (0.1, 0.0, 0.3)),
    ),
    "fog": ReferenceScene(
        "The model's fog, which hides the sky",
        _model(
            f"""{_LIGHT}{_FLOOR}
<geom type="box" size=".2 .2 .3" pos="-.5 -.6 .3" rgba=".9 .3 .25 1"/>
<geom type="sphere" size=".3" pos=".2 .6 .3" rgba=".3 .85 .4 1"/>
<geom type="capsule" size=".2 .4" pos=".9 2.2 .6" rgba=".9 .8 .3 1"/>
<geom type="box" size=".3 .3 .5" pos="-1 3.4 .5" rgba=".3 .6 .9 1"/>""",
            head='<visual><map fogstart="1" fogend="3"/><rgba fog=".8 .78 .7 1"/></visual>'
            '<statistic extent="2" center="0 0 0"/>',
        ),
        (95.0, -14.0, 3.2, (0.0, 0.2, 0.3)),
        options={"fog": True, "haze": False},
        render_flags=("mjRND_FOG",),
    ),
    "added light": ReferenceScene(
        "See-through things that add their light",
        _model(
            f"""{_LIGHT}{_FLOOR}
<geom type="box" size=".25 .25 .3" pos="-.4 .5 .3" rgba=".9 .3 .25 1"/>
<geom type="box" size=".35 .05 .4" pos="-.2 -.1 .4" rgba=".3 .6 .9 .4"/>
<geom type="sphere" size=".3" pos=".3 -.5 .3" rgba=".3 .85 .4 .5"/>
<geom type="capsule" size=".12 .3" pos=".7 .3 .42" rgba=".9 .8 .3 .6"/>"""
        ),
        (100.0, -18.0, 2.8, (0.1, 0.0, 0.3)),
        options={"additive": True},
        render_flags=("mjRND_ADDITIVE",),
    ),
    "taxels": ReferenceScene(
        "What a fingertip's tactile sensor feels of a block of glass",
        _model(
            f"""{_LIGHT}<geom type="box" size=".3 .3 .05" pos="0 0 .25" rgba=".5 .8 .9 .3"/>
<body pos="0 0 .46"><freejoint/><geom name="tip" type="mesh" mesh="tip" rgba=".5 .5 .52 1"/>
</body>""",
            assets='<mesh name="tip" builtin="sphere" params="4" scale=".2 .2 .2"/>',
            more='<sensor><tactile name="skin" geom="tip" mesh="tip"/></sensor>',
        ),
        (110.0, 35.0, 1.0, (0.0, 0.0, 0.35)),
        options={"taxels": True, "grid": False},
        flags=("mjVIS_CONTACTPOINT",),
    ),
    "flex cage": ReferenceScene(
        "The cage that moves a soft block",
        _model(
            f"""{_LIGHT}{_FLOOR}
<flexcomp name="block" type="grid" dim="3" count="7 5 4" spacing=".1 .1 .1" pos="0 0 .3"
 radius=".01" mass="1" rgba=".3 .7 .5 .5" dof="trilinear" cellcount="2 1 1" euler="0 25 0">
<contact selfcollide="none"/><elasticity young="2e3" poisson=".2" damping=".01"/></flexcomp>"""
        ),
        (110.0, -18.0, 1.7, (0.0, 0.0, 0.25)),
        seconds=0.5,
        options={"flex_cages": True},
        flags=("mjVIS_MESHBVH",),
    ),
    "descents": ReferenceScene(
        "How an SDF's search for contacts descends",
        _model(
            f"""{_LIGHT}{_FLOOR}<body pos="-.3 0 .5"><freejoint/>
<geom type="sdf" mesh="bowl" rgba=".3 .5 .85 .4"><plugin instance="bowl"/></geom></body>
<body pos=".2 .3 .6" euler="60 20 0"><freejoint/>
<geom type="sdf" mesh="nut" rgba=".85 .6 .3 .4"><plugin instance="nut"/></geom></body>""",
            assets="""<mesh name="bowl"><plugin instance="bowl"/></mesh>
<mesh name="nut" scale="1 1 1"><plugin instance="nut"/></mesh>""",
            head="""<extension><plugin plugin="mujoco.sdf.bowl"><instance name="bowl"/></plugin>
<plugin plugin="mujoco.sdf.nut"><instance name="nut"/></plugin></extension>
<option sdf_initpoints="12"/>""",
        ),
        (110.0, -25.0, 3.4, (0.0, 0.0, 0.3)),
        options={"sdf_iterations": True},
        flags=("mjVIS_SDFITER",),
    ),
    "touch grid": ReferenceScene(
        "The taxels of a touch grid that feel something",
        _model(
            f"""{_LIGHT}<body pos="0 0 .1"><geom size=".4 .4 .05" type="box" rgba=".5 .6 .7 .3"/>
<site name="eye" pos="0 0 -.3" quat="0 1 0 0"/></body>
<body pos="-.1 .1 .2"><freejoint/><geom size=".1 .1 .06" type="box" rgba=".9 .6 .3 .4"/></body>
<body pos=".15 -.1 .24"><freejoint/><geom size=".1" rgba=".9 .3 .3 .4"/></body>""",
            head='<extension><plugin plugin="mujoco.sensor.touch_grid"/></extension>',
            more="""<sensor><plugin name="grid" plugin="mujoco.sensor.touch_grid" objtype="site"
 objname="eye"><config key="size" value="15 15"/><config key="fov" value="40 40"/>
<config key="gamma" value="0"/><config key="nchannel" value="3"/></plugin></sensor>""",
        ),
        (110.0, -25.0, 1.6, (0.0, 0.0, 0.15)),
        seconds=0.05,
        options={"grid": False},
    ),
    "camera rays": ReferenceScene(
        "What a camera sees, and a range finder's ray through each of its pixels",
        _model(
            f"""{_LIGHT}{_FLOOR}
<geom type="box" size=".2 .2 .2" pos=".6 0 .2" rgba=".8 .4 .3 1"/>
<body pos="-.5 0 .6" euler="0 -60 0"><geom type="box" size=".05 .08 .03" rgba=".3 .3 .3 1"/>
<camera name="eye" euler="0 0 -90" resolution="6 4" fovy="40" output="depth"/></body>""",
            more='<sensor><rangefinder camera="eye" data="dist normal"/></sensor>',
        ),
        (120.0, -20.0, 2.8, (0.1, 0.0, 0.3)),
        options={"cameras": True},
        flags=("mjVIS_CAMERA",),
    ),
    "slider-cranks": ReferenceScene(
        "Actuators that drive by a rod, one of which is too short",
        _model(
            f"""{_LIGHT}{_FLOOR}<body pos="-.3 0 .5"><joint axis="0 1 0"/>
<geom type="cylinder" size=".25 .04" euler="90 0 0" rgba=".6 .62 .66 1"/>
<site name="pin" pos=".14 -.1 .14"/></body>
<body pos=".6 -.1 .5"><joint type="slide" axis="1 0 0"/>
<geom type="box" size=".08 .1 .08" rgba=".85 .5 .3 1"/><site name="piston" euler="0 90 0"/></body>
<body pos="-.3 -.1 1.1"><joint type="slide" axis="0 0 1"/>
<geom type="box" size=".1 .1 .06" rgba=".4 .6 .85 1"/><site name="short"/></body>""",
            more="""<actuator><general cranksite="pin" slidersite="piston" cranklength=".4"/>
<general cranksite="pin" slidersite="short" cranklength=".12"/></actuator>""",
        ),
        (100.0, -12.0, 2.4, (0.05, 0.0, 0.6)),
    ),
    "planes": ReferenceScene(
        "Planes with an end, tilted, and one without",
        _model(
            f"""{_LIGHT}{_FLOOR}
<geom type="plane" size=".8 .6 .1" pos="-.4 .8 .75" euler="80 0 20" material="tiles"/>
<geom type="plane" size=".4 .4 .1" pos=".8 0 .5" euler="0 -35 0" rgba=".9 .6 .3 1"/>
<geom type="box" size=".15 .15 .15" pos="0 -.3 .15" rgba=".7 .7 .75 1"/>""",
            assets=_PAINTED,
        ),
        (100.0, -20.0, 3.2, (0.1, 0.2, 0.4)),
    ),
}


@dataclasses.dataclass(frozen=True)
class Shown:
    """A scene as a window gets it from the engine."""

    description: Any
    assets: dict[str, dict[str, NDArray[np.generic]]]
    poses: tuple[NDArray[np.float64], NDArray[np.float64]]
    values: dict[Any, dict[str, NDArray[np.generic]]]
    model: Any
    data: Any
    ghost: tuple[NDArray[np.float64], NDArray[np.float64]] | None


def shown_by_engine(scene: ReferenceScene) -> Shown:
    """Compile and run ``scene`` and return what the engine says of it."""
    import mujoco

    from stroboscope.app.models.assets import asset_digests
    from stroboscope.debugger_protocol.arrays import parse_asset
    from stroboscope.debugger_protocol.topics import Topic
    from stroboscope.engine.describe.model import describe_model
    from stroboscope.engine.frames.plugin_drawings import PluginDrawings
    from stroboscope.engine.frames.shapes import flex_positions, tendon_arrays
    from stroboscope.engine.mujoco_adapter import load_mujoco
    from stroboscope.engine.scene_assets import SceneAssets

    model = mujoco.MjModel.from_xml_string(scene.xml)
    data = mujoco.MjData(model)
    for _ in range(round(scene.seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
    if data.warning[int(mujoco.mjtWarning.mjWARN_BADQACC)].number:
        raise ValueError("the scene is unstable")
    mujoco.mj_forward(model, data)
    adapter = load_mujoco()
    assets = SceneAssets(model)
    description = describe_model(
        model,
        scene_id=1,
        name="reference",
        revision=0,
        origin="",
        assets=assets,
        adapter=adapter,
    )
    arrays = {}
    for digest in asset_digests(description):
        raw = assets.data(digest)
        if raw is not None:
            arrays[digest] = dict(parse_asset(raw, digest))
    values: dict[Any, dict[str, NDArray[np.generic]]] = {}
    if model.ntendon:
        values[Topic.TENDONS] = dict(tendon_arrays(model, data, adapter=adapter))
    if model.nflex:
        values[Topic.DEFORMABLE] = dict(flex_positions(data))
    if model.nsensor:
        values[Topic.SENSORS] = {"sensordata": np.array(data.sensordata)}
    drawings = PluginDrawings(model, adapter=adapter).arrays(data)
    if drawings is not None:
        values[Topic.PLUGINS] = drawings
    ghost = None
    if scene.ghost:
        other = mujoco.MjData(model)
        other.qpos[:] = 0.7
        mujoco.mj_forward(model, other)
        ghost = np.array(other.xpos), np.array(other.xquat)
    poses = np.array(data.xpos), np.array(data.xquat)
    return Shown(description, arrays, poses, values, model, data, ghost)
