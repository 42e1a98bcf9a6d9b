# Draws choosing.svg from runs of ./lab sim: left, the time of four all-reduces on 64 ranks over the size; right, over the
# number of ranks, the size at which ring and tree take equally long. Called by figures.sh with lines
#   NAME RANKS BYTES TIME UNIT      a run
#   crossing RANKS SIZE UNIT        what `crossing ring tree RANKS` prints
$1 == "crossing" { at[++crossings] = $2; cross[crossings] = $3 * ($4 == "MB" ? 1e6 : 1e3); next }
{
  time[$1, $2, $3] = $4 * ($5 == "s" ? 1 : $5 == "ms" ? 1e-3 : 1e-6)
  if (!(($1, "seen") in place)) { place[$1, "seen"] = 1; name[++shapes] = $1 }
  if ($1 == "ring_all_reduce") sizes[++size_count] = $3
}
function log10(v) { return log(v) / log(10) }
function words(px, py, anchor, said, ink) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, ink, said
}
function unit(v) { return v >= 1e9 ? v / 1e9 " GB" : v >= 1e6 ? v / 1e6 " MB" : v >= 1e3 ? v / 1e3 " kB" : v " B" }
function moment(e) { return e >= 0 ? 10 ^ e " s" : e >= -3 ? 10 ^ (e + 3) " ms" : 10 ^ (e + 6) " µs" }
function x(v) { return 66 + (log10(v) - 1) * 300 / 8.1 }
function y(v) { return 292 - (log10(v) + 4.6) * 240 / 5.2 }
function xr(n) { return 480 + (log(n) / log(2) - 1) * 236 / 9 }
function yr(v) { return 292 - (log10(v) - 3) * 240 / 4.2 }
END {
  colour["ring_all_reduce"] = "#0969da"; colour["tree_all_reduce"] = "#bc4c00"
  colour["halving_doubling_all_reduce"] = "#1a7f37"; colour["naive_all_reduce"] = "#8250df"
  said["ring_all_reduce"] = "ring"; said["tree_all_reduce"] = "tree"
  said["halving_doubling_all_reduce"] = "halving-doubling"; said["naive_all_reduce"] = "naive"
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 344\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"344\" fill=\"#ffffff\"/>"
  words(66, 22, "start", "time on 64 ranks", " font-weight=\"bold\"")
  for (e = -4; e <= 0; e++) {
    printf "<path d=\"M66 %.1fH374\" stroke=\"#d8dee4\"/>\n", y(10 ^ e)
    words(60, y(10 ^ e) + 4, "end", moment(e), "")
  }
  for (e = 1; e <= 9; e += 2) words(x(10 ^ e), 312, "middle", unit(10 ^ e), "")
  words(216, 334, "middle", "bytes of each rank", "")
  for (s = 1; s <= shapes; s++) {
    printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2.2\" stroke-linejoin=\"round\" d=\"", colour[name[s]]
    for (i = 1; i <= size_count; i++) printf "%s%.1f %.1f", i == 1 ? "M" : "L", x(sizes[i]), y(time[name[s], 64, sizes[i]])
    print "\"/>"
    printf "<path d=\"M84 %dh24\" stroke=\"%s\" stroke-width=\"2.2\"/>\n", 38 + 19 * s, colour[name[s]]
    words(114, 42 + 19 * s, "start", said[name[s]], "")
  }
  words(480, 22, "start", "ring and tree take equally long", " font-weight=\"bold\"")
  for (e = 3; e <= 7; e++) {
    printf "<path d=\"M480 %.1fH716\" stroke=\"#d8dee4\"/>\n", yr(10 ^ e)
    words(474, yr(10 ^ e) + 4, "end", unit(10 ^ e), "")
  }
  for (n = 2; n <= 1024; n *= 8) words(xr(n), 312, "middle", n, "")
  words(598, 334, "middle", "ranks", "")
  printf "<path fill=\"none\" stroke=\"#1f2328\" stroke-width=\"2.2\" stroke-linejoin=\"round\" d=\""
  for (i = 1; i <= crossings; i++) printf "%s%.1f %.1f", i == 1 ? "M" : "L", xr(at[i]), yr(cross[i])
  print "\"/>"
  for (i = 1; i <= crossings; i++) printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"#1f2328\"/>\n", xr(at[i]), yr(cross[i])
  words(500, 76, "start", "ring is faster", " fill=\"#0969da\"")
  words(706, 270, "end", "tree is faster", " fill=\"#bc4c00\"")
  print "</svg>"
}
