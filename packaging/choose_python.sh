#!/bin/sh
# Print the path of the newest Python from 3.11 to 3.13 that can make a virtual environment.
#
# The PATH comes first. A pyenv shim for a version that is not switched on exists and fails, so
# every candidate is run before it is believed. Then pyenv's own folder, then whatever `python3`
# is, if it is new enough.
#
#   choose_python.sh          the newest one, or $PYTHON if set
#   choose_python.sh --all    one line per minor version: "3.12 /path/to/python3.12"
set -eu

# Prints "minor executable" when $1 runs and is at least 3.11.
probe() {
    "$1" -c 'import sys
if sys.version_info >= (3, 11):
    print("%d.%d" % sys.version_info[:2], sys.executable)' 2>/dev/null || true
}

find_version() {
    for candidate in "python$1" "$HOME"/.pyenv/versions/"$1".*/bin/"python$1"; do
        found=$(probe "$candidate")
        case $found in
            "$1 "*) printf '%s\n' "$found"; return ;;
        esac
    done
}

if [ "${1:-}" = --all ]; then
    for version in 3.11 3.12 3.13; do find_version "$version"; done
    exit
fi

# A choice made by the caller is only checked.
if [ -n "${PYTHON:-}" ]; then
    found=$(probe "$PYTHON")
    if [ -n "$found" ]; then printf '%s\n' "${found#* }"; exit; fi
    echo "PYTHON=$PYTHON does not run, or is older than 3.11." >&2
    exit 1
fi
for version in 3.13 3.12 3.11; do
    on_path=$(probe "python$version")
    if [ -n "$on_path" ]; then printf '%s\n' "${on_path#* }"; exit; fi
done
for version in 3.13 3.12 3.11; do
    found=$(find_version "$version")
    if [ -n "$found" ]; then printf '%s\n' "${found#* }"; exit; fi
done
found=$(probe python3)
if [ -n "$found" ]; then printf '%s\n' "${found#* }"; exit; fi

echo "No Python 3.11 or newer was found (looked for python3.13, python3.12, python3.11, python3)." >&2
echo "Install one, or name it: make PYTHON=/path/to/python3.12 ..." >&2
exit 1
