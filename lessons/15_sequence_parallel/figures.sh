#!/bin/sh
# Regenerates this lesson's figures: split.svg, who computes which part of attention in which step of a ring; ring.svg, the
# same on eight simulated GPUs as a timeline; heads.svg, who has which tokens and heads.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" rings >/dev/null
draw() { awk "$@" -f "$here/../chart.awk" -f "$here/$figure.awk" >"$here/$figure.svg"; }
both() {  # COMMAND "ARGUMENTS"
  for kind in ring zigzag; do
    if [ $kind = ring ]; then echo "case contiguous slices"; else echo "case zigzag"; fi
    "$build/bin/rings" "$1" $kind $2
  done
}
figure=split; both plan 4 | draw
figure=ring; both spans "8 100000 h100" | draw -v with="H100, bfloat16, 794 TFLOP/s"
figure=heads; draw -v tokens=8 -v heads=4 </dev/null
