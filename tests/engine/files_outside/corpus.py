"""Models that want what is not theirs: every attribute that names a file, three ways out each."""

import dataclasses
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

__all__ = ["BOMBS", "Hostile", "hostile_models", "make_secrets", "png"]

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"


@dataclasses.dataclass(frozen=True)
class Hostile:
    """One file; ``text`` with FILE (or FOLDER) where the name of what it wants stands."""

    name: str
    text: str
    wants: str


def _model(inside: str) -> str:
    return f"<mujoco>{inside}</mujoco>"


def _mesh_in(attribute: str) -> str:
    return _model(
        f'<compiler {attribute}="FOLDER"/><asset><mesh name="m" file="secret.obj"/></asset>'
        '<worldbody><geom type="mesh" mesh="m"/></worldbody>'
    )


_CUBE = '<asset><texture name="t" type="cube" {}="FILE"/></asset>'

ATTRIBUTES = (
    Hostile("include", _model('<include file="FILE"/>'), "secret.xml"),
    Hostile(
        "mesh",
        _model(
            '<asset><mesh name="m" file="FILE"/></asset>'
            '<worldbody><geom type="mesh" mesh="m"/></worldbody>'
        ),
        "secret.obj",
    ),
    Hostile(
        "hfield",
        _model('<asset><hfield name="h" file="FILE" size="1 1 1 1"/></asset>'),
        "secret.bin",
    ),
    Hostile("skin", _model('<asset><skin name="s" file="FILE"/></asset>'), "secret.skn"),
    Hostile(
        "texture", _model('<asset><texture name="t" type="2d" file="FILE"/></asset>'), "secret.png"
    ),
    *(
        Hostile(side, _model(_CUBE.format(side)), "secret.png")
        for side in ("fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
    ),
    Hostile(
        "flexcomp",
        _model('<worldbody><flexcomp name="f" type="mesh" dim="2" file="FILE"/></worldbody>'),
        "secret.obj",
    ),
    Hostile(
        "model",
        _model(
            '<asset><model name="other" file="FILE"/></asset>'
            '<worldbody><attach model="other" body="b" prefix="x"/></worldbody>'
        ),
        "secret.xml",
    ),
    Hostile("meshdir", _mesh_in("meshdir"), "secret.obj"),
    Hostile("assetdir", _mesh_in("assetdir"), "secret.obj"),
    Hostile(
        "texturedir",
        _model(
            '<compiler texturedir="FOLDER"/>'
            '<asset><texture name="t" type="2d" file="secret.png"/></asset>'
        ),
        "secret.png",
    ),
    Hostile(
        "urdf mesh",
        '<robot name="r"><link name="l"><collision><geometry><mesh filename="FILE"/></geometry>'
        "</collision></link></robot>",
        "secret.obj",
    ),
    Hostile(
        "urdf package",
        '<robot name="r"><link name="l"><collision><geometry><mesh filename="package://FILE"/>'
        "</geometry></collision></link></robot>",
        "secret.obj",
    ),
    Hostile(
        "urdf compiler",
        '<robot name="r"><mujoco><compiler meshdir="FOLDER" strippath="false"/></mujoco>'
        '<link name="l"><collision><geometry><mesh filename="secret.obj"/></geometry></collision>'
        "</link></robot>",
        "secret.obj",
    ),
)


def hostile_models(folder: Path, secrets: Path) -> Iterator[Path]:
    """Write all of them into folders of their own below ``folder``; they want ``secrets``."""
    for number, each in enumerate(ATTRIBUTES):
        for way in ("absolute", "dots", "link"):
            place = folder / f"{number:02}_{each.name.replace(' ', '_')}_{way}"
            place.mkdir()
            target, outside = secrets / each.wants, str(secrets)
            name = str(target)
            if way == "dots":
                outside = os.path.relpath(secrets, place)
                name = f"{outside}/{each.wants}"
            elif way == "link":
                (place / each.wants).symlink_to(target)
                (place / "linked").symlink_to(secrets)
                name, outside = each.wants, "linked"
            file = place / ("model.urdf" if each.text.startswith("<robot") else "model.xml")
            file.write_text(each.text.replace("FILE", name).replace("FOLDER", outside))
            yield file
    yield from _roundabout(folder, secrets)


def _roundabout(folder: Path, secrets: Path) -> Iterator[Path]:
    """Less direct ways: through another file of its own, letters written otherwise, …"""
    target = secrets / "secret.xml"
    cases = {
        "through_an_include": (
            {"part.xml": f'<mujocoinclude><include file="{target}"/></mujocoinclude>'},
            b'<mujoco><include file="part.xml"/></mujoco>',
        ),
        "through_a_folder": (
            {"deep/part.xml": '<mujocoinclude><include file="../../out.xml"/></mujocoinclude>'},
            b'<mujoco><include file="deep/part.xml"/></mujoco>',
        ),
        "as_entities": (
            {},
            f'<mujoco><include file="{"".join(f"&#{ord(c)};" for c in str(target))}"/></mujoco>'
            .encode(),
        ),
        "with_a_scheme": (
            {}, f'<mujoco><include file="file://{target}"/></mujoco>'.encode()
        ),
        "with_backslashes": (
            {}, b'<mujoco><include file="..\\..\\secrets\\secret.xml"/></mujoco>'
        ),
        "in_a_plugin_s_settings": (
            {},
            b'<mujoco><extension><plugin plugin="mujoco.pid"><instance name="i"><config key="file" '
            b'value="' + str(target).encode() + b'"/></instance></plugin></extension></mujoco>',
        ),
        "from_home": ({}, b'<mujoco><include file="~/secret.xml"/></mujoco>'),
        "with_a_dtd": (
            {},
            f'<!DOCTYPE m [<!ENTITY e SYSTEM "{target}">]><mujoco>&e;</mujoco>'.encode(),
        ),
        # Hidden from whoever believes the declared encoding: there 0xB1 ends the comment.
        "in_another_encoding": (
            {},
            b'<?xml version="1.0" encoding="cp037"?><mujoco><include file="'
            + str(target).encode()
            + b'"/></mujoco>',
        ),
        "in_utf_16": ({}, f'<mujoco><include file="{target}"/></mujoco>'.encode("utf-16")),
        "loops": ({}, b'<mujoco><include file="model.xml"/></mujoco>'),
        "not_xml": ({}, b"<mujoco><worldbody></mujoco>"),
    }  # fmt: skip
    (folder / "out.xml").symlink_to(target)
    for name, (others, content) in cases.items():
        place = folder / name
        place.mkdir()
        for other, text in others.items():
            (place / other).parent.mkdir(exist_ok=True)
            (place / other).write_text(text)
        (place / "model.xml").write_bytes(content)
        yield place / "model.xml"


def make_secrets(folder: Path) -> None:
    """Write files that MuJoCo would gladly read, so that only a check keeps it from them."""
    folder.mkdir()
    (folder / "secret.obj").write_text(TETRAHEDRON)
    (folder / "secret.xml").write_text(
        '<mujoco><worldbody><body name="b"><geom name="CANARY" size="1"/></body></worldbody>'
        "</mujoco>"
    )
    (folder / "secret.png").write_bytes(png())
    heights = (2).to_bytes(4, "little") * 2 + bytes(16)
    (folder / "secret.bin").write_bytes(heights)
    (folder / "secret.skn").write_bytes(bytes(16))


def png() -> bytes:
    """Return a picture of 4 × 4 pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        crc = zlib.crc32(kind + content).to_bytes(4, "big")
        return len(content).to_bytes(4, "big") + kind + content + crc

    head = (4).to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    rows = b"".join(b"\0" + bytes(12) for _ in range(4))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )  # fmt: skip


BOMBS = {
    "replicate": _model(
        "<worldbody>" + '<replicate count="10000" offset="1 0 0">' * 4 + '<geom size="1"/>'
        + "</replicate>" * 4 + "</worldbody>"
    ),
    "texture": _model(
        '<asset><texture name="t" type="2d" builtin="flat" width="60000" height="60000"/></asset>'
    ),
    "height field": _model(
        '<asset><hfield name="h" nrow="80000" ncol="80000" size="1 1 1 1"/></asset>'
    ),
    "arena": _model('<size memory="900G"/>'),
    "keyframes": _model('<size nkey="2000000000"/>'),
    "user data": _model('<size nuserdata="2000000000"/>'),
    "flexcomp": _model(
        '<worldbody><flexcomp name="f" type="grid" count="2000 2000 2000" spacing=".1 .1 .1"/>'
        "</worldbody>"
    ),
    "nesting": _model("<worldbody>" + "<body>" * 100_000 + "</body>" * 100_000 + "</worldbody>"),
    "laughs": (
        '<!DOCTYPE m [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;"><!ENTITY c "&b;&b;&b;">]>'
        "<mujoco><default>&c;</default></mujoco>"
    ),
}  # fmt: skip
"""Small files that take hours or all memory, by what makes them large."""
