"""What all parts of a scene's description are made of."""

import msgspec

__all__ = ["Info", "SolImp", "Vec2", "Vec3", "Vec4"]

Vec2 = tuple[float, float]
Vec3 = tuple[float, float, float]
Vec4 = tuple[float, float, float, float]
SolImp = tuple[float, float, float, float, float]


class Info(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all descriptions."""
