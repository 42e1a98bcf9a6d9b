# Draws setting_up.svg: what each of four ranks does until it is set up, for each of three runs. Called by setting_up.sh
# with the lines of setting_up.cpp (in tenths of a millisecond), each run after a line
#   case NUMBER WORDS
$1 == "case" { ++runs; title[runs] = substr($0, index($0, $3)); next }
{
  ++events
  run[events] = runs; rank[events] = $2; does[events] = $3
  from[events] = $4 / 10; until[events] = $5 / 10
  if (!(runs in begin) || from[events] < begin[runs]) begin[runs] = from[events]
  came[runs, $2] = 1
}
function row(r, k) { return 72 + (r - 1) * 132 + k * 23 }
END {
  for (e = 1; e <= events; e++) if (until[e] - begin[run[e]] > last) last = until[e] - begin[run[e]]
  top = (int(last / 250) + 1) * 250
  x_scale(0, 70, top, 710)
  split("away store agree group", order, " ")
  colour["away"] = grid; colour["store"] = "#fb8f44"; colour["agree"] = colour["gives_up"] = "#a8d1ff"
  colour["group"] = "#0a3069"
  said["away"] = "not started"; said["store"] = "looks for the store"
  said["agree"] = "waits for the other ranks' answers"; said["group"] = "joins the group"
  bottom = 40 + runs * 132
  head(740, bottom + 36)
  left = 70
  for (i = 1; i <= 4; i++) {
    key(left, 12, 14, 14, said[order[i]], colour[order[i]])
    left += 34 + 6.8 * length(said[order[i]])
  }
  for (ms = 0; ms <= top; ms += 250) { down(x(ms), 40, bottom, grid); words(x(ms), bottom + 16, "middle", ms " ms") }
  for (r = 1; r <= runs; r++) {
    rect(68, row(r, 0) - 28, 644, 22, "#ffffff")
    words(70, row(r, 0) - 12, "start", title[r])
    for (k = 0; k < 4; k++) {
      words(62, row(r, k) + 14, "end", "rank " k)
      if (!((r, k) in came)) words(74, row(r, k) + 14, "start", "(never starts)")
    }
  }
  for (e = 1; e <= events; e++) {
    py = row(run[e], rank[e])
    at = x(from[e] - begin[run[e]]); end = x(until[e] - begin[run[e]])
    if (does[e] == "ready") {
      down(end + 2, py - 1, py + 19, "#1a7f37", 3)
      words(end + 8, py + 14, "start", "ready")
      continue
    }
    rect(at, py, end - at < 1 ? 1 : end - at, 18, colour[does[e]])
    if (does[e] == "gives_up") words(end - 6, py + 14, "end", "names rank 2 and gives up")
  }
  foot()
}
