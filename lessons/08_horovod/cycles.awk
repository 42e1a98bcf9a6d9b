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
function bar(left, width, top, height, colour) { rect(left, top, width, height, colour, " stroke=\"#ffffff\" stroke-width=\"0.6\"") }
END {
  colour["forward"] = "#8ec5ff"; colour["backward"] = "#0969da"; colour["optimizer"] = "#8250df"
  head(740, 426)
  for (run = 1; run <= runs; run++) {
    top = 26 + (run - 1) * 126
    x_scale(0, 20, scale[run], 720)
    words(20, top - 8, "start", title[run] sprintf(": %.1f ms", ends[run] - last_forward[run]), bold)
    for (n = 1; n <= spans[run]; n++) {
      at = from[run, n] - last_forward[run]
      if (at < -0.001 || at >= ends[run] - last_forward[run]) continue
      wide = x(long[run, n]) - x(0)
      if (named[run, n] in colour) bar(x(at), wide, top, 16, colour[named[run, n]])
      if (named[run, n] == "all_reduce" && megabytes[run, n] > 0.001) {
        height = 1.5 + megabytes[run, n]
        bar(x(at), wide, top + 78 - height, height, "#bc4c00")
      }
      if (named[run, n] == "gather") bar(x(at) - 1, 2.5, top + 80, 6, "#1a7f37")
    }
    across(20, 720, top + 78, grid)
    for (t = 0; t <= scale[run]; t += scale[run] / 5) {
      words(x(t), top + 100, "middle", t (t == scale[run] ? " ms" : ""), " font-size=\"11\"" ink("#59636e"))
    }
  }
  split("forward backward optimizer", keys, " ")
  for (k = 1; k <= 3; k++) key(105 * k - 85, 404, 18, 14, keys[k], colour[keys[k]])
  key(335, 404, 18, 14, "all-reduce, as high as its bytes", "#bc4c00")
  rect(568, 408, 2.5, 6, "#1a7f37")
  words(584, 416, "start", "negotiation")
  simulated(720, 14, "float32, A100 at 15.8 and H100 at 53.8 TFLOP/s")
  foot()
}
