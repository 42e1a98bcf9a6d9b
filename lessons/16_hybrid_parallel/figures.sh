#!/bin/sh
# Regenerates this lesson's figures from the code that makes the mesh: cube.svg, 64 GPUs; sixteen.svg, 16 GPUs.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" layout >/dev/null
draw() {  # NAME RANK AXIS=SIZE…
  name=$1 rank=$2; shift 2
  "$build/bin/layout" numbers "$@" | awk -v rank="$rank" -f "$here/../chart.awk" -f "$here/mesh.awk" >"$here/$name.svg"
}
draw cube 13 tp=4 dp=8 pp=2
draw sixteen 5 tp=2 dp=2 pp=4
