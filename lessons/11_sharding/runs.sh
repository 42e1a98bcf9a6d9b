# What the runs of lesson 11 share: a GPT of 5 billion parameters on simulated GPUs, 16 bytes for each parameter.
gpt="--model gpt --layers 16 --width 5120 --heads 40 --sequence 2048 --dtype bfloat16 --masters"
gpus="--backend sim --cluster h100 --sizes-only --batch-size 2 --log /tmp/lockstep-11.jsonl"

# Of what a run prints and logs: the time of its last step, the memory of rank 0, and what this rank sends in a step.
brief() {  # WHAT
  awk -v what="$1" '
    /^  step/ { time = $2 " " $3 }
    /^  memory/ { held = $2 }
    /out of memory/ { end = "does not fit" }
    END {
      if (time == "") {
        printf "%-24s %s\n", what, end == "" ? "failed" : end
        exit
      }
      while ((getline line <"/tmp/lockstep-11.jsonl") > 0)
        if (match(line, /bytes_sent":[0-9]+/)) sent = substr(line, RSTART + 12, RLENGTH - 12)
      printf "%-24s %9s, holds %5.2f GB, sends %6.2f GB\n", what, time, held, sent / 1e9
    }'
}
