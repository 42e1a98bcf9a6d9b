# Draws judge.svg: what runs during ./lab check, and the way of one message.
#   awk -f judge.awk >judge.svg
function words(x, y, said, style) {
  printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\"%s>%s</text>\n", x, y, style, said
}
function box(x, y, w, h, fill, stroke) {
  printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" fill=\"%s\" stroke=\"%s\" stroke-width=\"1.5\"/>\n", x, y, w, h, fill, stroke
}
function line(path, colour, style) {
  printf "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"/>\n", path, colour, style
}
BEGIN {
  bold = " font-weight=\"bold\""; faint = " fill=\"#57606a\""; mono = " font-family=\"monospace\" font-size=\"12\""
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 370\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#bc4c00\"/></marker></defs>"
  print "<rect width=\"740\" height=\"370\" fill=\"#ffffff\"/>"
  box(245, 14, 250, 30, "#ffffff", "#57606a")
  words(370, 34, "work/03_collectives/exchange.cpp", mono)
  words(628, 34, "compiled once, started for each rank", " font-size=\"12\"" faint)
  for (rank = 0; rank < 4; rank++) {
    x = 40 + 170 * rank; middle = x + 75
    line("M370 44C370 66 " middle " 50 " middle " 76", "#d0d7de", 1.5)
    box(x, 76, 150, 74, "#f6f8fa", "#57606a")
    words(middle, 97, "player: rank " rank, bold)
    words(middle, 118, "your exchange", "")
    words(middle, 138, "its own inputs only", " font-size=\"12\"" faint)
    line("M" middle " 150V226", "#d0d7de", 6)
  }
  box(40, 226, 660, 74, "#ddf4ff", "#0969da")
  words(370, 249, "judge", bold)
  words(370, 270, "draws the cases · is the network · counts bytes, depth, fan and time · decides", "")
  words(370, 290, "nothing that you wrote runs here", " font-size=\"12\"" faint)
  print "<path d=\"M115 150V216Q115 236 135 236H265Q285 236 285 216V156\" fill=\"none\" stroke=\"#bc4c00\" stroke-width=\"2\" marker-end=\"url(#tip)\"/>"
  words(174, 190, "send(mine, 1)", mono)
  words(360, 190, "recv(from_left, 0)", mono)
  line("M370 300V326", "#0969da", 1.5)
  words(370, 346, "the verdict: a name, a sentence, the case, the counters", bold)
  print "</svg>"
}
