# Draws dealing.svg: one epoch's order, padded with its own head and dealt to the ranks like cards. The order is
# that of seed 0, epoch 0, which the lesson's twin set_epoch.py prints.
#   awk -v order="4 1 7 5 3 9 0 8 6 2" -v ranks=4 -f dealing.awk >dealing.svg
function words(px, py, anchor, said) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", px, py, anchor, said
}
function card(px, py, sample, rank, padded) {
  printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"38\" height=\"30\" rx=\"4\" fill=\"%s\"%s/>\n", px, py, colours[rank + 1],
         padded ? " stroke=\"#cf222e\" stroke-width=\"3\" stroke-dasharray=\"5 3\"" : ""
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"%s\">%s</text>\n", px + 19, py + 20,
         rank == 0 || rank == 2 ? "#ffffff" : "#1f2328", sample
}
BEGIN {
  length_of_order = split(order, samples, " ")
  each = int((length_of_order + ranks - 1) / ranks)
  split("#0a3069 #54aeff #8250df #fb8f44", colours, " ")
  left = 150
  height = 112 + 40 * ranks
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 %d\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">\n", height
  printf "<rect width=\"740\" height=\"%d\" fill=\"#ffffff\"/>\n", height
  words(left - 12, 40, "end", "padded order")
  for (place = 0; place < each * ranks; place++) {
    card(left + 44 * place, 20, samples[place % length_of_order + 1], place % ranks, place >= length_of_order)
  }
  words(left + 44 * length_of_order + 41, 68, "middle", "its head again")
  for (rank = 0; rank < ranks; rank++) {
    y = 92 + 40 * rank
    words(left - 12, y + 20, "end", "rank " rank)
    for (k = 0; k < each; k++) {
      place = rank + k * ranks
      card(left + 44 * k, y, samples[place % length_of_order + 1], rank, place >= length_of_order)
    }
  }
  print "</svg>"
}
