#!/bin/sh
# Regenerates this lesson's figures from runs on the simulator: ring.svg and two_more.svg, all-reduces step by step;
# choosing.svg, the time of four all-reduces over sizes, and where ring and tree cross; nodes.svg, the time on nodes with
# faster links inside, and what leaves a node.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" what-moves crossing sim >/dev/null

steps() {  # BYTES COLUMNS, then WORDS and NAME of each
  bytes=$1; columns=$2; shift 2
  while [ $# -gt 0 ]; do
    echo "case $1"
    "$build/bin/what-moves" messages "$2" 4 "$bytes"
    shift 2
  done | awk -v columns="$columns" -v size="$bytes" -f "$here/../chart.awk" -f "$here/steps.awk"
}
steps 40000 4 "ring: six steps, a quarter of the data in each message" ring_all_reduce >"$here/ring.svg"
steps 40000 5 "tree: four steps, all of the data in each message" tree_all_reduce \
  "halving and doubling: four steps, of a half, a quarter, a quarter, a half" halving_doubling_all_reduce \
  >"$here/two_more.svg"

run() {  # PROGRAM RANKS COUNT
  "$build/bin/sim" --ranks "$2" --count "$3" --sizes-only "$1" |
    awk -v name="$1" -v ranks="$2" -v bytes=$(($3 * 4)) '/virtual time/ { print name, ranks, bytes, $3, $4 }'
}
sizes="4 16 64 256 1024 4096 16384 65536 262144 1048576 4194304 16777216 67108864 268435456"
[ "${1:-}" != steps ] || exit 0   # the rest takes a minute
{
  for program in naive_all_reduce ring_all_reduce tree_all_reduce halving_doubling_all_reduce; do
    for count in $sizes; do run $program 64 "$count"; done
  done
  for ranks in 4 8 16 32 64 128 256 512 1024; do
    "$build/bin/crossing" ring tree $ranks | sed "s/.*equal at \([^,]*\),.*/crossing $ranks \1/"
  done
} | awk -f "$here/../chart.awk" -f "$here/choosing.awk" >"$here/choosing.svg"

for program in ring_all_reduce tree_all_reduce halving_doubling_all_reduce hierarchical_all_reduce all_reduce; do
  for count in 250 1000 4000 16000 64000 250000 1000000 4000000 16000000 64000000 250000000; do
    "$build/bin/sim" --cluster h100 --ranks 64 --count $count --sizes-only $program |
      awk -v name=$program -v bytes=$((count * 4)) '
        /virtual time/ { time = $3; unit = $4 }
        /left a node/ { print name, bytes, time, unit, $(NF - 3) }'
  done
done | awk -f "$here/../chart.awk" -f "$here/nodes.awk" >"$here/nodes.svg"
