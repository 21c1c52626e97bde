#!/bin/sh
# Install what read_with_mcap_core.mjs reads with, where there are Node and npm; nothing when it is
# there. Without them, or without a network, the tests that need it are skipped.
set -eu
cd "$(dirname "$0")/.."
folder=.cache/mcap_core
[ ! -d "$folder" ] && command -v node >/dev/null && command -v npm >/dev/null || exit 0
rm -rf "$folder.new"
mkdir -p "$folder.new"
if npm install --silent --no-audit --no-fund --ignore-scripts --fetch-retries 1 \
    --fetch-timeout 20000 --prefix "$folder.new" \
    @mcap/core@2.2.2 @mcap/nodejs@1.0.2 @mcap/support@1.1.0 >/dev/null 2>&1
then mv "$folder.new" "$folder"
else
    rm -rf "$folder.new"
    echo "No @mcap/core from npm: tests with the reader of Foxglove are skipped"
fi
