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
function x(ms) { return 72 + ms * 650 / 760 }
function words(px, py, anchor, said, more) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, more, said
}
function bar(left, right, top, colour) {
  printf "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"15\" fill=\"%s\" stroke=\"#ffffff\" stroke-width=\"0.7\"/>\n", \
    left, top, right - left, colour
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
function draw(way, top,  n, start, count, i, width, pass) {
  start = start_of(way)
  pass["forward"] = usual(way, "forward", start); pass["backward"] = usual(way, "backward", start)
  pass["weight gradient"] = usual(way, "weight gradient", start)
  words(72, top - 7, "start", said[way] sprintf(": %.0f ms", ends[way] - start), " font-weight=\"bold\"")
  for (n = 0; n < 4; n++) words(64, top + n * 17 + 12, "end", "stage " n, "")
  for (n = 1; n <= spans[way]; n++) {
    if (from[way, n] < start - 1) continue
    count = named[way, n] == "optimizer" ? 1 : int(long[way, n] / pass[named[way, n]] + 0.4)
    if (count < 1) count = 1
    width = long[way, n] / count
    for (i = 0; i < count; i++) {
      bar(x(from[way, n] - start + i * width), x(from[way, n] - start + (i + 1) * width), top + rank[way, n] * 17, \
        colour[named[way, n]])
    }
  }
}
END {
  said[1] = "GPipe"; said[2] = "1F1B"; said[3] = "interleaved, two chunks"; said[4] = "zero bubble (ZB-H1)"
  colour["forward"] = "#8ec5ff"; colour["backward"] = "#0969da"; colour["weight gradient"] = "#8250df"; colour["optimizer"] = "#6e7781"
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 456\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"456\" fill=\"#ffffff\"/>"
  for (t = 0; t <= 750; t += 150) {
    printf "<path d=\"M%.1f 10V406\" stroke=\"#1f2328\" stroke-opacity=\"0.12\"/>\n", x(t)
    words(x(t), 420, "middle", t (t == 750 ? " ms" : ""), "")
  }
  for (way = 1; way <= ways; way++) draw(way, 26 + (way - 1) * 98)
  left = 72
  keys[1] = "forward"; keys[2] = "backward"; keys[3] = "weight gradient"; keys[4] = "optimizer"
  label["forward"] = "F"; label["backward"] = "B, or I"; label["weight gradient"] = "W"; label["optimizer"] = "optimizer"
  for (k = 1; k <= 4; k++) { bar(left, left + 18, 433, colour[keys[k]]); words(left + 24, 445, "start", label[keys[k]], ""); left += 110 }
  print "</svg>"
}
