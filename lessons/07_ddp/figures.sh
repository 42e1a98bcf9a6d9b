#!/bin/sh
# Regenerates this lesson's figures from runs on the simulator: overlap.svg, one step of a rank with its gradients reduced
# after backward, in one bucket and in buckets of 25 MiB; bucket_size.svg, the time of a step over the size of a bucket;
# straggler.svg, one step of two ranks when one of them is slow.
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
timeline() {  # RANK TITLE OPTION…
  rank=$1 title=$2; shift 2
  step ethernet --trace "$work/trace.json" "$@" >/dev/null
  echo "case $title"
  grep "\"pid\":$rank," "$work/trace.json"
}
{
  timeline 0 "after backward, each gradient by itself" --no-overlap
  timeline 0 "during backward, one bucket" --bucket-mb 1000
  timeline 0 "during backward, buckets of 25 MiB"
} | awk -f "$here/../trace.awk" -f "$here/../chart.awk" -f "$here/overlap.awk" >"$here/overlap.svg"
{
  timeline 0 "rank 0, all GPUs alike"
  timeline 0 "rank 0, while GPU 5 needs 1.5 times as long" --slow 5:1.5
  timeline 5 "rank 5, the slow one" --slow 5:1.5
} | awk -f "$here/../trace.awk" -f "$here/../chart.awk" -f "$here/overlap.awk" >"$here/straggler.svg"

for cluster in ethernet h100; do
  for size in 0.01 1 2 5 10 15 25 35 50 70 100 140 200 400; do
    step $cluster --bucket-mb $size | awk -v cluster=$cluster -v size=$size '
      /^  step/ { print cluster, size, $2, $3 }'
  done
done | awk -f "$here/../chart.awk" -f "$here/bucket_size.awk" >"$here/bucket_size.svg"
