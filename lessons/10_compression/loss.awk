# Draws loss.svg: the training loss over the steps, and over the bytes that a rank has sent by then. Called by figures.sh
# with lines
#   HOW STEP LOSS BYTES_OF_THE_STEP
{
  n = ++count[$1]
  sent[$1] += $4
  loss[$1, n] = $3
  window = n < 15 ? n : 15  # a running mean, for single batches are noisy
  mean = 0
  for (i = n - window + 1; i <= n; i++) mean += loss[$1, i] / window
  if (n == 1) name[++ways] = $1
  point($1 "step", n, mean); point($1 "sent", sent[$1], mean)
  if (n > last) last = n
}
END {
  colour["none"] = black; colour["bf16"] = "#0969da"; colour["int8"] = "#8250df"
  colour["topk:0.01"] = colour["topk:0.001"] = "#bc4c00"; colour["powersgd:4"] = colour["powersgd:1"] = "#bf3989"
  more["topk:0.001"] = more["powersgd:1"] = dashed(5, 3)
  head(740, 330)
  words(20, 20, "start", "training loss, an MLP on 8 ranks", bold)
  y_scale(0.4, 262, 2.4, 22)
  x_scale(0, 50, last, 330)
  y_ticks("0.5|1=1.0|1.5|2=2.0", 46, 334)
  x_ticks("0|100|200|300", 280)
  words(190, 298, "middle", "steps")
  for (i = 1; i <= ways; i++) line(name[i] "step", colour[name[i]], 1.8, more[name[i]])
  x_scale(3e5, 404, 3e8, 704, "log")
  y_ticks("0.5=|1=|1.5=|2=", 394, 726)
  x_ticks("1e6=1 MB|1e7=10 MB|1e8=100 MB", 280)
  words(560, 298, "middle", "sent by a rank so far")
  left = 22
  for (i = 1; i <= ways; i++) {
    line(name[i] "sent", colour[name[i]], 1.8, more[name[i]])
    said = name[i] == "none" ? "float32" : name[i]
    sample(left, 318, 20, said, colour[name[i]], 2.2, more[name[i]])
    left += 40 + 7.2 * length(said)
  }
  simulated(724, 20, "float32 gradients")
  foot()
}
