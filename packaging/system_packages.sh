#!/bin/sh
# Make sure the system libraries that Qt and OpenGL load are there, and Xvfb.
#
#   system_packages.sh [PYTHON]
#
# PYTHON is checked for the venv module, which Debian ships apart. Nothing is done when nothing is
# missing. Root installs with apt; anybody else is told the exact line, and the script stops.
# STROBOSCOPE_SYSTEM_PACKAGES=skip goes on without looking (libraries in unusual places).
set -eu

[ "${STROBOSCOPE_SYSTEM_PACKAGES:-}" = skip ] && exit 0
[ "$(uname -s)" = Linux ] || exit 0

PATH=$PATH:/usr/sbin:/sbin
missing=""
need() { missing="$missing $1"; }

libraries=$(ldconfig -p)
need_library() {
    case $libraries in
        *"	$1 ("*) ;;
        *) need "$2" ;;
    esac
}

command -v Xvfb >/dev/null || need xvfb
need_library libglib-2.0.so.0 libglib2.0-0
need_library libGL.so.1 libgl1
need_library libEGL.so.1 libegl1
need_library libGLX_mesa.so.0 libglx-mesa0
need_library libfontconfig.so.1 libfontconfig1
need_library libdbus-1.so.3 libdbus-1-3
need_library libxkbcommon-x11.so.0 libxkbcommon-x11-0
need_library libxcb-cursor.so.0 libxcb-cursor0
need_library libxcb-icccm.so.4 libxcb-icccm4
need_library libxcb-image.so.0 libxcb-image0
need_library libxcb-keysyms.so.1 libxcb-keysyms1
need_library libxcb-randr.so.0 libxcb-randr0
need_library libxcb-render-util.so.0 libxcb-render-util0
need_library libxcb-shape.so.0 libxcb-shape0
need_library libxcb-xkb.so.1 libxcb-xkb1
# The software renderer, for machines and displays without a GPU.
driver=""
for file in /usr/lib/*/dri/swrast_dri.so /usr/lib*/dri/swrast_dri.so /usr/lib/*/libgallium*.so; do
    if [ -e "$file" ]; then driver=$file; fi
done
[ -n "$driver" ] || need libgl1-mesa-dri
# Qt draws boxes instead of letters when the machine has no font at all.
find /usr/share/fonts /usr/local/share/fonts "$HOME/.fonts" "$HOME/.local/share/fonts" \
    \( -name '*.ttf' -o -name '*.otf' \) 2>/dev/null | grep -q . || need fonts-dejavu-core
if [ -n "${1:-}" ]; then
    "$1" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
        need "$("$1" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
fi

[ -z "$missing" ] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "Missing on this system (Debian's names):$missing" >&2
    echo "Install what they are called here, then run make again." >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "Stroboscope's window needs system packages that are not installed. Run:" >&2
    echo >&2
    echo "    sudo apt-get update && sudo apt-get install --no-install-recommends -y$missing" >&2
    echo >&2
    echo "and then make again." >&2
    exit 1
fi

echo "Installing system packages:$missing"
install() {
    # shellcheck disable=SC2086 -- one word per package
    DEBIAN_FRONTEND=noninteractive apt-get install --no-install-recommends -y -q $missing
}
# The package lists of a fresh image are empty or old: fetch them only when the first try fails.
install >/dev/null 2>&1 || { apt-get update -q && install; }
