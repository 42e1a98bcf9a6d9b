# Draws bytes.svg: what a rank sends in a step over the number of ranks, as a multiple of its gradients in float32. Called
# by figures.sh with lines
#   parameters COUNT  |  sent HOW RANKS BYTES  |  gathered RANKS BYTES (of a million 8-bit integers by all-gather)
$1 == "parameters" { whole = 4 * $2 }
$1 == "sent" { point($2, $3, last[$2] = $4 / whole) }
$1 == "gathered" { point("gathered", $2, last["gathered"] = $3 / 4e6) }
# A line and its name at the end, `lower` by so much.
function named_line(k, said, colour, lower, more) {
  line(k, colour, 2.2, more)
  words(574, y(last[k]) + 4 + lower, "start", said, ink(colour))
}
END {
  head(740, 396)
  words(20, 20, "start", "what a rank sends in a step, as a multiple of its gradients in float32", bold)
  x_scale(2, 70, 512, 566, "log"); y_scale(128, 48, 0.00128, 348, "log")
  y_ticks("100|10|1|0.1|0.01|0.001", 62, 570)
  x_ticks("2|4|8|16|32|64|128|256|512", 370)
  named_line("none", "float32", black, -5)
  named_line("bf16", "16 bits", "#0969da", -7)
  named_line("int8", "int8, in two steps", "#8250df", 10)
  named_line("topk:0.01", "top-k, 1 %", "#bc4c00", 0)
  named_line("topk:0.001", "top-k, 0.1 %", "#bc4c00", 5, dashed(6, 4))
  named_line("randomk:0.01", "random-k, 1 %", "#1a7f37", -5)
  named_line("powersgd:4", "PowerSGD, rank 4", "#bf3989", 6)
  named_line("gathered", "int8 by all-gather", "#8250df", 0, dashed(6, 4))
  words(318, 389, "middle", "ranks")
  simulated(724, 389, "float32 gradients")
  foot()
}
