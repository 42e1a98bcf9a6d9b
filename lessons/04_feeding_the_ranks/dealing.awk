# Draws dealing.svg: one epoch's order, padded with its own head and dealt to the ranks like cards. The order is that of
# seed 0, epoch 0, which the lesson's twin set_epoch.py prints.
#   awk -v order="4 1 7 5 3 9 0 8 6 2" -v ranks=4 -f lessons/chart.awk -f lessons/04_feeding_the_ranks/dealing.awk
function card(px, py, place) {
  rect(px, py, 38, 30, colours[place % ranks + 1],
       " rx=\"4\"" (place < length_of_order ? "" : " stroke=\"#cf222e\" stroke-width=\"3\"" dashed(5, 3)))
  words(px + 19, py + 20, "middle", samples[place % length_of_order + 1], ink(place % ranks % 2 == 0 ? "#ffffff" : black))
}
BEGIN {
  length_of_order = split(order, samples, " ")
  each = int((length_of_order + ranks - 1) / ranks)
  split("#0a3069 #54aeff #8250df #fb8f44", colours, " ")
  head(740, 112 + 40 * ranks)
  words(138, 40, "end", "padded order")
  for (place = 0; place < each * ranks; place++) card(150 + 44 * place, 20, place)
  words(191 + 44 * length_of_order, 68, "middle", "its head again")
  for (rank = 0; rank < ranks; rank++) {
    words(138, 112 + 40 * rank, "end", "rank " rank)
    for (k = 0; k < each; k++) card(150 + 44 * k, 92 + 40 * rank, rank + k * ranks)
  }
  foot()
}
