#!/bin/sh
# The answers to the design problem of lesson 13, each as one of its pipelines alone; prints how long a step takes:
#   sh lessons/13_pipeline_parallel/design.sh TRAIN      TRAIN is build/release/bin/train-pipeline
set -eu
step() {  # STAGES MICRO-BATCHES OPTION…
  stages=$1 micro_batches=$2; shift 2
  "$train" --model gpt --layers 48 --width 7168 --heads 56 --sequence 2048 --dtype bfloat16 --ranks "$stages" --pp "$stages" \
    --batch-size "$micro_batches" --micro-batches "$micro_batches" --steps 2 --backend sim --cluster h100 --sizes-only "$@" |
    awk '/^  step/ { printf "%.1f\n", $2 }'
}
train=$1
echo "$(step 16 512) s with p = 16, $(step 16 512 --schedule interleaved --chunks 3) with v = 3," \
  "$(step 8 256 --recompute) with p = 8 and recomputation, and $(step 4 128) with p = 4"
