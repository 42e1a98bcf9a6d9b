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
function bar(from, to, top, colour) { rect(x(from), top, x(to) - x(from), 18, colour, " stroke=\"#ffffff\" stroke-width=\"0.6\"") }
END {
  colour["waiting"] = "#d0d7de"; colour["forward"] = "#8ec5ff"; colour["backward"] = "#0969da"
  colour["optimizer"] = "#8250df"; colour["all-reduce"] = "#bc4c00"
  head(740, 300)
  x_scale(0, 20, 165, 720)
  for (way = 1; way <= ways; way++) {
    top = 26 + (way - 1) * 78
    begin = last_forward[way]
    words(20, top - 8, "start", said[way] sprintf(": %.1f ms", ends[way] - begin), bold)
    bar(waits_from[way] - begin, waits_to[way] - begin, top, colour["waiting"])
    for (n = 1; n <= spans[way]; n++) {
      at = from[way, n] - begin
      if (at < -0.001 || at >= ends[way] - begin) continue
      if (lane[way, n] == "compute") bar(at, at + long[way, n], top, colour[named[way, n]])
      else bar(at, at + long[way, n], top + 20, colour["all-reduce"])
    }
  }
  for (t = 0; t <= 160; t += 20) down(x(t), 20, 252, black, 1, " stroke-opacity=\"0.12\"")
  x_ticks(ticks_to(0, 160, 20, " ms"), 268)
  split("forward backward optimizer waiting all-reduce", keys, " ")
  for (k = 1; k <= 5; k++) key(110 * k - 90, 276, 18, 18, keys[k], colour[keys[k]])
  simulated(720, 14, "A100, float32, 15.8 TFLOP/s")
  foot()
}
