"""Colours can be read: text at 4.5:1 on what lies behind it, lines and icons at 3:1."""

import pytest

from stroboscope.app.panels.style import SELECTED_ALPHA
from stroboscope.resources.themes import DARK, LIGHT


def _channels(color):
    return [int(color[place : place + 2], 16) / 255.0 for place in (1, 3, 5)]


def _luminance(channels):
    """Relative luminance of WCAG 2."""
    red, green, blue = (
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(front, back):
    light, dark = sorted((_luminance(front), _luminance(back)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _over(front, back, alpha):
    return [f * alpha + b * (1.0 - alpha) for f, b in zip(front, back, strict=True)]


@pytest.fixture(params=[DARK, LIGHT], ids=["dark", "light"])
def colors(request):
    palette = request.param
    return {name: _channels(getattr(palette, name)) for name in _NAMES} | {
        "plot": [_channels(color) for color in palette.plot]
    }


_NAMES = (
    "surface0",
    "surface1",
    "surface2",
    "text",
    "muted",
    "accent",
    "on_accent",
    "warn",
    "stop",
    "ok",
)


@pytest.mark.parametrize("front", ["text", "muted", "accent", "warn", "stop", "ok"])
@pytest.mark.parametrize("back", ["surface0", "surface1"])
def test_words_can_be_read_on_window_and_panels(colors, front, back):
    assert _contrast(colors[front], colors[back]) >= 4.5


def test_text_can_be_read_where_something_is_raised_selected_or_pressed(colors):
    selected = _over(colors["accent"], colors["surface1"], SELECTED_ALPHA)
    for back in (colors["surface2"], selected):
        assert _contrast(colors["text"], back) >= 4.5
        assert _contrast(colors["muted"], back) >= 4.5
    assert _contrast(colors["on_accent"], colors["accent"]) >= 4.5
    for level in ("ok", "warn", "stop", "accent"):
        assert _contrast(colors["text"], _over(colors[level], colors["surface1"], 0.30)) >= 4.5


def test_curves_stand_out_from_the_plot(colors):
    for color in colors["plot"]:
        assert _contrast(color, colors["surface0"]) >= 3.0
