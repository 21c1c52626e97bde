"""Design tokens: every colour and size of the window, dark and light. Plain data, no Qt."""

import dataclasses

__all__ = ["DARK", "LIGHT", "Metrics", "Palette"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """Colours as ``#rrggbb``; what each is for stands beside it."""

    name: str
    surface0: str  # window, behind everything
    surface1: str  # panels
    surface2: str  # raised: headers, fields, hovered rows
    line: str  # separators and table grid, 1 px
    text: str
    muted: str  # secondary text, units
    disabled: str
    accent: str  # focus, selection, primary action
    on_accent: str  # text on accent
    run_a: str
    run_b: str
    difference: str
    ok: str
    warn: str
    stop: str
    plot: tuple[str, ...]  # eight series, colour-blind safe, fixed order per signal
    sky_top: str
    sky_horizon: str
    floor_a: str
    floor_b: str
    floor_line: str


@dataclasses.dataclass(frozen=True, slots=True)
class Metrics:
    """Sizes in logical pixels, on a 4-pixel grid."""

    grid: int = 4
    gap: int = 8
    padding: int = 12
    control_height: int = 28
    compact_height: int = 24
    row_height: int = 22  # of tables
    font_px: int = 13
    small_font_px: int = 12
    icon: int = 16
    large_icon: int = 20


DARK = Palette(
    name="dark",
    surface0="#16181D",
    surface1="#1D2026",
    surface2="#262A32",
    line="#333843",
    text="#E6E9EF",
    muted="#9AA3B2",
    disabled="#5B6472",
    accent="#4C9AFF",
    on_accent="#0B1220",
    run_a="#4C9AFF",
    run_b="#FF9F43",
    difference="#D16BFF",
    ok="#3FB950",
    warn="#E3B341",
    stop="#F85149",
    plot=(
        "#4C9AFF",
        "#FF9F43",
        "#2EC4A6",
        "#F778BA",
        "#E3B341",
        "#A78BFA",
        "#7CC4FA",
        "#C08457",
    ),
    sky_top="#1A202B",
    sky_horizon="#2A323F",
    floor_a="#1A2536",
    floor_b="#223047",
    floor_line="#41536E",
)

LIGHT = Palette(
    name="light",
    surface0="#FFFFFF",
    surface1="#F5F6F8",
    surface2="#E9EBEF",
    line="#D5D9E0",
    text="#1B1F27",
    muted="#5B6472",
    disabled="#A5ADBA",
    accent="#1668DC",
    on_accent="#FFFFFF",
    run_a="#1668DC",
    run_b="#D97706",
    difference="#9333EA",
    ok="#1A7F37",
    warn="#B45309",
    stop="#CF222E",
    plot=(
        "#1668DC",
        "#C2410C",
        "#0F766E",
        "#BE185D",
        "#A16207",
        "#6D28D9",
        "#0369A1",
        "#7C4A21",
    ),
    sky_top="#A9BBD3",
    sky_horizon="#DDE4EC",
    floor_a="#6F7985",
    floor_b="#7E8894",
    floor_line="#C3CAD3",
)
