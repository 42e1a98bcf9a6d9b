#!/bin/sh
# Regenerates this lesson's figures from runs on the simulator: bytes.svg, what a rank sends over the number of ranks;
# loss.svg, the training loss over steps and over bytes sent; steps.svg, the time of a step on two clusters.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" train sim >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() {  # CLUSTER RANKS HOW
  "$build/bin/train" --model gpt --layers 12 --width 768 --heads 12 --sequence 1024 --batch-size 1 --backend sim \
    --sizes-only --cluster "$1" --ranks "$2" --compress "$3" --log "$work/step.jsonl"
}

for ranks in 2 4 8 16 32 64 128 256 512; do
  for how in none bf16 int8 topk:0.01 topk:0.001 randomk:0.01 powersgd:4; do
    step ethernet $ranks $how >/dev/null
    sed -n -e 's/.*"parameters":\([0-9]*\).*/parameters \1/p' \
      -e "s/.*\"step\":3,.*\"bytes_sent\":\([0-9]*\).*/sent $how $ranks \1/p" "$work/step.jsonl"
  done
  "$build/bin/sim" --ranks $ranks --count 1000000 --dtype uint8 --sizes-only all_gather |
    sed -n "s/^  sent *\([0-9]*\) bytes.*/gathered $ranks \1/p"
done | awk -f "$here/../chart.awk" -f "$here/bytes.awk" >"$here/bytes.svg"

for place in "ethernet 16" "h100 64"; do
  for how in none fp16 bf16 int8 topk:0.01 topk:0.001 randomk:0.01 powersgd:4; do
    step $place $how | awk -v place="$place" -v how=$how '
      function ms(value, unit) { return unit == "µs" ? value / 1000 : unit == "s" ? value * 1000 : value }
      /^  step/ { time = ms($2, $3) }
      /^  communication/ { print place, how, time, ms($(NF - 2), $(NF - 1)) }'
  done
done | awk -f "$here/../chart.awk" -f "$here/steps.awk" >"$here/steps.svg"

for how in none bf16 int8 topk:0.01 topk:0.001 powersgd:4 powersgd:1; do
  "$build/bin/train" --ranks 8 --batch-size 16 --steps 300 --lr-schedule constant --lr 0.02 --backend sim \
    --compress $how --log "$work/loss.jsonl" >/dev/null
  sed -n "s/.*\"step\":\([0-9]*\),\"loss\":\([0-9.e-]*\),.*\"bytes_sent\":\([0-9]*\).*/$how \1 \2 \3/p" "$work/loss.jsonl"
done | awk -f "$here/../chart.awk" -f "$here/loss.awk" >"$here/loss.svg"
