# Draws moves.svg: what each rank holds before and after each collective. Called by figures.sh with the lines of
# `what-moves values`. A square's colour is the rank that brought it; a sum of all is dark.
{
  if (!($1 in place)) { place[$1] = shown; name[shown++] = $1 }
  for (i = 4; i <= NF; i++) cell[$1, $2, $3, i - 4] = $i
}
function square(px, py, value) {
  if (value == "" || value == "-") {
    rect(px, py, 24, 24, "none", " stroke=\"" grid "\"")
    return
  }
  rect(px, py, 24, 24, value > 33 ? "#0a3069" : colour[int(value / 10)])
  words(px + 12, py + 17, "middle", value, value > 33 ? ink("#ffffff") : "")
}
END {
  colour[0] = "#a8d1ff"; colour[1] = "#fb8f44"; colour[2] = "#aceebb"; colour[3] = "#ffef9a"
  head(740, 630)
  for (p = 0; p < shown; p++) {
    left = 10 + int(p / 4) * 365
    top = (p % 4) * 156 + 22
    words(left + 52, top, "start", name[p], bold)
    for (rank = 0; rank < 4; rank++) {
      row = top + 10 + rank * 28
      words(left + 46, row + 17, "end", "rank " rank)
      for (i = 0; i < 4; i++) {
        square(left + 52 + i * 26, row, cell[name[p], rank, "before", i])
        square(left + 212 + i * 26, row, cell[name[p], rank, "after", i])
      }
    }
    path("M" (left + 170) " " (top + 65) "h28m-7 -5l7 5l-7 5", black)
  }
  foot()
}
