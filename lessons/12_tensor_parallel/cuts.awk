# Draws cuts.svg: what each of two ranks has of y = relu(x·A)·B, if A is cut by columns and B by rows. Called by
# figures.sh with the lines of `cuts numbers`. A square's colour is the rank that has it; what a rank lacks is empty.
{ cell[$1, $2, $3, $4] = $5; if ($2 == "y") sum[$4] += $5 }

function square(px, py, value, fill) {
  rect(px, py, 28, 28, value == "" ? "none" : fill, " stroke=\"#ffffff\"")
  if (value == "") rect(px + 1, py + 1, 26, 26, "none", " stroke=\"" grid "\"")
  sub(/^-/, "−", value)
  words(px + 14, py + 19, "middle", value)
}
# The squares of a tensor with this many rows and columns; `middle` is half of its height.
function tensor(rank, name, left, middle, rows, columns,  i, j) {
  for (i = 0; i < rows; i++) {
    for (j = 0; j < columns; j++) square(left + 28 * j, middle + 28 * (i - rows / 2), cell[rank, name, i, j], colour[rank])
  }
}
function arrow(left, right, py) {
  across(left, right, py, black)
  path("M" (right - 7) " " (py - 4) "l7 4l-7 4", black)
}
END {
  colour[0] = "#a8d1ff"; colour[1] = "#fb8f44"
  head(764, 290)
  words(106, 22, "middle", "x", bold); words(218, 22, "middle", "columns of A", bold); words(364, 22, "middle", "x·A", bold)
  words(490, 22, "middle", "relu", bold); words(590, 22, "middle", "rows of B", bold); words(672, 22, "middle", "y", bold)
  for (rank = 0; rank < 2; rank++) {
    middle = 90 + 130 * rank
    words(8, middle + 5, "start", "rank " rank)
    tensor(rank, "x", 78, middle, 1, 2)
    words(148, middle + 5, "middle", "·")
    tensor(rank, "A", 162, middle, 2, 4)
    words(291, middle + 5, "middle", "=")
    tensor(rank, "xA", 308, middle, 1, 4)
    arrow(422, 431, middle)
    tensor(rank, "relu", 434, middle, 1, 4)
    words(554, middle + 5, "middle", "·")
    tensor(rank, "B", 562, middle, 4, 2)
    words(630, middle + 5, "middle", "=")
    tensor(rank, "y", 644, middle, 1, 2)
  }
  path("M74 90h-8v130h8", black)
  words(58, 159, "end", "f", bold)
  path("M704 90h8v130h-8", black)
  words(736, 142, "middle", "g", bold); words(736, 160, "middle", "sum"); words(736, 178, "middle", "(" sum[0] ", " sum[1] ")")
  foot()
}
