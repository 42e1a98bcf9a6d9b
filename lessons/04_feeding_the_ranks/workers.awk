# Draws workers.svg: who read which batch when, and when the training used it, for each number of workers.
# Called by workers.sh with the lines of reading_ahead.cpp:
#   WORKERS read|train BATCH LANE BEGIN_MS END_MS
{
  ++events
  workers[events] = $1; what[events] = $2; batch[events] = $3; from[events] = $5; until[events] = $6
  if ($6 > end[$1]) end[$1] = $6
  if ($6 > last) last = $6
  if ($2 == "read" && !(($1, $4) in lane)) lane[$1, $4] = readers[$1]++
  row[events] = $2 == "train" ? -1 : lane[$1, $4]
}
function x(ms) { return left + ms * width / top }
function words(px, py, anchor, said) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", px, py, anchor, said
}
END {
  left = 90; width = 610; top = int(last / 100 + 1) * 100
  bar = 22
  y = 30
  for (w = 0; w <= 2; w++) {
    above[w] = y + 14
    y += 14 + (readers[w] + 1) * (bar + 3) + 26
  }
  height = y + 24
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 %d\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">\n", height
  printf "<rect width=\"740\" height=\"%d\" fill=\"#ffffff\"/>\n", height
  for (ms = 0; ms <= top; ms += 100) {
    printf "<path d=\"M%.1f 24V%d\" stroke=\"#d8dee4\"/>\n", x(ms), y
    words(x(ms), y + 16, "middle", ms " ms")
  }
  for (w = 0; w <= 2; w++) {
    words(left, above[w] - 6, "start", sprintf("%s: %.0f ms for 8 steps", w == 0 ? "no worker" : w == 1 ? "1 worker" : w " workers", end[w]))
    for (r = 0; r < readers[w]; r++) words(left - 8, above[w] + r * (bar + 3) + 16, "end", "read")
    words(left - 8, above[w] + readers[w] * (bar + 3) + 16, "end", "train")
  }
  for (e = 1; e <= events; e++) {
    w = workers[e]
    py = above[w] + (row[e] < 0 ? readers[w] : row[e]) * (bar + 3)
    printf "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\" fill=\"%s\"/>\n", x(from[e]), py, x(until[e]) - x(from[e]), bar, what[e] == "read" ? "#a8d1ff" : "#fb8f44"
    words((x(from[e]) + x(until[e])) / 2, py + 16, "middle", batch[e])
  }
  print "</svg>"
}
