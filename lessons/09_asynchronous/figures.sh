#!/bin/sh
# Regenerates this lesson's figures from runs on the simulator: staleness.svg, how stale pushes are with equal workers,
# and with a slow one; loss.svg, the loss of training with a slow worker over time and over steps, by bound.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" train >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() {  # OPTION…
  "$build/bin/train" --ranks 4 --backend sim --async --log "$work/log.jsonl" "$@" >/dev/null
}
histogram() {  # TITLE OPTION…
  title=$1; shift
  run --sizes-only --steps 40 "$@"
  echo "$(grep -o '"staleness":\[[0-9,]*' "$work/log.jsonl" | tr -d '"[:a-z') $title"
}
{
  histogram "four equal workers, no bound"
  histogram "one worker four times slower, no bound" --slow 3:4
  histogram "one worker four times slower, bound 2" --slow 3:4 --staleness 2
} | awk -f "$here/../chart.awk" -f "$here/staleness.awk" >"$here/staleness.svg"

curve() {  # NAME OPTION…
  name=$1; shift
  run --slow 3:4 --lr-schedule constant "$@"
  sed -n 's/.*"event":"step","step":\([0-9]*\),"loss":\([0-9.]*\),.*"seconds":\([0-9.e-]*\),.*/'$name' \1 \2 \3/p' "$work/log.jsonl"
}
{  # as many steps as take rank 0 about 0.65 s
  curve 0 --staleness 0 --steps 77
  curve 2 --staleness 2 --steps 95
  curve 8 --staleness 8 --steps 100
  curve inf --staleness inf --steps 207
  curve plain --staleness inf --steps 235 --momentum 0 --lr 0.5
} | awk -f "$here/../chart.awk" -f "$here/loss.awk" >"$here/loss.svg"
