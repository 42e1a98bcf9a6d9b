#!/bin/sh
# Regenerates this lesson's figures from runs on the simulator: memory.svg, the memory of a rank during a step, by what is
# sharded (DDP does not fit); prefetch.svg, the same step with 0, 1 and 2 units gathered ahead.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" train-zero >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. "$here/runs.sh"
trace() {  # NAME OPTION…
  name=$1; shift
  "$build/bin/train-zero" $gpt $gpus --trace "$work/trace.json" "$@" >/dev/null
  echo "case $name"
  grep '"pid":0,' "$work/trace.json"
}
{
  trace "ZeRO 1" --ranks 8 --zero 1
  trace "ZeRO 2" --ranks 8 --zero 2
  trace "ZeRO 3" --ranks 8 --zero 3
  trace "ZeRO 3, nothing ahead" --ranks 8 --zero 3 --prefetch 0
} | awk -f "$here/../trace.awk" -f "$here/../chart.awk" -f "$here/memory.awk" >"$here/memory.svg"
{
  trace "nothing is gathered ahead" --ranks 16 --zero 3 --prefetch 0
  trace "one unit is gathered ahead" --ranks 16 --zero 3
  trace "two units are gathered ahead" --ranks 16 --zero 3 --prefetch 2
} | awk -v with="H100, bfloat16, 794 TFLOP/s" -v tick=100 -v digits=0 \
  -v kinds="forward backward optimizer all_gather reduce_scatter" \
  -f "$here/../trace.awk" -f "$here/../chart.awk" -f "$here/../step.awk" >"$here/prefetch.svg"
