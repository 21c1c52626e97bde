"""Assets arrive in parts, once, and only what they claim to be."""

import numpy as np
import pytest

from stroboscope.app.models.assets import AssetLibrary, asset_digests
from stroboscope.debugger_protocol.arrays import asset_bytes, asset_digest
from stroboscope.debugger_protocol.messages import AssetChunk, AssetRequest
from stroboscope.debugger_protocol.scene_description import MeshInfo, SceneDescription

DATA = asset_bytes({"vertices": np.arange(30, dtype=np.float32).reshape(10, 3)})
DIGEST = asset_digest(DATA)
SIZE = len(DATA)


class Library(AssetLibrary):
    """A library that remembers what it told."""

    def __init__(self):
        super().__init__()
        self.seen = []
        self.arrived.connect(lambda digest, arrays: self.seen.append((digest, arrays)))
        self.failed.connect(lambda digest, reason: self.seen.append((digest, reason)))


def chunk(request, data, *, offset=None, total=SIZE, digest=DIGEST):
    at = request.offset if offset is None else offset
    return AssetChunk(id=request.id, digest=digest, offset=at, total=total, data=data)


def test_an_asset_is_put_together_from_its_parts(session, sent):
    library = Library()
    library.fetch(session, (DIGEST, DIGEST))
    assert len(sent.of(AssetRequest)) == 1
    library.receive(session, chunk(sent[-1], DATA[:40]))
    assert sent[-1].offset == 40
    library.receive(session, chunk(sent[-1], DATA[40:]))
    ((digest, arrays),) = library.seen
    assert digest == DIGEST
    assert arrays["vertices"].shape == (10, 3)
    assert library.waiting == 0
    library.fetch(session, (DIGEST,))
    assert len(sent.of(AssetRequest)) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"data": b"x" * len(DATA)},
        {"data": DATA, "offset": 8},
        {"data": DATA, "total": 10},
        {"data": b"", "total": 10},
        {"data": DATA, "total": 1 << 40},
        {"data": DATA, "digest": "another"},
    ],
)
def test_parts_that_do_not_fit_are_refused_with_a_reason(session, sent, wrong):
    library = Library()
    library.fetch(session, (DIGEST,))
    data = wrong.pop("data")
    library.receive(session, chunk(sent[-1], data, **wrong))
    ((digest, reason),) = library.seen
    assert digest == DIGEST
    assert isinstance(reason, str)
    assert library.get(DIGEST) is None


def test_only_a_few_are_on_their_way_at_once(session, sent):
    library = Library()
    library.fetch(session, [f"{n:064}" for n in range(20)])
    assert len(sent.of(AssetRequest)) == 4
    library.forget(session)
    assert library.waiting == 0


def test_a_description_names_each_asset_once():
    mesh = MeshInfo(name="m", digest=DIGEST, nvert=10, nface=3)
    description = SceneDescription(scene_id=1, name="x", meshes=(mesh, mesh))
    assert asset_digests(description) == (DIGEST,)
