"""GLSL 1.20 sources. Whatever costs per pixel is compiled in or out, never switched by a uniform.

Items read their pose and surface from float textures: 64 items per texture row, three texels of
pose (rows of a 3x4 matrix) and four of surface (see :class:`Items`) each.
"""

__all__ = [
    "DEPTH_FRAGMENT",
    "DOWNSAMPLE_FRAGMENT",
    "EDGE_FRAGMENT",
    "FLAT_FRAGMENT",
    "FLOOR_FRAGMENT",
    "FLOOR_VERTEX",
    "GREY_FRAGMENT",
    "GRID_FRAGMENT",
    "IDS_FRAGMENT",
    "ITEMS_PER_ROW",
    "ITEM_FRAGMENT",
    "ITEM_VERTEX",
    "MOST_LAMPS",
    "PICK_FRAGMENT",
    "SCREEN_VERTEX",
    "SKY_FRAGMENT",
    "with_defines",
]

ITEMS_PER_ROW = 64


def with_defines(source: str, **defines: int) -> str:
    """Return ``source`` with ``#define`` lines before it."""
    lines = [f"#define {name} {value}" for name, value in sorted(defines.items())]
    return "\n".join([*lines, source])


_FETCH = """
vec4 fetch(sampler2D data, vec2 size, float item, float width, float column) {
    float row = floor(item / ITEMS_PER_ROW);
    float x = (item - row * ITEMS_PER_ROW) * width + column;
    return texture2D(data, (vec2(x, row) + 0.5) / size);
}
"""

ITEM_VERTEX = (
    f"#define ITEMS_PER_ROW {ITEMS_PER_ROW}.0\n"
    + """
uniform sampler2D u_poses;
uniform vec2 u_poses_size;
uniform sampler2D u_surfaces;
uniform vec2 u_surfaces_size;
uniform mat4 u_matrix;
attribute vec3 a_position;
attribute float a_item;
#if SHADED
attribute vec3 a_normal;
varying vec3 v_world;
varying vec3 v_normal;
varying vec4 v_rgba;
varying vec4 v_surface;
varying float v_highlight;
#endif
#if TEXTURED == 1
attribute vec2 a_uv;
varying vec2 v_uv;
#elif TEXTURED == 2
varying vec3 v_direction;
#endif
#if PICKING
varying vec3 v_world;
varying float v_item;
#endif
"""
    + _FETCH
    + """
void main() {
    vec4 row0 = fetch(u_poses, u_poses_size, a_item, 3.0, 0.0);
    vec4 row1 = fetch(u_poses, u_poses_size, a_item, 3.0, 1.0);
    vec4 row2 = fetch(u_poses, u_poses_size, a_item, 3.0, 2.0);
    vec4 local = vec4(a_position, 1.0);
    vec3 world = vec3(dot(row0, local), dot(row1, local), dot(row2, local));
    gl_Position = u_matrix * vec4(world, 1.0);
#if SHADED
    v_world = world;
    v_normal = vec3(dot(row0.xyz, a_normal), dot(row1.xyz, a_normal), dot(row2.xyz, a_normal));
    v_rgba = fetch(u_surfaces, u_surfaces_size, a_item, 4.0, 0.0);
    v_surface = fetch(u_surfaces, u_surfaces_size, a_item, 4.0, 1.0);
    vec4 extra = fetch(u_surfaces, u_surfaces_size, a_item, 4.0, 3.0);
    v_highlight = extra.w;
#endif
#if TEXTURED == 1
    vec4 mapping = fetch(u_surfaces, u_surfaces_size, a_item, 4.0, 2.0);
    // What has no coordinates of its own is painted along its z axis.
    vec2 per_side = mapping.w > 0.5 ? vec2(1.0) : 1.0 / extra.xy;
    vec2 painted = vec2(0.5, -0.5) * mapping.yz * per_side * a_position.xy - 0.5;
    vec2 own = a_uv * mapping.yz * (mapping.w > 0.5 ? extra.xy : vec2(1.0));
    v_uv = a_uv.x < 1e8 ? own : painted;
#elif TEXTURED == 2
    // At a box's edges two sides are equally far: its normal tells which one this is.
    v_direction = extra.xyz * a_position + 0.01 * a_normal;
#endif
#if PICKING
    v_world = world;
    v_item = a_item;
#endif
}
"""
)

# Colours are lit in linear light. The curve is straight up to 0.6, so that a surface in plain
# light shows the colour the model gives it, and bends over above.
# A lamp is four columns: place, 1 when it has only a direction; where it shines, cosine of its
# cone; colour, exponent of the cone; gloss, attenuation. The first lamp casts the shadow.
MOST_LAMPS = 8

_LAMPS = "".join(f"#if LAMPS > {i}\nuniform mat4 u_lamp{i};\n#endif\n" for i in range(MOST_LAMPS))
_EACH_LAMP = "".join(
    f"#if LAMPS > {i}\n    lamp(u_lamp{i}, {'shadow' if i == 0 else '1.0'}, world, normal, view,"
    f" exponent, diffuse, shine);\n#endif\n"
    for i in range(MOST_LAMPS)
)

_LIGHT = (
    _LAMPS
    + """
uniform vec3 u_eye;
uniform vec3 u_fill_direction;
uniform vec3 u_fill_color;
uniform vec3 u_head_color;
uniform vec3 u_sky_light;
uniform vec3 u_ground_light;
uniform float u_ground_height;
uniform float u_extent;
uniform vec3 u_fog_color;
uniform float u_fog_distance;
uniform vec2 u_mist;
uniform vec3 u_mist_color;
uniform float u_stale;
#if SHADOW_TAPS
uniform sampler2D u_shadow_map;
uniform mat4 u_shadow_matrix;
uniform float u_shadow_texel;
uniform float u_shadow_world_texel;
#endif

vec3 to_linear(vec3 c) { return pow(c, vec3(2.2)); }

vec3 to_display(vec3 c) {
    vec3 over = max(c - 0.6, 0.0);
    vec3 shoulder = 0.6 + 0.4 * (1.0 - exp(-over / 0.4));
    c = mix(c, shoulder, step(0.6, c));
    return pow(clamp(c, 0.0, 1.0), vec3(1.0 / 2.2));
}

float noise() {
    vec2 weights = vec2(0.06711056, 0.00583715);
    return fract(52.9829189 * fract(dot(gl_FragCoord.xy, weights)));
}

float lit(vec3 world, vec3 normal, float facing) {
#if SHADOW_TAPS
    float slope = sqrt(1.0 - facing * facing);
    vec4 seen = u_shadow_matrix * vec4(world, 1.0);
    if (seen.w <= 0.0) return 1.0;
    float texel = u_shadow_world_texel * seen.w;
    seen = u_shadow_matrix * vec4(world + normal * texel * (0.7 + 2.2 * slope), 1.0);
    vec3 p = seen.xyz / seen.w * 0.5 + 0.5;
    if (p.x <= 0.0 || p.x >= 1.0 || p.y <= 0.0 || p.y >= 1.0 || p.z >= 1.0) return 1.0;
    float depth = p.z - 0.0004;
    vec2 pixel = p.xy / u_shadow_texel - 0.5;
    vec2 part = fract(pixel);
    vec2 base = (floor(pixel) + 0.5) * u_shadow_texel;
    float sum = 0.0;
    const float reach = float(SHADOW_TAPS) * 0.5;
    // Weights of a box one texel narrower than the taps: bilinear at the rim, no stairs.
    for (int j = 0; j < SHADOW_TAPS; j++) {
        float wy = j == 0 ? 1.0 - part.y : (j == SHADOW_TAPS - 1 ? part.y : 1.0);
        for (int i = 0; i < SHADOW_TAPS; i++) {
            float wx = i == 0 ? 1.0 - part.x : (i == SHADOW_TAPS - 1 ? part.x : 1.0);
            vec2 at = base + (vec2(float(i), float(j)) - reach + 1.0) * u_shadow_texel;
            sum += wx * wy * step(depth, texture2D(u_shadow_map, at).r);
        }
    }
    return sum / float((SHADOW_TAPS - 1) * (SHADOW_TAPS - 1));
#else
    return 1.0;
#endif
}

vec3 ambient(vec3 world, vec3 normal) {
    vec3 sky = mix(u_ground_light, u_sky_light, normal.z * 0.5 + 0.5);
    float height = clamp((world.z - u_ground_height) / (0.35 * u_extent), 0.0, 1.0);
    float open = mix(0.72, 1.0, height);
    return sky * mix(open, 1.0, max(normal.z, 0.0));
}

vec3 lamp_way(mat4 lamp, vec3 world) {
    return lamp[0].w > 0.5 ? -lamp[1].xyz : lamp[0].xyz - world;
}

void lamp(mat4 lamp, float shadow, vec3 world, vec3 normal, vec3 view, float exponent,
          inout vec3 diffuse, inout vec3 shine) {
    vec3 way = lamp_way(lamp, world);
    float far = length(way);
    vec3 toward = way / max(far, 1e-9);
    float facing = max(dot(normal, toward), 0.0);
    float strength = shadow;
    if (lamp[0].w < 0.5) {
        float axis = -dot(toward, lamp[1].xyz);
        if (lamp[1].w > -0.99) {
            strength *= smoothstep(lamp[1].w, lamp[1].w + 0.02, axis);
            strength *= pow(max(axis, 1e-4), lamp[2].w);
        }
        strength /= max(lamp[3].y + far * (lamp[3].z + far * lamp[3].w), 1e-4);
    }
    diffuse += lamp[2].rgb * (strength * facing);
    float glint = pow(max(dot(normal, normalize(toward + view)), 0.0), exponent);
    shine += lamp[2].rgb * (lamp[3].x * strength * glint * smoothstep(0.0, 0.2, facing));
}

float shadow_at(vec3 world, vec3 normal) {
#if LAMPS && SHADOW_TAPS
    float facing = dot(normal, normalize(lamp_way(u_lamp0, world)));
    return facing > 0.0 ? lit(world, normal, facing) : 0.0;
#else
    return 1.0;
#endif
}

vec3 shade(vec3 albedo, vec3 world, vec3 normal, vec4 surface) {
    vec3 view = normalize(u_eye - world);
    float fill = max(dot(normal, u_fill_direction), 0.0);
    float facing = max(dot(normal, view), 0.0);
    vec3 diffuse = ambient(world, normal) + u_fill_color * fill + u_head_color * facing;
    float exponent = max(surface.y * 128.0, 6.0);
    vec3 shine = vec3(0.0);
    float shadow = shadow_at(world, normal);
"""
    + _EACH_LAMP
    + """    vec3 head = u_head_color * pow(facing, exponent);
    float rim = pow(1.0 - facing, 4.0);
    float gloss = surface.x;
    vec3 color = albedo * (diffuse + surface.z);
    color += gloss * (shine + 0.25 * head);
    return color + rim * (0.06 + 0.14 * gloss) * u_sky_light;
}

vec3 lamps_on_floor(vec3 world, vec3 normal) {
    vec3 diffuse = vec3(0.0), shine = vec3(0.0), view = normal;
    float exponent = 1.0, shadow = shadow_at(world, normal);
"""
    + _EACH_LAMP
    + """    return diffuse;
}

vec3 finish(vec3 color, vec3 world) {
    color = to_display(color);
    float gray = dot(color, vec3(0.299, 0.587, 0.114));
    color = mix(color, mix(vec3(gray), u_fog_color, 0.25), u_stale);
    float away = distance(world, u_eye) / u_fog_distance;
    color = mix(color, u_fog_color, 1.0 - exp(-away * away));
    float mist = clamp((1.0 / gl_FragCoord.w - u_mist.x) * u_mist.y, 0.0, 1.0);
    color = mix(color, u_mist_color, mist);
    return color + (noise() - 0.5) / 255.0;
}
"""
)

ITEM_FRAGMENT = (
    _LIGHT
    + """
uniform vec3 u_highlight_color;
uniform float u_opacity;
uniform float u_solid;
varying vec3 v_world;
varying vec3 v_normal;
varying vec4 v_rgba;
varying vec4 v_surface;
varying float v_highlight;
#if TEXTURED == 1
uniform sampler2D u_texture;
varying vec2 v_uv;
vec4 texture_color() { return texture2D(u_texture, v_uv); }
#elif TEXTURED == 2
uniform samplerCube u_texture;
varying vec3 v_direction;
vec4 texture_color() { return textureCube(u_texture, v_direction); }
#endif
#if GHOST
uniform vec4 u_ghost_color;
uniform float u_ghost_tint;
#endif
#if MIRRORED
uniform vec4 u_clip_plane;
#endif

void main() {
#if MIRRORED
    if (dot(u_clip_plane, vec4(v_world, 1.0)) < 0.0) discard;
#endif
    vec3 normal = normalize(v_normal);
#if TWO_SIDED
    if (gl_FrontFacing == bool(MIRRORED)) normal = -normal;
#endif
    vec4 base = v_rgba;
#if TEXTURED
    base *= texture_color();
#endif
    vec4 surface = v_surface;
#if GHOST
    base = vec4(mix(base.rgb, u_ghost_color.rgb, u_ghost_tint), u_ghost_color.a);
    surface.x *= 1.0 - 0.5 * u_ghost_tint;
#endif
    vec3 albedo = to_linear(mix(base.rgb, u_highlight_color, 0.35 * v_highlight));
    vec3 color = shade(albedo, v_world, normal, surface);
    gl_FragColor = vec4(finish(color, v_world), max(base.a * u_opacity, u_solid));
}
"""
)

DEPTH_FRAGMENT = """
void main() { gl_FragColor = vec4(gl_FragCoord.z); }
"""

FLAT_FRAGMENT = """
uniform vec4 u_color;
void main() { gl_FragColor = u_color; }
"""

PICK_FRAGMENT = """
varying vec3 v_world;
varying float v_item;
void main() { gl_FragColor = vec4(v_world, v_item + 1.0); }
"""

# The colours of overlays.tints.segment_color.
IDS_FRAGMENT = """
varying vec3 v_world;
varying float v_item;
void main() {
    float number = floor(v_item + 0.5);
    float hue = fract(0.618034 * number);
    float saturation = 0.75 - 0.3 * mod(number, 2.0);
    float value = mod(number, 3.0) > 1.5 ? 0.70 : 0.95;
    vec3 part = clamp(abs(mod(6.0 * hue + vec3(0.0, 4.0, 2.0), 6.0) - 3.0) - 1.0, 0.0, 1.0);
    gl_FragColor = vec4(value * mix(vec3(1.0), part, saturation), 1.0);
}
"""

GREY_FRAGMENT = """
uniform vec3 u_eye;
uniform vec3 u_forward;
uniform vec2 u_range;
varying vec3 v_world;
varying float v_item;
void main() {
    float depth = dot(v_world - u_eye, u_forward);
    float grey = clamp((depth - u_range.x) / (u_range.y - u_range.x), 0.0, 1.0);
    gl_FragColor = vec4(vec3(grey), 1.0);
}
"""

FLOOR_VERTEX = """
uniform mat4 u_matrix;
uniform mat4 u_pose;
uniform vec2 u_center;
uniform vec2 u_scale;
attribute vec3 a_position;
varying vec3 v_world;
varying vec2 v_plane;
#if PICKING
uniform float u_item;
varying float v_item;
#endif
void main() {
    v_plane = u_center + a_position.xy * u_scale;
    vec4 world = u_pose * vec4(v_plane, 0.0, 1.0);
    v_world = world.xyz;
    gl_Position = u_matrix * world;
#if PICKING
    v_item = u_item;
#endif
}
"""

# PATTERN: 0 plain with fine lines, 1 checker (two colours and lines), 2 an image.
FLOOR_FRAGMENT = (
    _LIGHT
    + """
uniform vec3 u_normal;
uniform vec4 u_color_a;
uniform vec4 u_color_b;
uniform vec4 u_line_color;
uniform float u_line_width;
uniform vec2 u_repeat;
uniform vec2 u_offset;
uniform float u_line_period;
uniform vec4 u_floor_surface;
uniform float u_fade;
#if PATTERN == 2
uniform sampler2D u_texture;
#endif
#if REFLECTION
uniform sampler2D u_reflection;
uniform vec2 u_pixels;
#endif
uniform vec2 u_center;
varying vec3 v_world;
varying vec2 v_plane;

// Area of the pixel's footprint on the odd squares, exactly: no moire towards the horizon.
float checker(vec2 p, vec2 w) {
    vec2 a = abs(fract((p - 0.5 * w) * 0.5) - 0.5);
    vec2 b = abs(fract((p + 0.5 * w) * 0.5) - 0.5);
    vec2 i = 2.0 * (a - b) / w;
    return 0.5 - 0.5 * i.x * i.y;
}

float lines(vec2 p, vec2 w, float width) {
    vec2 d = abs(fract(p - 0.5) - 0.5);
    vec2 reach = max(vec2(width), w) * 0.5;
    vec2 cover = 1.0 - smoothstep(reach, reach + w, d);
    cover *= min(vec2(1.0), width / w);
    return max(cover.x, cover.y);
}

void main() {
    vec2 p = v_plane * u_repeat + u_offset;
    vec2 w = max(fwidth(p), vec2(1e-5));
#if PATTERN == 2
    vec3 base = u_color_a.rgb * texture2D(u_texture, vec2(p.x, -p.y)).rgb;
#else
#if PATTERN == 1
    // Images hang with their first row up.
    vec3 base = mix(u_color_a.rgb, u_color_b.rgb, checker(vec2(p.x, -p.y), w));
    float line = lines(p / u_line_period, w / u_line_period, u_line_width / u_line_period);
#else
    vec3 base = u_color_a.rgb;
    float wide = lines(p * 0.1, w * 0.1, u_line_width * 0.14);
    float line = max(0.55 * lines(p, w, u_line_width), wide);
#endif
    base = mix(base, u_line_color.rgb, u_line_color.a * line);
#endif
    vec3 normal = u_normal;
    vec3 view = normalize(u_eye - v_world);
    vec3 albedo = to_linear(base);
    // No head light here: a spot that follows the camera over the floor would distract.
    vec3 color = albedo * (ambient(v_world, normal) + lamps_on_floor(v_world, normal)
        + 0.7 * u_head_color + u_floor_surface.z);
    float facing = abs(dot(normal, view));
    float fresnel = pow(1.0 - facing, 3.0);
#if REFLECTION
    vec4 mirror = texture2D(u_reflection, gl_FragCoord.xy / u_pixels);
    float strength = u_floor_surface.w * mix(0.45, 1.0, fresnel) * mirror.a;
    color = mix(color, to_linear(mirror.rgb), strength);
#endif
    vec3 display = finish(color, v_world);
    float alpha = u_color_a.a;
    alpha *= 1.0 - smoothstep(0.82, 1.0, u_fade * distance(v_plane, u_center));
    gl_FragColor = vec4(display, alpha);
}
"""
)

SCREEN_VERTEX = """
attribute vec2 a_position;
varying vec2 v_uv;
void main() {
    v_uv = a_position * 0.5 + 0.5;
    gl_Position = vec4(a_position, 0.0, 1.0);
}
"""

SKY_FRAGMENT = """
#if IMAGE
uniform samplerCube u_cube;
#else
uniform vec3 u_top;
uniform vec3 u_horizon;
#endif
uniform vec3 u_forward;
uniform vec3 u_right;
uniform vec3 u_up;
uniform vec4 u_mist;
varying vec2 v_uv;
float noise() {
    vec2 weights = vec2(0.06711056, 0.00583715);
    return fract(52.9829189 * fract(dot(gl_FragCoord.xy, weights)));
}
void main() {
    vec2 at = v_uv * 2.0 - 1.0;
    vec3 ray = normalize(u_forward + u_right * at.x + u_up * at.y);
#if IMAGE
    vec3 color = textureCube(u_cube, vec3(ray.x, ray.z, -ray.y)).rgb;
#else
    float rise = clamp(ray.z * 3.0, 0.0, 1.0);
    vec3 color = mix(u_horizon, u_top, 1.0 - pow(1.0 - rise, 2.2));
#endif
    color = mix(color, u_mist.rgb, u_mist.a);
    gl_FragColor = vec4(color + (noise() - 0.5) / 255.0, 1.0);
}
"""

# Everything within two pixels of the mask but outside it, so that nothing selected is covered.
EDGE_FRAGMENT = """
uniform sampler2D u_mask;
uniform vec2 u_pixel;
uniform vec4 u_color;
varying vec2 v_uv;
float near(float radius) {
    float most = 0.0;
    for (int i = 0; i < 8; i++) {
        float angle = 0.78539816 * float(i);
        vec2 step_to = vec2(cos(angle), sin(angle)) * radius;
        most += texture2D(u_mask, v_uv + step_to * u_pixel).r;
    }
    return most;
}
void main() {
    float inside = texture2D(u_mask, v_uv).r;
    float close = min(1.0, near(1.0) * 0.5);
    float wide = min(1.0, near(2.2) * 0.4);
    float alpha = max(close, wide) * (1.0 - inside);
    gl_FragColor = vec4(u_color.rgb, u_color.a * alpha);
}
"""

DOWNSAMPLE_FRAGMENT = """
uniform sampler2D u_picture;
varying vec2 v_uv;
void main() { gl_FragColor = texture2D(u_picture, v_uv); }
"""

# Lines and nothing between them, unlit: a drawing of the world's x-y plane, never a floor. They
# fade where their squares get narrow, so that the horizon stays the sky's.
GRID_FRAGMENT = """
uniform vec4 u_line_color;
uniform vec3 u_color_x;
uniform vec3 u_color_y;
uniform vec2 u_repeat;
uniform vec2 u_center;
uniform float u_fade;
varying vec3 v_world;
varying vec2 v_plane;

float line(float d, float w) {
    return 1.0 - smoothstep(0.0, 1.2, abs(d) / w);
}

float lines(vec2 p, vec2 w) {
    vec2 d = abs(fract(p - 0.5) - 0.5);
    return max(line(d.x, w.x), line(d.y, w.y)) * (1.0 - smoothstep(0.06, 0.2, max(w.x, w.y)));
}

void main() {
    vec2 p = v_plane * u_repeat;
    vec2 w = max(fwidth(p), vec2(1e-6));
    float alpha = u_line_color.a * max(0.45 * lines(p, w), lines(0.1 * p, 0.1 * w));
    vec3 color = u_line_color.rgb;
    // The axes where they cross the origin, in the colours of the axes everywhere.
    float axis_x = line(p.y, w.y);
    float axis_y = line(p.x, w.x);
    float axis = 0.75 * max(axis_x, axis_y) * (1.0 - smoothstep(0.05, 0.15, max(w.x, w.y)));
    color = mix(color, axis_x > axis_y ? u_color_x : u_color_y, step(alpha, axis));
    alpha = max(alpha, axis);
    alpha *= 1.0 - smoothstep(0.5, 0.95, u_fade * distance(v_plane, u_center));
    gl_FragColor = vec4(color, alpha);
}
"""
