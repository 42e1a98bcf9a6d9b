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
function x(ms) { return 60 + ms * 660 / 1400 }
function y(gb) { return 240 - gb * 220 / 70 }
function words(px, py, anchor, said, more) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, more, said
}
function line(way, pid, colour, more,  n, ms, begun) {
  printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\"%s d=\"", colour, more
  for (n = 1; n <= samples[way, pid]; n++) {
    ms = at[way, pid, n] - before[way]
    if (ms < 0 || at[way, pid, n] > ends[way]) continue
    if (begun) printf "H%.1fV%.1f", x(ms), y(bytes[way, pid, n] / 1e9)
    else printf "M%.1f %.1f", x(ms), y(bytes[way, pid, n] / 1e9)
    begun = 1
  }
  print "\"/>"
}
END {
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 300\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"300\" fill=\"#ffffff\"/>"
  for (t = 0; t <= 70; t += 10) {
    printf "<path d=\"M56 %.1fH728\" stroke=\"#d8dee4\"/>\n", y(t)
    words(50, y(t) + 4, "end", t (t == 70 ? " GB" : ""), "")
  }
  for (t = 0; t <= 1400; t += 200) words(x(t), 258, t == 1400 ? "end" : "middle", t (t == 1400 ? " ms" : ""), "")
  line(1, 3, "#bc4c00", " stroke-dasharray=\"4 3\"")
  line(1, 0, "#bc4c00", "")
  line(2, 3, "#0969da", " stroke-dasharray=\"4 3\"")
  line(2, 0, "#0969da", "")
  split("#bc4c00 #bc4c00 #0969da #0969da", colours, " ")
  split("GPipe, stage 0|GPipe, stage 3|1F1B, stage 0|1F1B, stage 3", names, "|")
  for (k = 1; k <= 4; k++) {
    printf "<path d=\"M%d 280h26\" stroke=\"%s\" stroke-width=\"2\"%s/>\n", 60 + (k - 1) * 165, colours[k], \
      k % 2 ? "" : " stroke-dasharray=\"4 3\""
    words(92 + (k - 1) * 165, 285, "start", names[k], "")
  }
  print "</svg>"
}
