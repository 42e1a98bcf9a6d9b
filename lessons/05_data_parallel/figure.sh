#!/bin/sh
# Regenerates figure.svg from three real runs: the same global batch on 1, 2 and 4 ranks.
set -eu
here=$(cd "${0%/*}" && pwd)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

run() {  # RANKS BATCH-PER-RANK
  "$here/../../lab" train --ranks "$1" --batch-size "$2" --steps 200 --lr-schedule constant \
    --seed 1 --log "$logs/$1.jsonl" >/dev/null
}
run 1 128
run 2 64
run 4 32
awk -f "$here/../trace.awk" -f "$here/../chart.awk" -f "$here/figure.awk" "label=1 rank × 128" "$logs/1.jsonl" \
  "label=2 ranks × 64" "$logs/2.jsonl" "label=4 ranks × 32" "$logs/4.jsonl" >"$here/figure.svg"
