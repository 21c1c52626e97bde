"""What scripts draw, from the arrays of the topic to the pixels."""

import numpy as np
import pytest

from stroboscope.app.view3d.labels import LabelOverlay, labels_of
from stroboscope.app.view3d.overlays.glyphs import Layer, Shape
from stroboscope.debugger_protocol.topics import DrawKind, Topic

EMPTY = "<mujoco><worldbody><geom type='box' size='2 2 .1' rgba='.3 .3 .3 1'/></worldbody></mujoco>"
RED = (1.0, 0.0, 0.0, 1.0)


def _drawn(*things, texts=None, points=0, left_out=0):
    """Return the topic's arrays for (kind, pos, size) in red."""
    kinds = list(DrawKind)
    words = [(texts or {}).get(i, "").encode() for i in range(len(things))]
    arrays = {
        "kind": np.array([kinds.index(kind) for kind, _, _ in things], np.int32),
        "pos": np.array([pos for _, pos, _ in things], np.float32).reshape(-1, 3),
        "size": np.array([size for _, _, size in things], np.float32).reshape(-1, 3),
        "quat": np.tile(np.array([1, 0, 0, 0], np.float32), (len(things), 1)),
        "rgba": np.tile(np.array(RED, np.float32), (len(things), 1)),
        "width": np.zeros(len(things), np.float32),
        "text": np.frombuffer(b"".join(words), np.uint8),
        "text_end": np.cumsum([len(word) for word in words]).astype(np.int32),
        "left_out": np.array([left_out], np.int32),
    }
    if points:
        arrays["point_pos"] = np.tile(np.array([0, 0, 0.8], np.float32), (points, 1))
        arrays["point_rgba"] = np.tile(np.array(RED, np.float32), (points, 1))
        arrays["point_size"] = np.full(points, 12, np.float32)
    return arrays


@pytest.mark.parametrize(
    ("thing", "shape"),
    [
        ((DrawKind.ARROW, (0, 0, 0.5), (0, 0, 0.6)), Shape.ARROW),
        ((DrawKind.LINE, (0, 0, 0.5), (0, 0, 0.6)), Shape.LINE),
        ((DrawKind.SPHERE, (0, 0, 0.8), (0.1, 0, 0)), Shape.BALL),
        ((DrawKind.BOX, (0, 0, 0.8), (0.1, 0.1, 0.1)), Shape.BOX),
    ],
)
def test_each_kind_is_drawn_where_the_script_says(engine_view, pixels, near, thing, shape):
    shown = engine_view(EMPTY)
    shown.view.set_values(Topic.DRAWING, _drawn(thing))
    assert {part.shape for part in shown.picture.parts} == {shape}
    x, y, _ = shown.view.view().project(np.array([0.0, 0.0, 0.8]), width=640, height=480)[0]
    picture = pixels(shown.view)
    assert near(picture[int(y) - 3 : int(y) + 4, int(x) - 3 : int(x) + 4], RED).any()
    shown.set(drawings=False)
    assert not shown.picture.parts


def test_a_frame_has_three_axes_and_a_width_in_pixels_is_kept(engine_view):
    shown = engine_view(EMPTY)
    arrays = _drawn((DrawKind.FRAME, (0, 0, 2), (0.5, 0, 0)), (DrawKind.LINE, (0, 0, 0), (1, 0, 0)))
    arrays["width"][1] = 6.0
    shown.view.set_values(Topic.DRAWING, arrays)
    by_shape = {part.shape: part for part in shown.picture.parts}
    np.testing.assert_allclose(by_shape[Shape.ARROW].texels[:, 1, :3], 0.5 * np.eye(3), atol=1e-6)
    line = by_shape[Shape.LINE].texels[0]
    assert (line[0, 3], line[1, 3]) == (0.0, 3.0)


def test_see_through_boxes_do_not_hide_what_is_behind(engine_view):
    shown = engine_view(EMPTY)
    arrays = _drawn((DrawKind.BOX, (0, 0, 2), (0.5, 0.5, 0.5)))
    arrays["rgba"][0, 3] = 0.4
    shown.view.set_values(Topic.DRAWING, arrays)
    assert {part.layer for part in shown.picture.parts} == {Layer.SHEER}


def test_points_are_drawn_round_and_as_large_as_asked(engine_view, pixels, near):
    shown = engine_view(EMPTY)
    shown.view.set_values(Topic.DRAWING, _drawn(points=3))
    red = near(pixels(shown.view), RED)
    assert 0.6 * 36 * np.pi < red.sum() < 1.3 * 36 * np.pi


def test_words_stand_at_their_points_in_their_colours(engine_view):
    shown = engine_view(EMPTY)
    things = [(DrawKind.TEXT, (0, 0, 0.5), (0, 0, 0)), (DrawKind.TEXT, (0, 0, 0.9), (0, 0, 0))]
    shown.view.set_values(Topic.DRAWING, _drawn(*things, texts={0: "π/2", 1: "goal"}))
    labels, missing = labels_of(shown.picture, view=shown.view.view(), size=(640.0, 480.0))
    assert {label.text for label in labels} == {"π/2", "goal"}
    assert all(label.color == pytest.approx(RED) for label in labels)
    assert missing == 0
    # Beside the point: what the words name stays in sight.
    overlay = LabelOverlay(shown.view)
    overlay.resize(640, 480)
    overlay.show_labels(labels, missing=0, triad=None)
    for box, label in overlay._boxes:
        assert box.left() - label.x == pytest.approx(8.0)
        assert label.y - box.bottom() == pytest.approx(4.0)


def test_what_did_not_fit_is_said(engine_view):
    shown = engine_view(EMPTY)
    shown.view.set_values(Topic.DRAWING, _drawn(left_out=7))
    assert shown.picture.left_out == 7
    shown.view.draw_now()
    assert shown.view._overlay._notes == ("+7 drawings of the script left out",)


def test_arrays_of_other_sizes_draw_nothing(engine_view):
    shown = engine_view(EMPTY)
    arrays = _drawn((DrawKind.SPHERE, (0, 0, 0.8), (0.1, 0, 0)))
    arrays["rgba"] = arrays["rgba"][:, :3]
    shown.view.set_values(Topic.DRAWING, arrays)
    assert not shown.picture.parts
