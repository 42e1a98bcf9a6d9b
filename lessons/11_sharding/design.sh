#!/bin/sh
# The answers to the design problem of lesson 11; prints how long a step takes:
#   sh lessons/11_sharding/design.sh TRAIN      TRAIN is build/release/bin/train-zero
set -eu
step() {  # SEQUENCES OPTION…
  sequences=$1; shift
  "$train" --model gpt --layers 48 --width 7168 --heads 56 --sequence 2048 --dtype bfloat16 --masters --ranks 64 --zero 3 \
    --batch-size "$sequences" --steps 2 --backend sim --cluster h100 --sizes-only "$@" |
    awk '/^  step/ { printf "%.2f\n", $2 }'
}
train=$1
echo "$(step 4 --accumulate 2) s with two passes of four sequences, $(step 1 --accumulate 8) s with eight passes of one," \
  "and $(step 8 --recompute) s with one pass of eight"
