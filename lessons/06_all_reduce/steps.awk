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
function frame(px, py, w, h, fill, colour, wide) { rect(px, py, w, h, fill, " stroke=\"" colour "\" stroke-width=\"" wide "\"") }
# Whether message i of a step brings this quarter, of elements of 8 bytes.
function brings(r, s, i, quarter,    from) {
  from = place[r, s, i] * 8 / size
  return quarter / 4 >= from - 1e-6 && quarter / 4 < from + bytes[r, s, i] / size - 1e-6
}
function panel(r, s,    left, row, rank, quarter, k, i, new, count, px) {
  left = 22 + (s % columns) * 730 / columns
  words(left, top + int(s / columns) * 152, "start", s == 0 ? "at the beginning" : sprintf("step %d, %.0f µs", s, time[r, s]))
  for (rank = 0; rank < 4; rank++) {
    row = top + int(s / columns) * 152 + 9 + rank * 28
    if (s % columns == 0) words(left - 7, row + 17, "end", rank)
    for (quarter = 0; quarter < 4; quarter++) {
      new = count = 0
      for (i = 1; i <= received[r, s]; i++) if (to[r, s, i] == rank && brings(r, s, i, quarter)) new = 1
      for (k = 0; k < 4; k++) count += holds[rank, quarter, k]
      px = left + quarter * (side + 4)
      for (k = 0; k < 4 && count < 4; k++) {
        if (!holds[rank, quarter, k]) continue
        if (one_quarter[r]) rect(px, row, side, 22, colour[k])
        else rect(px + k * side / 4, row, side / 4, 22, colour[k])
      }
      frame(px, row, side, 22, count == 4 ? "#0a3069" : "none", new ? "#bc4c00" : "#afb8c1", new ? 2.6 : 1)
    }
  }
}
function play(r,    rank, quarter, k, s, i, n, parts) {
  for (rank = 0; rank < 4; rank++) for (quarter = 0; quarter < 4; quarter++) for (k = 0; k < 4; k++)
    holds[rank, quarter, k] = rank == k && (!one_quarter[r] || quarter == k)
  words(22, top - 4, "start", title[r], bold)
  top += 20
  panel(r, 0)
  for (s = 1; s <= steps[r]; s++) {
    for (i = 1; i <= received[r, s]; i++) {
      n = split(whose[r, s, i], parts, ",")
      for (quarter = 0; quarter < 4; quarter++) {
        if (!brings(r, s, i, quarter)) continue
        for (k = 1; k <= n; k++) holds[to[r, s, i], quarter, parts[k]] = 1
      }
    }
    panel(r, s)
  }
  top += (int(steps[r] / columns) + 1) * 152 + 2
}
END {
  side = 730 / columns / 4 - 10
  colour[0] = "#54aeff"; colour[1] = "#fb8f44"; colour[2] = "#4ac26b"; colour[3] = "#d4a72c"
  height = 30
  for (r = 1; r <= runs; r++) height += 22 + (int(steps[r] / columns) + 1) * 152
  head(740, height)
  top = 22
  for (r = 1; r <= runs; r++) play(r)
  for (k = 0; k < 4; k++) key(22 + 84 * k, top - 14, 14, 14, "rank " k, colour[k])
  key(358, top - 14, 14, 14, "all four: finished", "#0a3069")
  frame(514, top - 13, 12, 12, "none", "#bc4c00", 2.6)
  words(534, top - 2, "start", "just received")
  foot()
}
