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
function x(us) { return left + us * width / top }
function y(r, rank) { return 56 + (r - 1) * panel + rank * lane }
function words(px, py, anchor, said) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", px, py, anchor, said
}
END {
  left = 62; width = 650; lane = 19; panel = (last_rank + 1) * lane + 42
  top = (int(longest / 20) + 1) * 20
  bottom = 34 + runs * panel
  height = bottom + 26
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 %d\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">\n", height
  printf "<rect width=\"740\" height=\"%d\" fill=\"#ffffff\"/>\n", height
  for (us = 0; us <= top; us += 20) {
    printf "<path d=\"M%.1f 30V%d\" stroke=\"#d8dee4\"/>\n", x(us), bottom
    words(x(us), bottom + 16, "middle", us " µs")
  }
  for (r = 1; r <= runs; r++) {
    printf "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"20\" fill=\"#ffffff\"/>\n", left - 2, y(r, 0) - 36, width + 4
    words(left, y(r, 0) - 21, "start", sprintf("<tspan font-weight=\"bold\">%s</tspan>: %d µs, depth %d, fan %d", title[r], time[r], depth[r], fan[r]))
    for (rank = 0; rank <= last_rank; rank++) {
      words(left - 8, y(r, rank) + 4, "end", "rank " rank)
      from = rank == 0 ? 0 : time[r]
      for (m = 1; m <= messages; m++) if (run[m] == r && dst[m] == rank) from = arrived[m]
      printf "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#d8dee4\" stroke-width=\"3\"/>\n", left, y(r, rank), x(from)
      printf "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#a8d1ff\" stroke-width=\"7\"/>\n", x(from), y(r, rank), x(time[r])
    }
    for (m = 1; m <= messages; m++) {
      if (run[m] != r) continue
      printf "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#bc4c00\" stroke-width=\"1.4\"/>\n", x(sent[m]), y(r, src[m]), x(arrived[m]), y(r, dst[m])
      printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\" fill=\"#bc4c00\"/>\n", x(arrived[m]), y(r, dst[m])
    }
  }
  print "</svg>"
}
