#!/bin/sh
# Make a virtual environment and install Stroboscope into it, editable; do nothing when it is done.
#
#   venv.sh FOLDER PYTHON EXTRAS [REQUIREMENT...]
#
# PYTHON "" keeps the interpreter the folder has, and takes the newest one for a new folder. The
# stamp holds everything the result depends on: when it is unchanged the script ends at once.
set -eu

cd "$(dirname "$0")/.."
folder=$1 python=$2 extras=$3
shift 3

version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

if [ -n "$python" ]; then
    wanted=$(version_of "$python")
    if [ -x "$folder/bin/python" ] && [ "$(version_of "$folder/bin/python")" != "$wanted" ]; then
        rm -rf "$folder"
    fi
elif [ ! -x "$folder/bin/python" ]; then
    python=$(sh packaging/choose_python.sh)
fi

# Where the folder stands belongs to it too: a virtual environment can't be moved.
wanted="$(cat pyproject.toml setup.py packaging/venv.sh | cksum) [$extras] $* $PWD"
if [ -x "$folder/bin/python" ] && [ "$(cat "$folder/.stroboscope-stamp" 2>/dev/null)" = "$wanted" ]
then exit 0; fi

if ! "$folder/bin/python" -c 'import pip' 2>/dev/null; then
    echo "Making $folder with $python"
    rm -rf "$folder"
    "$python" -m venv "$folder"
fi
echo "Installing Stroboscope [$extras] $* into $folder (some minutes the first time)"
log=$(mktemp)
if ! "$folder/bin/python" -m pip install --disable-pip-version-check \
    --editable ".[$extras]" "$@" >"$log" 2>&1
then
    cat "$log" >&2
    rm -f "$log"
    exit 1
fi
rm -f "$log"
printf '%s\n' "$wanted" > "$folder/.stroboscope-stamp"
