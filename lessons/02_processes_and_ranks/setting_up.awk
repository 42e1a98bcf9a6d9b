# Draws setting_up.svg: what each of four ranks does until it is set up, for each of three runs. Called by
# setting_up.sh with the lines of setting_up.cpp (in tenths of a millisecond), each run after a line
#   case NUMBER WORDS
$1 == "case" { ++runs; title[runs] = substr($0, index($0, $3)); next }
{
  ++events
  run[events] = runs; rank[events] = $2; step[events] = $3
  from[events] = $4 / 10; until[events] = $5 / 10
  if (!(runs in begin) || from[events] < begin[runs]) begin[runs] = from[events]
  came[runs, $2] = 1
}
function x(ms) { return left + ms * width / top }
function words(px, py, anchor, said) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", px, py, anchor, said
}
END {
  left = 70; width = 640; bar = 18; panel = 132
  for (e = 1; e <= events; e++) {
    ms = until[e] - begin[run[e]]
    if (ms > last) last = ms
  }
  top = (int(last / 250) + 1) * 250
  split("away store agree group gives_up", order, " ")
  colour["away"] = "#d8dee4"; colour["store"] = "#fb8f44"; colour["agree"] = "#a8d1ff"
  colour["group"] = "#0a3069"; colour["gives_up"] = "#a8d1ff"
  said["away"] = "not started"; said["store"] = "looks for the store"
  said["agree"] = "waits for the other ranks' answers"; said["group"] = "joins the group"
  bottom = 40 + runs * panel
  height = bottom + 36
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 %d\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">\n", height
  printf "<rect width=\"740\" height=\"%d\" fill=\"#ffffff\"/>\n", height
  px = left
  for (i = 1; i <= 4; i++) {
    printf "<rect x=\"%.1f\" y=\"12\" width=\"14\" height=\"14\" rx=\"2\" fill=\"%s\"/>\n", px, colour[order[i]]
    words(px + 20, 24, "start", said[order[i]])
    px += 34 + 6.8 * length(said[order[i]])
  }
  for (ms = 0; ms <= top; ms += 250) {
    printf "<path d=\"M%.1f 40V%d\" stroke=\"#d8dee4\"/>\n", x(ms), bottom
    words(x(ms), bottom + 16, "middle", ms " ms")
  }
  for (r = 1; r <= runs; r++) {
    y = 44 + (r - 1) * panel
    printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"22\" fill=\"#ffffff\"/>\n", left - 2, y, width + 4
    words(left, y + 16, "start", title[r])
    for (k = 0; k < 4; k++) {
      words(left - 8, y + 28 + k * (bar + 5) + 14, "end", "rank " k)
      if (!((r, k) in came)) words(left + 4, y + 28 + k * (bar + 5) + 14, "start", "(never starts)")
    }
  }
  for (e = 1; e <= events; e++) {
    y = 44 + (run[e] - 1) * panel + 28 + rank[e] * (bar + 5)
    at = from[e] - begin[run[e]]
    end = until[e] - begin[run[e]]
    if (step[e] == "ready") {
      printf "<path d=\"M%.1f %dv%d\" stroke=\"#1a7f37\" stroke-width=\"3\"/>\n", x(end) + 2, y - 1, bar + 2
      words(x(end) + 8, y + 14, "start", "ready")
      continue
    }
    long = x(end) - x(at)
    if (long < 1) long = 1
    printf "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", x(at), y, long, bar, colour[step[e]]
    if (step[e] == "gives_up") words(x(end) - 6, y + 14, "end", "names rank 2 and gives up")
  }
  print "</svg>"
}
