# Draws moves.svg: what each rank holds before and after each collective. Called by figures.sh with the lines
# of `what-moves values`. A square's colour is the rank that brought it; a sum of all is dark.
{
  if (!($1 in place)) { place[$1] = shown; name[shown++] = $1 }
  for (i = 4; i <= NF; i++) cell[$1, $2, $3, i - 4] = $i
}
function words(px, py, anchor, said, ink) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, ink, said
}
function square(px, py, value,    from, dark) {
  if (value == "" || value == "-") {
    printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#d8dee4\"/>\n", px, py, side - 2, side - 2
    return
  }
  dark = value > 33
  from = int(value / 10)
  printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", px, py, side - 2, side - 2, dark ? "#0a3069" : colour[from]
  words(px + side / 2 - 1, py + 17, "middle", value, dark ? " fill=\"#ffffff\"" : "")
}
END {
  side = 26; panel_w = 365; panel_h = 156
  split("#a8d1ff #fb8f44 #aceebb #ffef9a", given, " ")
  for (i = 0; i < 4; i++) colour[i] = given[i + 1]
  height = 4 * panel_h + 6
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 %d\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">\n", height
  printf "<rect width=\"740\" height=\"%d\" fill=\"#ffffff\"/>\n", height
  for (p = 0; p < shown; p++) {
    left = 10 + int(p / 4) * panel_w
    top = (p % 4) * panel_h + 22
    words(left + 52, top, "start", name[p], " font-weight=\"bold\"")
    for (rank = 0; rank < 4; rank++) {
      y = top + 10 + rank * (side + 2)
      words(left + 46, y + 17, "end", "rank " rank)
      for (i = 0; i < 4; i++) {
        square(left + 52 + i * side, y, cell[name[p], rank, "before", i])
        square(left + 212 + i * side, y, cell[name[p], rank, "after", i])
      }
    }
    y = top + 10 + 2 * (side + 2)
    printf "<path d=\"M%d %dh28m-7 -5l7 5l-7 5\" fill=\"none\" stroke=\"#1f2328\"/>\n", left + 170, y - 1
  }
  print "</svg>"
}
