#!/bin/sh
# Regenerates this lesson's figures: split.svg, who computes which part of attention in which step of a ring; ring.svg, the
# forward pass of two blocks on eight simulated GPUs; heads.svg, who has which tokens and heads.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" rings train-sequence >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/runs.sh"

for split in contiguous zigzag; do
  echo "case $split"
  "$build/bin/rings" plan $split 4
done | awk -f "$here/../chart.awk" -f "$here/split.awk" >"$here/split.svg"

for kind in ring zigzag; do
  [ $kind = zigzag ] && echo "case zigzag" || echo "case contiguous"
  "$build/bin/train-sequence" $gpt $sim --cp 8 --cp-kind $kind --steps 1 --trace "$work/trace.json" >/dev/null
  grep '"ph":"X"' "$work/trace.json"
done | awk -v with="H100, bfloat16, 794 TFLOP/s" -f "$here/../trace.awk" -f "$here/../chart.awk" -f "$here/ring.awk" \
  >"$here/ring.svg"

awk -v tokens=8 -v heads=4 -f "$here/../chart.awk" -f "$here/heads.awk" >"$here/heads.svg"
