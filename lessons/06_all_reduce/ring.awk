# Draws ring.svg: what each rank holds after each step of a ring all-reduce. Called by figures.sh with the lines of
# `what-moves messages ring_all_reduce 4 BYTES`. A square is a chunk, its stripes the ranks whose numbers are in it.
$1 == "message" {
  step = $7
  if (step > steps) steps = step
  chunk = int($8 * 8 / $4 + 0.5)
  ++received[step]
  to[step, received[step]] = $3; what[step, received[step]] = chunk; whose[step, received[step]] = $9
  if ($6 > time[step]) time[step] = $6
}
function words(px, py, anchor, said, ink) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, ink, said
}
function square(px, py, rank, chunk, new,    r, full) {
  full = holds[rank, chunk, 0] + holds[rank, chunk, 1] + holds[rank, chunk, 2] + holds[rank, chunk, 3] == 4
  if (full) printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"#0a3069\"/>\n", px, py, side, tall
  else for (r = 0; r < 4; r++)
    if (holds[rank, chunk, r]) printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", px + r * side / 4, py, side / 4, tall, colour[r]
  printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"/>\n", px, py, side, tall, new ? "#bc4c00" : "#afb8c1", new ? 2.6 : 1
}
function panel(number, title, subtitle, step,    left, top, rank, chunk, i, new, parts, n, k) {
  left = 8 + (number % 4) * 183; top = 20 + int(number / 4) * 176
  words(left + 20, top, "start", title, " font-weight=\"bold\"")
  words(left + 20, top + 16, "start", subtitle, "")
  for (rank = 0; rank < 4; rank++) {
    words(left + 13, top + 26 + rank * 30 + 17, "end", rank, "")
    for (chunk = 0; chunk < 4; chunk++) {
      new = 0
      for (i = 1; i <= received[step]; i++) if (to[step, i] == rank && what[step, i] == chunk) new = 1
      square(left + 20 + chunk * 38, top + 26 + rank * 30, rank, chunk, new)
    }
  }
}
END {
  side = 34; tall = 24
  split("#54aeff #fb8f44 #4ac26b #d4a72c", given, " ")
  for (r = 0; r < 4; r++) { colour[r] = given[r + 1]; for (c = 0; c < 4; c++) holds[r, c, r] = 1 }
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 356\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"356\" fill=\"#ffffff\"/>"
  panel(0, "at the beginning", "chunks 0 to 3 of each rank", 0)
  for (s = 1; s <= steps; s++) {
    for (i = 1; i <= received[s]; i++) {
      n = split(whose[s, i], parts, ",")
      for (k = 1; k <= n; k++) holds[to[s, i], what[s, i], parts[k]] = 1
    }
    panel(s, sprintf("step %d, %.1f µs", s, time[s]), s <= 3 ? "reduce-scatter" : "all-gather", s)
  }
  left = 8 + 3 * 183 + 20
  words(left, 196, "start", "whose numbers", " font-weight=\"bold\"")
  for (r = 0; r < 4; r++) {
    printf "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"14\" fill=\"%s\"/>\n", left, 208 + r * 22, colour[r]
    words(left + 22, 220 + r * 22, "start", "rank " r, "")
  }
  printf "<rect x=\"%d\" y=\"296\" width=\"14\" height=\"14\" fill=\"#0a3069\"/>\n", left
  words(left + 22, 308, "start", "all four: finished", "")
  printf "<rect x=\"%d\" y=\"320\" width=\"13\" height=\"13\" fill=\"none\" stroke=\"#bc4c00\" stroke-width=\"2.6\"/>\n", left
  words(left + 22, 331, "start", "just received", "")
  print "</svg>"
}
