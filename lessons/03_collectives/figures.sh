#!/bin/sh
# Regenerates this lesson's figures from runs on the simulator: moves.svg, what each collective moves; trees.svg,
# three broadcasts of 100,000 bytes on eight ranks; growth.svg, the same on 2 to 1,024 ranks.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" what-moves >/dev/null
moves() { "$build/bin/what-moves" "$@"; }

moves values | awk -f "$here/moves.awk" >"$here/moves.svg"
for shape in chain star tree; do
  echo "case $shape"
  moves messages $shape 8 100000
done | awk -f "$here/trees.awk" >"$here/trees.svg"
for shape in chain star tree; do
  for ranks in 2 4 8 16 32 64 128 256 512 1024; do
    moves messages $shape $ranks 100000 | sed -n "s/^all/$shape $ranks/p"
  done
done | awk -f "$here/growth.awk" >"$here/growth.svg"
