# Draws growth.svg: chain, fan and time of three broadcasts over the number of ranks, all on logarithmic scales. Called
# by figures.sh with lines
#   NAME RANKS TIME_US DEPTH FAN
{
  if (!($1 in seen)) { seen[$1] = 1; name[++shapes] = $1 }
  ++points[$1]
  ranks[$1, points[$1]] = $2
  value[$1, points[$1], 1] = $4; value[$1, points[$1], 2] = $5; value[$1, points[$1], 3] = $3 / 1000
}
function log2(v) { return log(v) / log(2) }
function x(p, n) { return left[p] + (log2(n) - 1) * width / 9 }
function y(p, v) { return bottom - (log(v) / log(10) - low[p]) * (bottom - ceiling) / (high[p] - low[p]) }
function words(px, py, anchor, said) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", px, py, anchor, said
}
END {
  width = 178; ceiling = 56; bottom = 256
  left[1] = 48; left[2] = 296; left[3] = 544
  low[1] = low[2] = 0; high[1] = high[2] = 3.2
  low[3] = -2; high[3] = 1.4
  title[1] = "longest chain of messages"; title[2] = "most messages of one rank"; title[3] = "time in milliseconds"
  colour["star"] = "#bc4c00"; colour["chain"] = "#8250df"; colour["tree"] = "#0969da"
  wide["star"] = 5; wide["chain"] = 2.4; wide["tree"] = 2.4
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 300\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"300\" fill=\"#ffffff\"/>"
  px = 48
  for (s = 1; s <= shapes; s++) {
    printf "<path d=\"M%d 18h26\" stroke=\"%s\" stroke-width=\"%s\"/>\n", px, colour[name[s]], wide[name[s]]
    words(px + 32, 22, "start", name[s]); px += 90
  }
  for (p = 1; p <= 3; p++) {
    words(left[p], 46, "start", title[p])
    for (e = low[p]; e <= high[p]; e++) {
      printf "<path d=\"M%d %.1fh%d\" stroke=\"#d8dee4\"/>\n", left[p], y(p, 10 ^ e), width
      words(left[p] - 6, y(p, 10 ^ e) + 4, "end", 10 ^ e)
    }
    for (n = 2; n <= 1024; n *= 8) words(x(p, n), bottom + 18, "middle", n)
    words(left[p] + width / 2, bottom + 36, "middle", "ranks")
    for (s = 1; s <= shapes; s++) {
      printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-linejoin=\"round\" d=\"", colour[name[s]], wide[name[s]]
      for (i = 1; i <= points[name[s]]; i++) printf "%s%.1f %.1f", i == 1 ? "M" : "L", x(p, ranks[name[s], i]), y(p, value[name[s], i, p])
      print "\"/>"
    }
  }
  print "</svg>"
}
