# Draws cycles.svg: the last step of rank 0 in three runs. Above, what it computes; below, a bar for each all-reduce, as
# wide as it takes and as high as it has bytes, and a mark for each round of negotiation. Called by figures.sh with, for
# each run, a line "case FULL_SCALE_MS NAME" and the lines of rank 0 in a trace for Perfetto.
$1 == "case" { run = ++runs; scale[run] = $2; $1 = $2 = ""; sub(/^ +/, ""); title[run] = $0; next }
/"ph":"X"/ && (field("tid") == 1000 || (field("tid") == 0 && field("strand") == 0)) {
  n = ++spans[run]
  named[run, n] = field("name"); from[run, n] = field("ts") / 1000; long[run, n] = field("dur") / 1000
  megabytes[run, n] = field("tid") == 1000 ? field("bytes") / 1e6 : 0
  if (named[run, n] == "forward") last_forward[run] = from[run, n]
  if (named[run, n] == "optimizer") ends[run] = from[run, n] + long[run, n]
}
function x(ms) { return 20 + ms * 700 / scale[run] }
function words(px, py, anchor, said, more) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, more, said
}
function bar(left, width, top, height, colour) {
  printf "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" stroke=\"#ffffff\" stroke-width=\"0.6\"/>\n", \
    left, top, width, height, colour
}
END {
  colour["forward"] = "#8ec5ff"; colour["backward"] = "#0969da"; colour["optimizer"] = "#8250df"
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 426\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"426\" fill=\"#ffffff\"/>"
  for (run = 1; run <= runs; run++) {
    top = 26 + (run - 1) * 126
    words(20, top - 8, "start", title[run] sprintf(": %.1f ms", ends[run] - last_forward[run]), " font-weight=\"bold\"")
    for (n = 1; n <= spans[run]; n++) {
      at = from[run, n] - last_forward[run]
      if (at < -0.001 || at >= ends[run] - last_forward[run]) continue
      if (named[run, n] in colour) bar(x(at), x(long[run, n]) - x(0), top, 16, colour[named[run, n]])
      if (named[run, n] == "all_reduce" && megabytes[run, n] > 0.001) {
        height = 1.5 + megabytes[run, n]
        bar(x(at), x(long[run, n]) - x(0), top + 78 - height, height, "#bc4c00")
      }
      if (named[run, n] == "gather") bar(x(at) - 1, 2.5, top + 80, 6, "#1a7f37")
    }
    printf "<path d=\"M20 %.1fH720\" stroke=\"#d8dee4\"/>\n", top + 78
    for (t = 0; t <= scale[run]; t += scale[run] / 5) {
      words(x(t), top + 100, "middle", t (t == scale[run] ? " ms" : ""), " font-size=\"11\" fill=\"#59636e\"")
    }
  }
  left = 20
  split("forward backward optimizer", keys, " ")
  for (k = 1; k <= 3; k++) { bar(left, 18, 404, 14, colour[keys[k]]); words(left + 24, 416, "start", keys[k], ""); left += 105 }
  bar(left, 18, 404, 14, "#bc4c00"); words(left + 24, 416, "start", "all-reduce, as high as its bytes", ""); left += 225
  bar(left + 8, 2.5, 408, 6, "#1a7f37"); words(left + 24, 416, "start", "negotiation", "")
  print "</svg>"
}
