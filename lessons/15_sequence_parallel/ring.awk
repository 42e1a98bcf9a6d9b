# Draws ring.svg: what each rank of a ring does in the forward attention of one layer: computing, and below it the messages
# that it receives. Called by figures.sh with, for each split, a line "case TITLE" and the lines of `rings spans`.
$1 == "case" { way = ++ways; said[way] = substr($0, 6); next }
$2 == "compute" || $2 == "message" {
  n = ++spans[way]
  rank[way, n] = $1; lane[way, n] = $2; from[way, n] = $3 / 1000; to[way, n] = $4 / 1000
  if (to[way, n] > longest) longest = to[way, n]
  if (to[way, n] > ends[way]) ends[way] = to[way, n]
  if ($1 >= ranks) ranks = $1 + 1
}
END {
  tick = 10
  last = int(longest / tick + 1) * tick
  high = 34 + 20 * ranks
  head(740, 50 + ways * high)
  x_scale(0, 66, last, 720)
  for (way = 1; way <= ways; way++) {
    top = 30 + (way - 1) * high
    words(66, top - 10, "start", said[way] sprintf(": %.0f ms", ends[way]), bold)
    for (r = 0; r < ranks; r++) words(60, top + 20 * r + 11, "end", "rank " r, " font-size=\"11\"")
    for (n = 1; n <= spans[way]; n++) {
      py = top + 20 * rank[way, n]
      if (lane[way, n] == "compute") rect(x(from[way, n]), py, x(to[way, n]) - x(from[way, n]), 11, "#0969da", " stroke=\"#ffffff\" stroke-width=\"0.6\"")
      else rect(x(from[way, n]), py + 12, x(to[way, n]) - x(from[way, n]), 4, "#cf222e")
    }
  }
  bottom = 18 + ways * high
  for (t = 0; t <= last; t += tick) down(x(t), 24, bottom, black, 1, " stroke-opacity=\"0.12\"")
  x_ticks(ticks_to(0, last, tick, " ms"), bottom + 12)
  key(66, bottom + 16, 18, 14, "computes", "#0969da")
  key(170, bottom + 16, 18, 14, "a block arrives", "#cf222e")
  simulated(720, bottom + 28, with)
  foot()
}
