#!/bin/sh
# Make .typeroot/stroboscope/: the folders under the names they are imported by, for mypy.
set -eu
cd "$(dirname "$0")/.."
mkdir -p .typeroot/stroboscope
for folder in debugger_protocol engine app resources; do
    [ -e ".typeroot/stroboscope/$folder" ] || ln -sfn "../../$folder" ".typeroot/stroboscope/$folder"
done
