#!/bin/sh
# Regenerates updates.svg from four real runs: one epoch on 1, 2, 4 and 8 ranks, with the same batch on
# each rank and the same learning rate.
set -eu
here=$(cd "${0%/*}" && pwd)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

for ranks in 1 2 4 8; do
  "$here/../../lab" train --ranks "$ranks" --epochs 1 --momentum 0 --lr-schedule constant --seed 1 \
    --log "$logs/$ranks.jsonl" >/dev/null
done
awk -f "$here/../trace.awk" -f "$here/../chart.awk" -f "$here/updates.awk" \
  "$logs/1.jsonl" "$logs/2.jsonl" "$logs/4.jsonl" "$logs/8.jsonl" >"$here/updates.svg"
