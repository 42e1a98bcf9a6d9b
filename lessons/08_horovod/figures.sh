#!/bin/sh
# Regenerates this lesson's figures from runs on the simulator: cycles.svg, one step of a rank with DDP, and with Horovod
# on a slow and on a fast network; cycle_time.svg, the time of a step over Horovod's cycle time.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" train >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() {  # CLUSTER OPTION…
  cluster=$1; shift
  "$build/bin/train" --model gpt --layers 12 --width 768 --heads 12 --sequence 1024 --batch-size 2 --ranks 16 \
    --backend sim --sizes-only --cluster "$cluster" "$@"
}
timeline() {  # FULL_SCALE_MS TITLE CLUSTER OPTION…
  scale=$1 title=$2; shift 2
  step "$@" --trace "$work/trace.json" >/dev/null
  echo "case $scale $title"
  grep '"pid":0,' "$work/trace.json"
}
{
  timeline 100 "DDP, Ethernet" ethernet
  timeline 100 "Horovod, Ethernet" ethernet --horovod
  timeline 35 "Horovod, H100 and InfiniBand" h100 --horovod
} | awk -f "$here/../trace.awk" -f "$here/../chart.awk" -f "$here/cycles.awk" >"$here/cycles.svg"

milliseconds() {
  awk '/^  step/ { print $2 * ($3 == "s" ? 1000 : 1) }'
}
for cluster in ethernet h100; do
  echo "$cluster ddp $(step $cluster | milliseconds)"
  for time in 0 1 2 3 4 5 6 8 10 12 15 18 20 23 26 30 35 40 45 50; do
    echo "$cluster $time $(step $cluster --horovod --cycle-time-ms $time | milliseconds)"
  done
done | awk -f "$here/../chart.awk" -f "$here/cycle_time.awk" >"$here/cycle_time.svg"
