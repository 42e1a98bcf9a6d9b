# Says how long ranks 0 and 5 compute nothing in a step of a simulated run, and all ranks together. Reads what
# --trace FILE.json writes:
#   awk -f lessons/trace.awk -f lessons/07_ddp/waits.awk FILE.json
/"ph":"X"/ && /"tid":0,/ && /"name":"(forward|backward|optimizer)"/ {
  rank = field("pid") + 0; name = field("name")
  if (rank >= ranks) ranks = rank + 1
  took[rank, name] = field("dur") / 1000
  if (name == "optimizer") { step[rank] = field("ts") / 1000 - at[rank]; at[rank] = field("ts") / 1000 }
}
END {
  for (r = 0; r < ranks; r++) {
    waits[r] = step[r] - took[r, "forward"] - took[r, "backward"] - took[r, "optimizer"]
    all += waits[r]
  }
  printf "  in a step, rank 0 waits for %.1f ms and rank 5 for %.1f; all %d together for %.0f ms\n", waits[0], waits[5], ranks, all
}
