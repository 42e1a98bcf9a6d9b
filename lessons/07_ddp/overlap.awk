# Draws overlap.svg and straggler.svg: the last step of a rank in three runs, computation above and communication below.
# Called by figures.sh with, for each run, a line "case TITLE" and the lines of one rank in a trace for Perfetto.
$1 == "case" { way = ++ways; said[way] = substr($0, 6); next }
/"ph":"X"/ && (field("tid") == 0 || field("tid") == 1000) {
  n = ++spans[way]
  lane[way, n] = field("tid") == 0 ? "compute" : "send"
  named[way, n] = field("name"); from[way, n] = field("ts") / 1000; long[way, n] = field("dur") / 1000
  if (named[way, n] == "forward") { last_forward[way] = from[way, n]; computes = 1 }
  if (named[way, n] == "backward" && computes) { waits_from[way] = from[way, n] + long[way, n]; computes = 0 }
  if (named[way, n] == "optimizer") { waits_to[way] = from[way, n]; ends[way] = from[way, n] + long[way, n] }
}
function x(ms) { return 20 + ms * 700 / 165 }
function words(px, py, anchor, said, more) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, more, said
}
function bar(left, right, top, colour) {
  printf "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"18\" fill=\"%s\" stroke=\"#ffffff\" stroke-width=\"0.6\"/>\n", \
    left, top, right - left, colour
}
END {
  grey = "#d0d7de"; colour["forward"] = "#8ec5ff"; colour["backward"] = "#0969da"; colour["optimizer"] = "#8250df"
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 300\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"300\" fill=\"#ffffff\"/>"
  for (way = 1; way <= ways; way++) {
    top = 26 + (way - 1) * 78
    words(20, top - 8, "start", said[way] sprintf(": %.1f ms", ends[way] - last_forward[way]), " font-weight=\"bold\"")
    bar(x(waits_from[way] - last_forward[way]), x(waits_to[way] - last_forward[way]), top, grey)
    for (n = 1; n <= spans[way]; n++) {
      at = from[way, n] - last_forward[way]
      if (at < -0.001 || at >= ends[way] - last_forward[way]) continue
      if (lane[way, n] == "compute") bar(x(at), x(at + long[way, n]), top, colour[named[way, n]])
      else bar(x(at), x(at + long[way, n]), top + 20, "#bc4c00")
    }
  }
  for (t = 0; t <= 160; t += 20) {
    printf "<path d=\"M%.1f 20V252\" stroke=\"#1f2328\" stroke-opacity=\"0.12\"/>\n", x(t)
    words(x(t), 268, "middle", t (t == 160 ? " ms" : ""), "")
  }
  left = 20
  split("forward backward optimizer", keys, " ")
  for (k = 1; k <= 3; k++) { bar(left, left + 18, 276, colour[keys[k]]); words(left + 24, 290, "start", keys[k], ""); left += 110 }
  bar(left, left + 18, 276, grey); words(left + 24, 290, "start", "waiting", ""); left += 110
  bar(left, left + 18, 276, "#bc4c00"); words(left + 24, 290, "start", "all-reduce", "")
  print "</svg>"
}
