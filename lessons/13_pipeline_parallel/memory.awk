# Draws memory.svg: the memory of the first and the last stage during the last step, under GPipe and 1F1B. Called by
# figures.sh with, for each schedule, a line "case NAME" and the events of a trace for Perfetto.
$1 == "case" { way = ++ways; next }
/"ph":"X"/ && field("name") == "optimizer" && field("pid") == 0 && field("tid") == 0 {
  over = (field("ts") + field("dur")) / 1000
  if (over > ends[way] + 200) before[way] = ends[way]  # a step's optimizer has several spans
  ends[way] = over
}
/"ph":"C"/ && /"memory"/ && (field("pid") == 0 || field("pid") == 3) {
  match($0, /"args":\{"[a-z]*":/)
  n = ++samples[way, field("pid")]
  at[way, field("pid"), n] = field("ts") / 1000
  bytes[way, field("pid"), n] = substr($0, RSTART + RLENGTH) + 0
}
function stairs(way, pid, colour, more,  n, ms, d) {
  for (n = 1; n <= samples[way, pid]; n++) {
    ms = at[way, pid, n] - before[way]
    if (ms < 0 || at[way, pid, n] > ends[way]) continue
    d = d (d == "" ? "M" : "H") short(x(ms), 1) (d == "" ? " " : "V") short(y(bytes[way, pid, n] / 1e9), 1)
  }
  path(d, colour, 1.6, more)
}
END {
  head(740, 300)
  x_scale(0, 60, 1400, 720); y_scale(0, 240, 70, 20)
  y_ticks(ticks_to(0, 70, 10, " GB"), 56, 728)
  x_ticks(ticks_to(0, 1200, 200), 258)
  words(x(1400), 258, "end", "1400 ms")
  split("GPipe, stage 0|GPipe, stage 3|1F1B, stage 0|1F1B, stage 3", names, "|")
  split("2 1 4 3", order, " ")
  for (i = 1; i <= 4; i++) {
    k = order[i]
    colour = k > 2 ? "#0969da" : "#bc4c00"
    more = k % 2 ? "" : dashed(4, 3)
    stairs(k > 2 ? 2 : 1, k % 2 ? 0 : 3, colour, more)
    sample(165 * k - 105, 280, 26, names[k], colour, 2, more)
  }
  simulated(722, 14, "H100, bfloat16, 794 TFLOP/s")
  foot()
}
