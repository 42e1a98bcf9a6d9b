# Draws a mesh of tp, dp and pp with the groups of one rank: a block of squares for each stage, with a row for each place on
# tp and a column for each place on dp. A node of eight ranks has a frame. Called by figures.sh with the lines of
# `layout numbers` and the rank.
{
  tp[$1] = $2; dp[$1] = $3; pp[$1] = $4
  if ($2 >= rows) rows = $2 + 1
  if ($3 >= columns) columns = $3 + 1
  if ($4 >= stages) stages = $4 + 1
}
function left(r) { return 58 + 34 * dp[r] + pp[r] * (34 * columns + 40) }
function top(r) { return 64 + 34 * tp[r] }
function fill_of(r) {
  if (r == rank) return colour["rank"]
  if (dp[r] == dp[rank] && pp[r] == pp[rank]) return colour["tp"]
  if (tp[r] == tp[rank] && pp[r] == pp[rank]) return colour["dp"]
  if (tp[r] == tp[rank] && dp[r] == dp[rank]) return colour["pp"]
  return "#eaeef2"
}
END {
  colour["tp"] = "#8ec5ff"; colour["dp"] = "#fb8f44"; colour["pp"] = "#c297ff"; colour["rank"] = "#ffd33d"
  below = 64 + 34 * rows
  wide = 58 + stages * (34 * columns + 40)
  head(wide > 560 ? wide : 560, below + 46)
  words(20, 60 + 17 * rows, "middle", "tp", bold)
  for (r = 0; r < NR; r++) {
    rect(left(r), top(r), 30, 30, fill_of(r))
    words(left(r) + 15, top(r) + 20, "middle", r)
    if (tp[r] == 0) words(left(r) + 15, 52, "middle", dp[r], ink("#59636e"))
    if (dp[r] == 0 && pp[r] == 0) words(46, top(r) + 20, "end", tp[r], ink("#59636e"))
    if (tp[r] == 0 && dp[r] == 0) words(left(r), 20, "start", "pp " pp[r], bold)
    if (tp[r] == 0 && dp[r] == 0) words(left(r), 36, "start", "dp", bold)
    # The ranks of a node are numbered one after the other, so a frame reaches from its first rank to its last.
    if (r % 8 == 7) rect(left(r - 7) - 2, top(r - 7) - 2, left(r) - left(r - 7) + 34, top(r) - top(r - 7) + 34, "none", " stroke=\"" black "\"")
  }
  key(20, below + 18, 18, 14, "rank " rank, colour["rank"])
  key(120, below + 18, 18, 14, "its tp group", colour["tp"])
  key(235, below + 18, 18, 14, "its dp group", colour["dp"])
  key(350, below + 18, 18, 14, "its pp group", colour["pp"])
  rect(465, below + 18, 18, 14, "none", " stroke=\"" black "\"")
  words(489, below + 30, "start", "a node")
  foot()
}
