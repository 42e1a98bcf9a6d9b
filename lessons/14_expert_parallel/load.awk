# Draws load.svg: which share of the tokens has chosen which expert of the first block, over the steps, without and with the
# balancing loss. Called by figures.sh with lines
#   CASE STEP LOAD_OF_EXPERT_0 LOAD_OF_EXPERT_1 …
{
  if (cases == 0 || $1 != case_now) { case_now = $1; ++cases; title[cases] = $1; n = 0 }
  ++n; experts = NF - 2; steps[cases] = n
  all = 0
  for (e = 1; e <= experts; e++) all += $(e + 2)
  for (e = 1; e <= experts; e++) share[cases, n, e] = $(e + 2) / all
}
# The mean of a few steps, for single batches are noisy.
function smooth(c, n, e,  i, from, sum) {
  from = n > 9 ? n - 9 : 1
  for (i = from; i <= n; i++) sum += share[c, i, e]
  return sum / (n - from + 1)
}
END {
  split("#0969da #8ec5ff #bc4c00 #fb8f44 #8250df #c297ff #1a7f37 #7ee0a3", colour, " ")
  head(740, 328)
  for (c = 1; c <= cases; c++) {
    left = 52 + (c - 1) * 350
    x_scale(0, left, steps[c], left + 320)
    y_scale(0, 236, 1, 36)
    words(left, 24, "start", title[c] == "0" ? "without the loss" : "with α = " title[c], bold)
    for (n = 1; n <= steps[c]; n++) below[n] = 0
    for (e = 1; e <= experts; e++) {
      there = ""; back = ""
      for (n = 1; n <= steps[c]; n += 5) {
        under = below[n]; below[n] += smooth(c, n, e)
        there = there (n == 1 ? "M" : "L") short(x(n), 1) " " short(y(below[n]), 1)
        back = "L" short(x(n), 1) " " short(y(under), 1) back
      }
      print "<path d=\"" there back "Z\" fill=\"" colour[e] "\" stroke=\"#ffffff\" stroke-width=\"0.5\"/>"
    }
    if (c == 1) y_ticks("0|0.25=25 %|0.5=50 %|0.75=75 %|1=100 %", left, left)
    x_ticks(ticks_to(0, steps[c], 100, ""), 254)
    words(left + 160, 270, "middle", "steps")
  }
  words(52, 299, "start", "expert")
  for (e = 1; e <= experts; e++) key(110 + 60 * (e - 1), 288, 14, 12, e - 1, colour[e])
  simulated(724, 320, "one core, float32, 77 GFLOP/s")
  foot()
}
