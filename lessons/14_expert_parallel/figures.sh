#!/bin/sh
# Regenerates this lesson's figures: dispatch.svg, how rows travel to experts and back; and, from two runs of 500 steps,
# load.svg, which share of the tokens chose which expert, without and with the balancing loss.
set -eu
here=$(cd "${0%/*}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/runs.sh"
cd "$here/../.."

train() {  # NAME OPTION…
  name=$1; shift
  ./lab train "$@" --log "$work/$name.jsonl" >/dev/null
}
for alpha in 0 0.01; do
  train "$alpha" $mixture --aux-loss $alpha
  sed -n "s/.*\"step\":\([0-9]*\),.*\"expert_load\":\[\[\([^]]*\)\].*/$alpha \1 \2/p" "$work/$alpha.jsonl" | tr ',' ' '
done | awk -f "$here/../chart.awk" -f "$here/load.awk" >"$here/load.svg"

awk -f "$here/../chart.awk" -f "$here/dispatch.awk" >"$here/dispatch.svg"
