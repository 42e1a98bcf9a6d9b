# Draws ring.svg: the first forward pass on each rank of a ring: computing, and below it the blocks of keys and values that
# arrive. Called by figures.sh with, for each split, a line "case TITLE" and the spans of all ranks in a trace for Perfetto.
$1 == "case" { way = ++ways; said[way] = substr($0, 6); next }
field("name") == "backward" && !((way, field("pid")) in over) { over[way, field("pid")] = field("ts") + 0 }
((way, field("pid")) in over) && field("ts") + 0 >= over[way, field("pid")] { next }
field("name") == "forward" || field("name") ~ /^from rank/ && field("where") ~ /ring_attention/ {
  n = ++spans[way]
  rank[way, n] = field("pid"); arrives[way, n] = field("name") != "forward"
  from[way, n] = field("ts") / 1000; to[way, n] = from[way, n] + field("dur") / 1000
  if (n == 1 || from[way, n] < start[way]) start[way] = from[way, n]
  if (to[way, n] > ends[way]) ends[way] = to[way, n]
  if (rank[way, n] >= ranks) ranks = rank[way, n] + 1
}
END {
  for (way = 1; way <= ways; way++) if (ends[way] - start[way] > longest) longest = ends[way] - start[way]
  tick = 20
  last = int(longest / tick + 1) * tick
  high = 34 + 20 * ranks
  head(740, 52 + ways * high)
  x_scale(0, 66, last, 700)
  for (way = 1; way <= ways; way++) {
    top = 30 + (way - 1) * high
    words(66, top - 10, "start", said[way] sprintf(": %.0f ms", ends[way] - start[way]), bold)
    for (r = 0; r < ranks; r++) words(60, top + 20 * r + 11, "end", "rank " r, " font-size=\"11\"")
    for (n = 1; n <= spans[way]; n++) {
      px = x(from[way, n] - start[way]); py = top + 20 * rank[way, n]
      wide = x(to[way, n] - start[way]) - px
      if (!arrives[way, n]) rect(px, py, wide, 11, "#0969da", " stroke=\"#ffffff\" stroke-width=\"0.6\"")
      else rect(px, py + 12, wide, 4, "#cf222e")
    }
  }
  bottom = 18 + ways * high
  for (t = 0; t <= last; t += tick) down(x(t), 24, bottom, black, 1, " stroke-opacity=\"0.12\"")
  x_ticks(ticks_to(0, last, tick, " ms"), bottom + 12)
  key(66, bottom + 17, 18, 14, "computes", "#0969da")
  key(170, bottom + 17, 18, 14, "a block arrives", "#cf222e")
  simulated(720, bottom + 29, with)
  foot()
}
