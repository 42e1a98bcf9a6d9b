# Draws workers.svg: who read which batch when, and when the training used it, for each number of workers. Called by
# workers.sh with the lines of reading_ahead.cpp:
#   WORKERS read|train BATCH LANE BEGIN_MS END_MS
{
  ++events
  workers[events] = $1; what[events] = $2; batch[events] = $3; from[events] = $5; until[events] = $6
  if ($6 > end[$1]) end[$1] = $6
  if ($6 > last) last = $6
  if ($2 == "read" && !(($1, $4) in lane)) lane[$1, $4] = readers[$1]++
  row[events] = $2 == "train" ? -1 : lane[$1, $4]
}
END {
  top = int(last / 100 + 1) * 100
  x_scale(0, 90, top, 700)
  bottom = 30
  for (w = 0; w <= 2; w++) {
    above[w] = bottom + 14
    bottom += 40 + (readers[w] + 1) * 25
  }
  head(740, bottom + 24)
  for (ms = 0; ms <= top; ms += 100) { down(x(ms), 24, bottom, grid); words(x(ms), bottom + 16, "middle", ms " ms") }
  for (w = 0; w <= 2; w++) {
    words(90, above[w] - 6, "start", sprintf("%s: %.0f ms for 8 steps", w == 0 ? "no worker" : w == 1 ? "1 worker" : w " workers", end[w]))
    for (r = 0; r < readers[w]; r++) words(82, above[w] + r * 25 + 16, "end", "read")
    words(82, above[w] + readers[w] * 25 + 16, "end", "train")
  }
  for (e = 1; e <= events; e++) {
    py = above[workers[e]] + (row[e] < 0 ? readers[workers[e]] : row[e]) * 25
    rect(x(from[e]), py, x(until[e]) - x(from[e]), 22, what[e] == "read" ? "#a8d1ff" : "#fb8f44", " rx=\"2\"")
    words((x(from[e]) + x(until[e])) / 2, py + 16, "middle", batch[e])
  }
  foot()
}
