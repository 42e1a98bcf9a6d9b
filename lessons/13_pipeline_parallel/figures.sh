#!/bin/sh
# Regenerates this lesson's figures. From runs on the simulator: executed.svg, one step of four stages under each schedule;
# memory.svg, the memory of a stage during a step. From the code that makes the plans: one_f_one_b.svg, interleaved.svg
# and zero_bubble.svg.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" train schedules >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

trace() {  # NAME MICRO-BATCHES OPTION…
  name=$1 micro_batches=$2; shift 2
  "$build/bin/train" --model gpt --layers 40 --width 5120 --heads 40 --sequence 2048 --dtype bfloat16 \
    --backend sim --cluster h100 --sizes-only --pp 4 --batch-size "$micro_batches" --micro-batches "$micro_batches" \
    --trace "$work/$name.json" "$@" >/dev/null
  echo "case $name"
  grep '"ph":"[XC]"' "$work/$name.json"
}
{
  trace gpipe 8 --schedule gpipe
  trace 1f1b 8 --schedule 1f1b
  trace interleaved 8 --schedule interleaved --chunks 2
  trace zero-bubble 8 --schedule zero-bubble
} | awk -f "$here/../trace.awk" -f "$here/../chart.awk" -f "$here/executed.awk" >"$here/executed.svg"
{
  trace gpipe 16 --schedule gpipe
  trace 1f1b 16 --schedule 1f1b
} | awk -f "$here/../trace.awk" -f "$here/../chart.awk" -f "$here/memory.awk" >"$here/memory.svg"

"$build/bin/schedules" 1f1b 4 8 --svg >"$here/one_f_one_b.svg"
"$build/bin/schedules" interleaved 4 8 2 --svg >"$here/interleaved.svg"
"$build/bin/schedules" zero-bubble 4 8 --svg >"$here/zero_bubble.svg"
