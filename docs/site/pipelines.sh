#!/bin/sh
# Writes a page that compares schedules of pipelines, for stages, micro-batches and chunks to choose. Called by ./lab docs:
#   sh docs/site/pipelines.sh PROGRAM FIGURES
# PROGRAM is lesson 13's schedules, which draws and prices the plans that the engine executes. The page goes to standard
# output, and its pictures into the folder FIGURES.
set -eu
program=$1 figures=$2
mkdir -p "$figures"

row() {  # CALLED SCHEDULE P M [V]
  called=$1; shift
  "$program" "$@" --svg >"$figures/$(printf '%s_' "$@" | sed 's/_$//').svg"
  "$program" "$@" --brief | sed 's/[,%]//g' | awk -v called="$called" '
    { held = ""
      for (i = 12; i <= NF; i++) held = held (held == "" ? "" : " · ") $i
      print "| " called " | " $2 " | " $4 " % | " $7 " % | " held " |" }'
}
picture() {  # CALLED SCHEDULE P M [V]
  called=$1; shift
  printf '<figure><img src="figures/pipelines/%s.svg" alt="%s"/><figcaption>%s</figcaption></figure>\n' \
    "$(printf '%s_' "$@" | sed 's/_$//')" "$called: the passes of each stage" "$called"
}
each() {  # row or picture
  "$1" GPipe gpipe "$p" "$m"
  "$1" 1F1B 1f1b "$p" "$m"
  "$1" "interleaved, 2 chunks" interleaved "$p" "$m" 2
  "$1" "interleaved, 4 chunks" interleaved "$p" "$m" 4
  "$1" "zero bubble (ZB-H1)" zero-bubble "$p" "$m"
}

cat <<'TEXT'
# Pipelines to compare

Nine pairs of p stages and m micro-batches, each under five schedules. Find the pair that is nearest to yours, and open
its pictures; `build/release/bin/schedules SCHEDULE P M [V]` draws any other. A forward pass over a stage takes 1, a
backward pass 2, and each of its halves 1. A stage's chunks share its time, and messages take none. *In flight* counts
the micro-batches whose activations each stage holds at most, from stage 0 on; a chunk counts as its share of a stage.

The tables and pictures come from the code that makes the plans and prices them. @ref lesson_13 explains them.

TEXT
for p in 2 4 8; do
  printf '## %s stages\n\n' "$p"
  for m in "$p" $((2 * p)) $((4 * p)); do
    printf '### p = %s, m = %s\n\n' "$p" "$m"
    printf '| schedule | time | bubble, of ideal | of total | in flight |\n|---|---|---|---|---|\n'
    each row
    printf '\n\\htmlonly[block]<details><summary>Pictures</summary>\n'
    each picture
    printf '</details>\\endhtmlonly\n\n'
  done
done
