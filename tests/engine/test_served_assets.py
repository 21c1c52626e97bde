"""Whatever a description points at can be fetched from the host, range by range."""

import pytest

import stroboscope.engine as physics
from stroboscope.app.models.assets import asset_digests, tree_digests
from stroboscope.debugger_protocol.arrays import parse_asset
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.descriptions import Descriptions
from stroboscope.debugger_protocol.messages import AssetRequest

XML = """<mujoco><asset><texture name="t" type="2d" builtin="checker" width="8" height="8"/>
<hfield name="h" nrow="2" ncol="2" size="1 1 .1 .1"/>
<mesh name="m" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/></asset>
<worldbody><geom type="mesh" mesh="m"/><geom type="hfield" hfield="h"/>
<body name="a"><freejoint/><geom size=".1"/></body><body name="c" pos="0 0 1">
<flexcomp name="f" type="grid" dim="2" count="3 3 1" spacing=".1 .1 .1" radius=".01"
 mass="1"><edge equality="true"/></flexcomp></body>
</worldbody><deformable><skin name="s" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2">
<bone body="a" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/></skin>
</deformable></mujoco>"""


def test_every_asset_of_a_description_is_served() -> None:
    scene = physics.create_scene("everything", model=XML)
    descriptions = Descriptions(chunk_bytes=1 << 20, message_bytes=1 << 24)
    description = descriptions.describe(scene.link)
    assert description.flexes
    assert description.skins
    digests = asset_digests(description)
    assert len(digests) == 5
    for digest in (*digests, *tree_digests(description)):
        chunk = descriptions.chunk(AssetRequest(id=1, digest=digest, offset=0))
        assert chunk.total == len(chunk.data)
        assert parse_asset(chunk.data, digest)
    scene.destroy()


def test_what_no_description_names_is_refused() -> None:
    descriptions = Descriptions(chunk_bytes=1 << 20, message_bytes=1 << 24)
    with pytest.raises(CommandError, match="no described scene"):
        descriptions.chunk(AssetRequest(id=1, digest="0" * 64, offset=0))
