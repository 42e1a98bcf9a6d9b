# Draws trees.svg: three broadcasts on the same ranks, message by message. Called by figures.sh with the lines of
# `what-moves messages`, each run after a line
#   case WORDS
$1 == "case" { ++runs; title[runs] = substr($0, 6); next }
$1 == "message" {
  ++messages
  run[messages] = runs; src[messages] = $2; dst[messages] = $3; sent[messages] = $5; arrived[messages] = $6
  if ($3 > last_rank) last_rank = $3
}
$1 == "all" {
  time[runs] = $2; depth[runs] = $3; fan[runs] = $4
  if ($2 > longest) longest = $2
}
function row(r, rank) { return 56 + (r - 1) * panel + rank * 19 }
END {
  panel = (last_rank + 1) * 19 + 42
  top = (int(longest / 20) + 1) * 20
  x_scale(0, 62, top, 712)
  bottom = 34 + runs * panel
  head(740, bottom + 26)
  for (us = 0; us <= top; us += 20) { down(x(us), 30, bottom, grid); words(x(us), bottom + 16, "middle", us " µs") }
  for (r = 1; r <= runs; r++) {
    rect(60, row(r, 0) - 36, 654, 20, "#ffffff")
    words(62, row(r, 0) - 21, "start", sprintf("<tspan font-weight=\"bold\">%s</tspan>: %d µs, depth %d, fan %d", title[r], time[r], depth[r], fan[r]))
    for (rank = 0; rank <= last_rank; rank++) {
      words(54, row(r, rank) + 4, "end", "rank " rank)
      from = rank == 0 ? 0 : time[r]
      for (m = 1; m <= messages; m++) if (run[m] == r && dst[m] == rank) from = arrived[m]
      across(62, x(from), row(r, rank), grid, 3)
      across(x(from), x(time[r]), row(r, rank), "#a8d1ff", 7)
    }
    for (m = 1; m <= messages; m++) {
      if (run[m] != r) continue
      path("M" short(x(sent[m]), 1) " " row(r, src[m]) "L" short(x(arrived[m]), 1) " " row(r, dst[m]), "#bc4c00", 1.4)
      dot(x(arrived[m]), row(r, dst[m]), 3.2, "#bc4c00")
    }
  }
  foot()
}
