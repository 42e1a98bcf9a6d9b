#!/bin/sh
# Regenerates this lesson's figures from runs on the simulator: memory.svg, the memory of a rank during a step, by what is
# sharded; prefetch.svg, the same step with 0, 1 and 2 units gathered ahead.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" train train-zero train-fsdp >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

trace() {  # PROGRAM NAME CLUSTER OPTION…
  program=$1 name=$2 cluster=$3; shift 3
  "$build/bin/$program" --model gpt --layers 16 --width 5120 --heads 40 --sequence 2048 --dtype bfloat16 \
    --backend sim --cluster "$cluster" --sizes-only --trace "$work/trace.json" "$@" >/dev/null
  echo "case $name"
  grep '"pid":0,' "$work/trace.json"
}
{
  trace train "DDP" h100 --ranks 8 --batch-size 2
  trace train-zero "ZeRO 1" h100 --ranks 8 --batch-size 2 --zero 1
  trace train-zero "ZeRO 2" h100 --ranks 8 --batch-size 2 --zero 2
  trace train-zero "ZeRO 3" h100 --ranks 8 --batch-size 2 --zero 3
  trace train-zero "ZeRO 3, nothing ahead" h100 --ranks 8 --batch-size 2 --zero 3 --prefetch 0
} | awk -f "$here/../trace.awk" -f "$here/../chart.awk" -f "$here/memory.awk" >"$here/memory.svg"
{
  trace train-zero "nothing is gathered ahead" h100 --ranks 16 --batch-size 2 --zero 3 --prefetch 0
  trace train-zero "one unit is gathered ahead" h100 --ranks 16 --batch-size 2 --zero 3
  trace train-zero "two units are gathered ahead" h100 --ranks 16 --batch-size 2 --zero 3 --prefetch 2
} | awk -v with="H100, bfloat16, 794 TFLOP/s" -v tick=100 -v digits=0 \
  -v kinds="forward backward optimizer all_gather reduce_scatter" \
  -f "$here/../trace.awk" -f "$here/../chart.awk" -f "$here/../step.awk" >"$here/prefetch.svg"
