# Draws the last step of rank 0 in several runs, computation above and collectives below. Called by a lesson's figures.sh
# with, for each run, a line "case TITLE" and the lines of rank 0 in a trace for Perfetto.
#   with    what is told of the simulation
#   tick    milliseconds between lines
#   digits  of a step's milliseconds
#   kinds   names of the spans that are drawn, in the order of the key; others are left out
BEGIN {
  count = split(kinds, keys, " ")
  for (k = 1; k <= count; k++) drawn[keys[k]] = 1
}
$1 == "case" { way = ++ways; said[way] = substr($0, 6); next }
/"ph":"X"/ && (field("tid") == 0 || int(field("tid") / 1000) == 1) {
  name = field("name")
  if (!drawn[name]) next
  n = ++spans[way]
  lane[way, n] = field("tid") == 0 ? 0 : 1
  named[way, n] = name; from[way, n] = field("ts") / 1000; long[way, n] = field("dur") / 1000
  if (name == "forward") begun[way] = 1
  if (name == "optimizer") {  # a step may have several such spans
    if (begun[way]) before[way] = ends[way]
    begun[way] = 0
    ends[way] = from[way, n] + long[way, n]
  }
}
function bar(from, to, top, colour) { rect(x(from), top, x(to) - x(from), 18, colour, " stroke=\"#ffffff\" stroke-width=\"0.6\"") }
END {
  colour["forward"] = "#8ec5ff"; colour["backward"] = "#0969da"; colour["optimizer"] = "#8250df"
  colour["all_reduce"] = "#cf222e"; colour["all_gather"] = "#bc4c00"; colour["reduce_scatter"] = "#f2b27a"
  for (way = 1; way <= ways; way++) if (ends[way] - before[way] > longest) longest = ends[way] - before[way]
  last = int(longest / tick + 1) * tick
  head(740, 56 + ways * 78)
  x_scale(0, 20, last, 700)
  for (way = 1; way <= ways; way++) {
    top = 26 + (way - 1) * 78
    words(20, top - 8, "start", said[way] sprintf(": %." digits "f ms", ends[way] - before[way]), bold)
    for (n = 1; n <= spans[way]; n++) {
      at = from[way, n] - before[way]
      if (at < -0.001 || at >= ends[way] - before[way]) continue
      bar(at, at + long[way, n], top + 20 * lane[way, n], colour[named[way, n]])
    }
  }
  bottom = 18 + ways * 78
  for (t = 0; t <= last; t += tick) down(x(t), 20, bottom, black, 1, " stroke-opacity=\"0.12\"")
  x_ticks(ticks_to(0, last, tick, " ms"), bottom + 14)
  for (k = 1; k <= count; k++) {
    shown = keys[k]
    gsub("_", "-", shown)
    key(20 + int(690 / count) * (k - 1), bottom + 20, 18, 14, shown, colour[keys[k]])
  }
  simulated(720, 14, with)
  foot()
}
