# Draws nodes.svg: four all-reduces and the library's on 8 nodes of 8 H100 over the size of the data, and what leaves a
# node; the library's bytes are not counted. Called by figures.sh with lines
#   NAME BYTES TIME UNIT LEFT     LEFT: bytes that left a node, of all nodes together
{
  time[$1, $2] = $3 * ($4 == "s" ? 1 : $4 == "ms" ? 1e-3 : 1e-6)
  if (!($1 in known)) { known[$1] = 1; name[++shapes] = $1 }
  if ($1 == name[1]) sizes[++size_count] = $2
  share[$1] = $5 / 8 / $2
}
function log10(v) { return log(v) / log(10) }
function words(px, py, anchor, said, ink) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, ink, said
}
function unit(v) { return v >= 1e9 ? v / 1e9 " GB" : v >= 1e6 ? v / 1e6 " MB" : v / 1e3 " kB" }
function moment(e) { return e >= 0 ? 10 ^ e " s" : e >= -3 ? 10 ^ (e + 3) " ms" : 10 ^ (e + 6) " µs" }
function x(v) { return 66 + (log10(v) - 3) * 310 / 6.1 }
function y(v) { return 252 - (log10(v) + 4) * 196 / 3.4 }
END {
  colour["ring_all_reduce"] = "#0969da"; colour["tree_all_reduce"] = "#bc4c00"
  colour["halving_doubling_all_reduce"] = "#1a7f37"; colour["hierarchical_all_reduce"] = "#8250df"
  said["ring_all_reduce"] = "ring"; said["tree_all_reduce"] = "tree"
  said["halving_doubling_all_reduce"] = "halving-doubling"; said["hierarchical_all_reduce"] = "hierarchical"
  colour["all_reduce"] = "#57606a"; said["all_reduce"] = "NCCL's ring, as its own model prices it"
  dashes["all_reduce"] = " stroke-dasharray=\"5 4\""
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 304\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"304\" fill=\"#ffffff\"/>"
  words(66, 22, "start", "time on 8 nodes of 8 H100", " font-weight=\"bold\"")
  for (e = -4; e <= -1; e++) {
    printf "<path d=\"M66 %.1fH380\" stroke=\"#d8dee4\"/>\n", y(10 ^ e)
    words(60, y(10 ^ e) + 4, "end", moment(e), "")
  }
  for (e = 3; e <= 9; e += 2) words(x(10 ^ e), 272, "middle", unit(10 ^ e), "")
  words(220, 294, "middle", "bytes of each rank", "")
  words(452, 22, "start", "bytes that leave a node, over the data", " font-weight=\"bold\"")
  for (s = 1; s <= shapes; s++) {
    printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2.2\" stroke-linejoin=\"round\"%s d=\"", colour[name[s]], dashes[name[s]]
    for (i = 1; i <= size_count; i++) printf "%s%.1f %.1f", i == 1 ? "M" : "L", x(sizes[i]), y(time[name[s], sizes[i]])
    print "\"/>"
    top = 14 + 46 * s
    words(452, top + 4, "start", said[name[s]], "")
    if (dashes[name[s]] != "") { printf "<path d=\"M452 %dh40\" stroke=\"%s\" stroke-width=\"2.2\"%s/>\n", top + 14, colour[name[s]], dashes[name[s]]; continue }
    printf "<rect x=\"452\" y=\"%d\" width=\"%.1f\" height=\"18\" fill=\"%s\"/>\n", top + 10, share[name[s]] * 15, colour[name[s]]
    words(458 + share[name[s]] * 15, top + 24, "start", sprintf("%.2f", share[name[s]]), "")
  }
  print "</svg>"
}
