# Draws loss.svg: the training loss over time, and over the steps of rank 0, a line for each bound on staleness. Called by
# figures.sh with lines
#   BOUND STEP LOSS SECONDS      BOUND is plain for a run without a bound and without momentum
{
  n = ++count[$1]
  loss[$1, n] = $3
  window = n < 12 ? n : 12  # a running mean, for single batches are noisy
  mean = 0
  for (i = n - window + 1; i <= n; i++) mean += loss[$1, i] / window
  if (n == 1) bound[++bounds] = $1
  if ($4 >= 0.7) over[$1] = 1
  if (!over[$1]) { point($1 "time", $4, mean); point($1 "step", n, mean) }
}
END {
  split("#1f2328 #0969da #8250df #bc4c00 #1a7f37", colour, " ")
  said["inf"] = "no bound"; said["plain"] = "no bound, momentum 0"
  head(740, 330)
  words(20, 20, "start", "training loss of an MLP, 4 workers, one of them four times slower", bold)
  y_scale(0.4, 262, 2.4, 26)
  for (panel = 1; panel <= 2; panel++) {
    if (panel == 1) x_scale(0, 50, 0.7, 340)
    else x_scale(0, 414, 240, 724)
    y_ticks(panel == 1 ? "0.5|1=1.0|1.5|2=2.0" : "0.5=|1=|1.5=|2=", panel == 1 ? 46 : 408, panel == 1 ? 342 : 726)
    x_ticks(panel == 1 ? "0|0.2=0.2 s|0.4=0.4 s|0.6=0.6 s" : "0|60|120|180|240", 280)
    words(panel == 1 ? 190 : 565, 298, "middle", panel == 1 ? "time" : "steps of rank 0")
    for (i = 1; i <= bounds; i++) line(bound[i] (panel == 1 ? "time" : "step"), colour[i], 2, i == 3 ? dashed(6, 3) : "")
  }
  for (i = 1; i <= bounds; i++) {
    sample(125 * i - 95, 318, 24, bound[i] in said ? said[bound[i]] : "bound " bound[i], colour[i], 2.2, i == 3 ? dashed(6, 3) : "")
  }
  simulated(724, 40, "one core, float32, 77 GFLOP/s")
  foot()
}
