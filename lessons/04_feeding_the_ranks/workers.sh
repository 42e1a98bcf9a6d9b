#!/bin/sh
# Regenerates workers.svg from a real run: 30 ms to read a batch, 20 ms to train on it, and 0, 1 or 2
# workers that read ahead.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" reading-ahead >/dev/null
"$build/bin/reading-ahead" | awk -f "$here/../chart.awk" -f "$here/workers.awk" >"$here/workers.svg"
