# Draws steps.svg: the time of a step by compressor on two clusters, computation and the communication that nothing hides.
# Called by figures.sh with lines
#   CLUSTER RANKS HOW MS EXPOSED_MS
{
  place = $1 " " $2
  if (!(place in rows)) panel[++panels] = place
  n = ++rows[place]
  how[place, n] = $3; step[place, n] = $4; exposed[place, n] = $5
}
function words(px, py, anchor, said, more) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, more, said
}
function bar(left, right, top, colour) {
  printf "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"16\" fill=\"%s\"/>\n", left, top, right - left, colour
}
END {
  title["ethernet 16"] = "16 A100, Ethernet"; title["h100 64"] = "64 H100, InfiniBand"
  longest["ethernet 16"] = 80; longest["h100 64"] = 32
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 268\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"268\" fill=\"#ffffff\"/>"
  for (p = 1; p <= panels; p++) {
    k = panel[p]
    left = p == 1 ? 110 : 440
    scale = 220 / longest[k]
    words(left, 20, "start", title[k], " font-weight=\"bold\"")
    for (n = 1; n <= rows[k]; n++) {
      top = 32 + (n - 1) * 25
      if (p == 1) words(left - 8, top + 13, "end", how[k, n] == "none" ? "float32" : how[k, n], "")
      computed = left + (step[k, n] - exposed[k, n]) * scale
      ends = left + step[k, n] * scale
      bar(left, computed, top, "#8ec5ff")
      bar(computed, ends, top, "#bc4c00")
      words(ends + 6, top + 13, "start", sprintf("%.1f", step[k, n]) (n == 1 ? " ms" : ""), "")
    }
    printf "<path d=\"M%.1f 28V230\" stroke=\"#1f2328\"/>\n", left
  }
  bar(110, 128, 244, "#8ec5ff"); words(134, 257, "start", "computation, with what it hides", "")
  bar(350, 368, 244, "#bc4c00"); words(374, 257, "start", "exposed communication", "")
  print "</svg>"
}
