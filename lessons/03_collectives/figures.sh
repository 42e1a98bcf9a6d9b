#!/bin/sh
# Regenerates this lesson's figures from runs on the simulator: moves.svg, what each collective moves; trees.svg,
# three broadcasts of 100,000 bytes on eight ranks; growth.svg, the same on 2 to 1,024 ranks; rings.svg, all-gather and
# reduce-scatter step by step.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" what-moves >/dev/null
moves() { "$build/bin/what-moves" "$@"; }

moves values | awk -f "$here/../chart.awk" -f "$here/moves.awk" >"$here/moves.svg"
for shape in chain star tree; do
  echo "case $shape"
  moves messages $shape 8 100000
done | awk -f "$here/../chart.awk" -f "$here/trees.awk" >"$here/trees.svg"
for shape in chain star tree; do
  for ranks in 2 4 8 16 32 64 128 256 512 1024; do
    moves messages $shape $ranks 100000 | sed -n "s/^all/$shape $ranks/p"
  done
done | awk -f "$here/../chart.awk" -f "$here/growth.awk" >"$here/growth.svg"
{
  echo "one_quarter all-gather: each rank passes on the block that it has just received"
  moves messages all_gather 4 40000
  echo "case reduce-scatter: each rank adds its own numbers to the block that it has just received"
  moves messages reduce_scatter 4 40000
} | awk -v columns=4 -v size=40000 -f "$here/../chart.awk" -f "$here/../06_all_reduce/steps.awk" >"$here/rings.svg"
