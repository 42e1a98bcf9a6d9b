# Draws executed.svg: the last step of four stages under each schedule. Called by figures.sh with, for each schedule, a line
# "case NAME" and the spans of a trace for Perfetto. Passes that follow each other without a gap are one span of the trace:
# how long most of them take says how many they are.
$1 == "case" { way = ++ways; next }
/"ph":"X"/ && field("tid") == 0 && field("name") ~ /^(forward|backward|weight gradient|optimizer)$/ {
  n = ++spans[way]
  rank[way, n] = field("pid"); named[way, n] = field("name")
  from[way, n] = field("ts") / 1000; long[way, n] = field("dur") / 1000
  if (named[way, n] == "optimizer" && from[way, n] + long[way, n] > ends[way]) {
    ends[way] = from[way, n] + long[way, n]
    last[way] = from[way, n]
  }
}
# The step before the last ends with its last optimizer span.
function start_of(way,  n, end, start) {
  start = 0
  for (n = 1; n <= spans[way]; n++) {
    end = from[way, n] + long[way, n]
    if (named[way, n] == "optimizer" && end < last[way] - 100 && end > start) start = end
  }
  return start
}
# The median of the spans of one name.
function usual(way, name, start,  n, m, i, held, sorted) {
  for (n = 1; n <= spans[way]; n++) {
    if (named[way, n] != name || from[way, n] < start - 1) continue
    held = long[way, n]
    for (i = ++m; i > 1 && sorted[i - 1] > held; i--) sorted[i] = sorted[i - 1]
    sorted[i] = held
  }
  return sorted[int((m + 1) / 2)]
}
function draw(way, top,  n, start, count, i, wide, pass, k) {
  start = start_of(way)
  for (k = 1; k <= 3; k++) pass[keys[k]] = usual(way, keys[k], start)
  words(72, top - 7, "start", said[way] sprintf(": %.0f ms", ends[way] - start), bold)
  for (n = 0; n < 4; n++) words(64, top + n * 17 + 12, "end", "stage " n)
  for (n = 1; n <= spans[way]; n++) {
    if (from[way, n] < start - 1) continue
    count = named[way, n] == "optimizer" ? 1 : int(long[way, n] / pass[named[way, n]] + 0.4)
    if (count < 1) count = 1
    wide = (x(long[way, n]) - x(0)) / count
    for (i = 0; i < count; i++) {
      rect(x(from[way, n] - start) + i * wide, top + rank[way, n] * 17, wide, 15, colour[named[way, n]], \
        " stroke=\"#ffffff\" stroke-width=\"0.7\"")
    }
  }
}
END {
  split("GPipe|1F1B|interleaved, two chunks|zero bubble (ZB-H1)", said, "|")
  split("forward|backward|weight gradient|optimizer", keys, "|"); split("F|B, or I|W|optimizer", label, "|")
  colour["forward"] = "#8ec5ff"; colour["backward"] = "#0969da"; colour["weight gradient"] = "#8250df"; colour["optimizer"] = "#6e7781"
  head(740, 456)
  x_scale(0, 72, 760, 722)
  for (t = 0; t <= 750; t += 150) down(x(t), 10, 406, black, 1, " stroke-opacity=\"0.12\"")
  x_ticks(ticks_to(0, 750, 150, " ms"), 420)
  for (way = 1; way <= ways; way++) draw(way, 26 + (way - 1) * 98)
  for (k = 1; k <= 4; k++) key(110 * k - 38, 433, 18, 15, label[k], colour[keys[k]])
  simulated(722, 447, "H100, bfloat16, 794 TFLOP/s")
  foot()
}
