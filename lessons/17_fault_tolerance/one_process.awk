# Draws one_process.svg: one tensor, of which four ranks have written boxes, and one process that reads it. What the
# optimizer's files have stays there.
function box_of(left, top, width, height, said, fill) {
  rect(left, top, width, height, fill, " stroke=\"#ffffff\" stroke-width=\"2\"")
  words(left + width / 2, top + height / 2 + 5, "middle", said)
}
function arrow(left, right, py) {
  across(left, right, py, black)
  path("M" (right - 7) " " (py - 4) "l7 4l-7 4", black)
}
END {
  colour[0] = "#a8d1ff"; colour[1] = "#fbd0a8"; colour[2] = "#b7e4c0"; colour[3] = "#e2cbff"
  head(700, 236)
  words(70, 24, "middle", "four ranks", bold); words(262, 24, "middle", "files", bold)
  words(452, 24, "middle", "the index", bold); words(616, 24, "middle", "one process", bold)
  for (rank = 0; rank < 4; rank++) {
    py = 44 + 46 * rank
    box_of(16, py, 108, 36, "rank " rank, colour[rank])
    arrow(128, 166, py + 18)
    box_of(170, py, 92, 36, "weights", colour[rank])
    box_of(264, py, 92, 36, "optimizer", "#eaeef2")
  }
  for (i = 0; i < 4; i++) box_of(400 + 52 * (i % 2), 70 + 66 * int(i / 2), 52, 66, "box " i, colour[i])
  words(452, 222, "middle", "one whole tensor")
  arrow(360, 394, 136); arrow(510, 544, 136)
  box_of(550, 70, 132, 132, "weights", "#d8dee4")
  foot()
}
