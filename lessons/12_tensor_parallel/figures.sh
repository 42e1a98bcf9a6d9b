#!/bin/sh
# Regenerates this lesson's figures: cuts.svg, what each of two ranks has of a small feed-forward layer; step.svg, a step of
# two blocks on eight simulated GPUs, without and with sequence parallelism.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" cuts train-tensor >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$build/bin/cuts" numbers | awk -f "$here/../chart.awk" -f "$here/cuts.awk" >"$here/cuts.svg"

. "$here/runs.sh"
trace() {  # NAME OPTION…
  name=$1; shift
  "$build/bin/train-tensor" $gpt $sim --cluster h100 --trace "$work/trace.json" "$@" >/dev/null
  echo "case $name"
  grep '"pid":0,' "$work/trace.json"
}
{
  trace "tensor parallelism" --tp 8
  trace "with sequence parallelism" --tp 8 --sp
} | awk -v with="H100, bfloat16, 794 TFLOP/s" -v tick=2 -v digits=1 \
  -v kinds="forward backward optimizer all_reduce all_gather reduce_scatter" \
  -f "$here/../trace.awk" -f "$here/../chart.awk" -f "$here/../step.awk" >"$here/step.svg"
