# Draws nodes.svg: four all-reduces and the library's on 8 nodes of 8 H100 over the size of the data, and what leaves a
# node; the library's bytes are not counted. Called by figures.sh with lines
#   NAME BYTES TIME UNIT LEFT     LEFT: bytes that left a node, of all nodes together
{
  point($1, $2, $3 * ($4 == "s" ? 1 : $4 == "ms" ? 1e-3 : 1e-6))
  share[$1] = $5 / 8 / $2
}
END {
  split("ring tree halving-doubling hierarchical", said, " ")
  said[5] = "NCCL's ring, as its own model prices it"
  split("#0969da #bc4c00 #1a7f37 #8250df #57606a", colour, " ")
  head(740, 304)
  words(66, 22, "start", "time on 8 nodes of 8 H100", bold)
  x_scale(1e3, 66, 10 ^ 9.1, 376, "log"); y_scale(1e-4, 252, 10 ^ -0.6, 56, "log")
  y_ticks("1e-4=100 µs|1e-3=1 ms|0.01=10 ms|0.1=100 ms", 66, 380)
  x_ticks("1e3=1 kB|1e5=100 kB|1e7=10 MB|1e9=1 GB", 272)
  words(220, 294, "middle", "bytes of each rank")
  words(452, 22, "start", "bytes that leave a node, over the data", bold)
  for (s = 1; s <= 5; s++) {
    line(series[s], colour[s], 2.2, s == 5 ? dashed(5, 4) : "")
    top = 14 + 46 * s
    words(452, top + 4, "start", said[s])
    if (s == 5) { across(452, 492, top + 14, colour[s], 2.2, dashed(5, 4)); continue }
    rect(452, top + 10, share[series[s]] * 15, 18, colour[s])
    words(458 + share[series[s]] * 15, top + 24, "start", sprintf("%.2f", share[series[s]]))
  }
  foot()
}
