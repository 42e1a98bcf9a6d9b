#!/bin/sh
# Regenerates this lesson's figure, and prints the numbers of docs/measured.md: load.svg, which share of the tokens chose which
# expert over 500 steps, without and with the balancing loss.
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
  sed -n "s/.*\"expert_load\":\[.*\[\([^]]*\)\]\].*\"step\":\([0-9]*\).*/$alpha \2 \1/p
    s/.*\"step\":\([0-9]*\).*\"expert_load\":\[.*\[\([^]]*\)\]\].*/$alpha \1 \2/p" "$work/$alpha.jsonl" | tr ',' ' '
done | awk -f "$here/../chart.awk" -f "$here/load.awk" >"$here/load.svg"
