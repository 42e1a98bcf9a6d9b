# Draws memory.svg: the memory of rank 0 during the last step, by what is sharded. Called by figures.sh with, for each run,
# a line "case NAME" and the events of rank 0 in a trace for Perfetto.
$1 == "case" { way = ++ways; said[way] = substr($0, 6); next }
/"ph":"X"/ && field("name") == "optimizer" && field("tid") == 0 {
  if (field("ts") / 1000 > ends[way] + 20) before[way] = ends[way]  # a step's optimizer has several spans
  ends[way] = (field("ts") + field("dur")) / 1000
}
/"ph":"C"/ && /"memory"/ {
  match($0, /"args":\{"[a-z]*":/)
  n = ++samples[way]
  at[way, n] = field("ts") / 1000
  bytes[way, n] = substr($0, RSTART + RLENGTH) + 0
}
function stairs(way, colour, more,  n, ms, d, level) {
  for (n = 1; n <= samples[way]; n++) {
    ms = at[way, n] - before[way]
    if (at[way, n] > ends[way]) break
    level = short(y(bytes[way, n] / 1e9), 1)
    d = ms < 0 ? "M" short(x(0), 1) " " level : d "H" short(x(ms), 1) "V" level
  }
  path(d "H" short(x(ends[way] - before[way]), 1), colour, 1.6, more)
}
END {
  for (way = 1; way <= ways; way++) {
    if (ends[way] - before[way] > longest) longest = ends[way] - before[way]
    for (n = 1; n <= samples[way]; n++) if (bytes[way, n] / 1e9 > most) most = bytes[way, n] / 1e9
  }
  right = int(longest / 100 + 1) * 100; top = int(most / 10 + 1) * 10
  split("#bc4c00|#8250df|#0969da|#0969da", colours, "|")
  head(740, 320)
  x_scale(0, 60, right, 690); y_scale(0, 250, top, 20)
  y_ticks(ticks_to(0, top, 10, " GB"), 56, 728)
  x_ticks(ticks_to(0, right, 100, " ms"), 268)
  for (way = 1; way <= ways; way++) {
    more = way == 4 ? dashed(4, 3) : ""
    stairs(way, colours[way], more)
    sample(60 + 122 * (way - 1), 296, 22, said[way], colours[way], 2, more)
  }
  simulated(722, 14, "H100, bfloat16, 794 TFLOP/s")
  foot()
}
