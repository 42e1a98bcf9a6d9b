# Draws what each of four ranks holds after each step of a collective: ring.svg, tree and halving-doubling in
# two_more.svg, and lesson 03's rings.svg. Called by figures.sh with -v columns=NUMBER, panels side by side, and the
# lines of `what-moves messages`, each run after a line
#   case WORDS          every rank begins with numbers of its own in all four quarters
#   one_quarter WORDS   rank r begins with quarter r, and nothing is added
# A square is a quarter of the data, its stripes the ranks whose numbers are in it.
$1 == "case" { ++runs; title[runs] = substr($0, 6); next }
$1 == "one_quarter" { ++runs; title[runs] = substr($0, 13); one_quarter[runs] = 1; next }
$1 == "message" {
  step = $7
  if (step > steps[runs]) steps[runs] = step
  i = ++received[runs, step]
  to[runs, step, i] = $3; bytes[runs, step, i] = $4; place[runs, step, i] = $8; whose[runs, step, i] = $9
  if ($6 > time[runs, step]) time[runs, step] = $6
}
$1 == "all" { all_time[runs] = $2; depth[runs] = $3 }
function words(px, py, anchor, said, ink) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, ink, said
}
function box(px, py, w, h, fill, stroke, wide) {
  printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%s\"/>\n", px, py, w, h, fill, stroke, wide
}
# Whether message i of a step brings this quarter, of elements of 8 bytes.
function brings(r, s, i, quarter,    from) {
  from = place[r, s, i] * 8 / size
  return quarter / 4 >= from - 1e-6 && quarter / 4 < from + bytes[r, s, i] / size - 1e-6
}
function panel(r, s, at,    left, y, rank, quarter, k, i, new, count) {
  left = 22 + (at % columns) * 730 / columns
  y = top + int(at / columns) * 152
  words(left, y, "start", s == 0 ? "at the beginning" : sprintf("step %d, %.0f µs", s, time[r, s]), "")
  for (rank = 0; rank < 4; rank++) {
    if (at % columns == 0) words(left - 7, y + 9 + rank * 28 + 17, "end", rank, "")
    for (quarter = 0; quarter < 4; quarter++) {
      new = 0
      for (i = 1; i <= received[r, s]; i++)
        if (to[r, s, i] == rank && brings(r, s, i, quarter)) new = 1
      count = 0
      for (k = 0; k < 4; k++) count += holds[rank, quarter, k]
      for (k = 0; k < 4 && count < 4; k++)
        if (holds[rank, quarter, k])
          box(left + quarter * (side + 4) + (one_quarter[r] ? 0 : k * side / 4), y + 9 + rank * 28, one_quarter[r] ? side : side / 4, 22, colour[k], "none", 0)
      box(left + quarter * (side + 4), y + 9 + rank * 28, side, 22, count == 4 ? "#0a3069" : "none", new ? "#bc4c00" : "#afb8c1", new ? 2.6 : 1)
    }
  }
}
function play(r,    rank, quarter, k, s, i, n, parts) {
  for (rank = 0; rank < 4; rank++) for (quarter = 0; quarter < 4; quarter++) for (k = 0; k < 4; k++)
    holds[rank, quarter, k] = rank == k && (!one_quarter[r] || quarter == k)
  words(22, top - 4, "start", title[r], " font-weight=\"bold\"")
  top += 20
  panel(r, 0, 0)
  for (s = 1; s <= steps[r]; s++) {
    for (i = 1; i <= received[r, s]; i++) {
      n = split(whose[r, s, i], parts, ",")
      for (quarter = 0; quarter < 4; quarter++) {
        if (!brings(r, s, i, quarter)) continue
        for (k = 1; k <= n; k++) holds[to[r, s, i], quarter, parts[k]] = 1
      }
    }
    panel(r, s, s)
  }
  top += (int(steps[r] / columns) + 1) * 152 + 2
}
END {
  side = 730 / columns / 4 - 10
  split("#54aeff #fb8f44 #4ac26b #d4a72c", given, " ")
  for (k = 0; k < 4; k++) colour[k] = given[k + 1]
  height = 30
  for (r = 1; r <= runs; r++) height += 22 + (int(steps[r] / columns) + 1) * 152
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 %d\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">\n", height
  printf "<rect width=\"740\" height=\"%d\" fill=\"#ffffff\"/>\n", height
  top = 22
  for (r = 1; r <= runs; r++) play(r)
  left = 22
  for (k = 0; k < 4; k++) {
    box(left, top - 14, 14, 14, colour[k], "none", 0)
    words(left + 20, top - 2, "start", "rank " k, "")
    left += 84
  }
  box(left, top - 14, 14, 14, "#0a3069", "none", 0)
  words(left + 20, top - 2, "start", "all four: finished", "")
  box(left + 156, top - 13, 12, 12, "none", "#bc4c00", 2.6)
  words(left + 176, top - 2, "start", "just received", "")
  print "</svg>"
}
