# Draws updates.svg from training logs: the loss of each run over the samples that were seen, as the mean of some 2,000
# samples at a time. Called by updates.sh with the logs.
/"event":"start"/ {
  ++runs
  said[runs] = field("ranks") (field("ranks") == 1 ? " rank: " : " ranks: ") field("steps") " updates"
  batch = field("global_batch")
  sum = count = 0
}
/"event":"step"/ {
  sum += field("loss")
  count++
  if (count * batch < 2048) next
  point(runs, (field("step") - count / 2) * batch, sum / count)
  sum = count = 0
}
END {
  x_scale(0, 60, 60000, 710); y_scale(0, 290, 2.5, 40)
  split("#0a3069 #54aeff #8250df #fb8f44", colours, " ")
  head(740, 345)
  words(60, 24, "start", "mean loss of the samples seen last")
  y_ticks("0=0.0|0.5|1=1.0|1.5|2=2.0|2.5", 60, 710)
  x_ticks("0|10000=10,000|20000=20,000|30000=30,000|40000=40,000|50000=50,000|60000=60,000", 310)
  words(385, 332, "middle", "samples seen by all ranks together")
  for (r = 1; r <= runs; r++) {
    line(r, colours[r], 2)
    sample(460, 54 + 22 * r, 30, said[r], colours[r], 2)
  }
  foot()
}
