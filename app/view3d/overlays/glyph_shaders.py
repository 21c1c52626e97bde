"""GLSL 1.20 of the glyphs: 64 per texture row, four texels each (see :class:`Glyphs`)."""

__all__ = [
    "GLYPHS_PER_ROW",
    "GLYPH_FRAGMENT",
    "POINT_FRAGMENT",
    "POINT_VERTEX",
    "SOLID_VERTEX",
    "STRETCHED_VERTEX",
]

GLYPHS_PER_ROW = 64

_HEAD = (
    f"#define PER_ROW {GLYPHS_PER_ROW}.0\n"
    + """
uniform sampler2D u_glyphs;
uniform vec2 u_glyphs_size;
uniform float u_first;
uniform mat4 u_matrix;
uniform float u_bias;
uniform float u_pixel;
attribute vec3 a_position;
attribute vec3 a_normal;
attribute float a_item;
uniform float u_outline;
varying vec3 v_normal;
varying vec4 v_rgba;
varying float v_gap;

vec4 texel(float column) {
    float item = a_item + u_first;
    float row = floor(item / PER_ROW);
    float x = (item - row * PER_ROW) * 4.0 + column;
    return texture2D(u_glyphs, (vec2(x, row) + 0.5) / u_glyphs_size);
}

void finish(vec3 world) {
    gl_Position = u_matrix * vec4(world, 1.0);
    gl_Position.z -= u_bias * gl_Position.w;
}
"""
)

# What lies farther away than the least size in pixels allows grows about its own centre.
SOLID_VERTEX = (
    _HEAD
    + """
uniform float u_least;
void main() {
    vec4 row0 = texel(0.0), row1 = texel(1.0), row2 = texel(2.0);
    v_rgba = texel(3.0);
    vec3 x = vec3(row0.x, row1.x, row2.x), y = vec3(row0.y, row1.y, row2.y);
    vec3 z = vec3(row0.z, row1.z, row2.z);
    vec3 center = vec3(row0.w, row1.w, row2.w);
    float size = sqrt(max(dot(x, x), max(dot(y, y), dot(z, z))));
    float pixel = u_pixel * abs((u_matrix * vec4(center, 1.0)).w);
    float grow = size > 0.0 ? max(1.0, u_least * pixel / size) : 0.0;
    vec3 world = center + grow * (x * a_position.x + y * a_position.y + z * a_position.z);
    // Scaled unevenly, a normal turns with the cofactors of the matrix.
    v_normal = cross(y, z) * a_normal.x + cross(z, x) * a_normal.y + cross(x, y) * a_normal.z;
    v_gap = 1e3;
    float around = size > 0.0 ? u_outline * pixel / max(length(v_normal), 1e-30) : 0.0;
    finish(world + around * v_normal);
}
"""
)

# a_position: a point on the unit circle, and which ring: 0 start, 1 end of the shaft, 2 rim of the
# head, 3 tip, 4 middle of the start. a_normal: how much outward, how much of a cone, how much back.
# v_gap: how far from the slanted break in the shaft, in radii; an outline is as much larger all
# round as it is wide, and has the same gap.
STRETCHED_VERTEX = (
    _HEAD
    + """
void main() {
    vec4 start = texel(0.0), along = texel(1.0), more = texel(2.0);
    v_rgba = texel(3.0);
    float pixel = u_pixel * abs((u_matrix * vec4(start.xyz, 1.0)).w);
    float length_given = length(along.xyz);
    vec3 z = length_given > 0.0 ? along.xyz / length_given : vec3(0.0, 0.0, 1.0);
    float reach = length_given > 0.0 ? max(length_given, more.y * pixel) : 0.0;
    float radius = length_given > 0.0 ? max(start.w, along.w * pixel) : 0.0;
    float head = more.x * min(7.0 * radius, 0.6 * reach);
    float rim = more.x > 0.5 ? max(0.36 * head, 1.2 * radius) : radius;
    vec3 helper = abs(z.x) < 0.9 ? vec3(1.0, 0.0, 0.0) : vec3(0.0, 1.0, 0.0);
    vec3 x = normalize(cross(helper, z));
    vec3 y = cross(z, x);
    vec3 outward = x * a_position.x + y * a_position.y;
    float ring = a_position.z;
    float around = length_given > 0.0 ? u_outline * pixel : 0.0;
    float far = ring > 0.5 && ring < 2.5 ? reach - head - around
        : (ring < 3.5 && ring > 2.5 ? reach + 1.5 * around : -around);
    float wide = ring < 1.5 ? radius + around : (ring < 2.5 ? rim + 2.0 * around : 0.0);
    float thick = max(radius, 1.3 * pixel);
    v_gap = more.z > 0.5 && ring < 1.5
        ? (far - 0.6 * (reach - head) + 1.2 * radius * a_position.x) / thick : 1e3;
    v_normal = outward * a_normal.x - z * a_normal.z
        + a_normal.y * normalize(outward * max(head, 1e-9) + z * rim);
    finish(start.xyz + z * far + outward * wide);
}
"""
)

GLYPH_FRAGMENT = """
uniform vec3 u_toward_eye;
uniform float u_strength;
uniform vec4 u_ink;
varying vec3 v_normal;
varying vec4 v_rgba;
varying float v_gap;
void main() {
    // Two gaps with a piece of the shaft between them.
    if (abs(abs(v_gap) - 1.6) < 0.8) discard;
    if (u_ink.a > 0.0) {
        gl_FragColor = vec4(u_ink.rgb, u_ink.a * v_rgba.a);
        return;
    }
    float facing = abs(dot(normalize(v_normal), u_toward_eye));
    gl_FragColor = vec4(v_rgba.rgb * (0.6 + 0.4 * facing), v_rgba.a * u_strength);
}
"""

POINT_VERTEX = """
uniform mat4 u_matrix;
uniform float u_pixel_ratio;
attribute vec3 a_position;
attribute vec4 a_rgba;
attribute float a_size;
varying vec4 v_rgba;
void main() {
    v_rgba = a_rgba;
    gl_Position = u_matrix * vec4(a_position, 1.0);
    gl_PointSize = max(a_size, 1.0) * u_pixel_ratio;
}
"""

POINT_FRAGMENT = """
varying vec4 v_rgba;
void main() {
    vec2 at = gl_PointCoord * 2.0 - 1.0;
    if (dot(at, at) > 1.0) discard;
    gl_FragColor = v_rgba;
}
"""
