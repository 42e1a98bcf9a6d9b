#!/bin/sh
# Regenerates this lesson's figure: cuts.svg, what each of two ranks has of a small feed-forward layer.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" cuts >/dev/null
"$build/bin/cuts" numbers | awk -f "$here/../chart.awk" -f "$here/cuts.awk" >"$here/cuts.svg"
