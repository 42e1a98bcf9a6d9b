# Draws bytes.svg: what a rank sends in a step over the number of ranks, as a multiple of its gradients in float32. Called
# by figures.sh with lines
#   parameters COUNT  |  sent HOW RANKS BYTES  |  gathered RANKS BYTES (of a million 8-bit integers by all-gather)
$1 == "parameters" { whole = 4 * $2 }
function point(how, ranks, times) {
  if (!(how in count)) name[++ways] = how
  n = ++count[how]
  at[how, n] = ranks; sent[how, n] = times
}
$1 == "sent" { point($2, $3, $4 / whole) }
$1 == "gathered" { point("gathered", $2, $3 / 4e6) }
function words(px, py, anchor, said, more) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, more, said
}
function log2(v) { return log(v) / log(2) }
function x(ranks) { return 70 + (log2(ranks) - 1) * 62 }
function y(times) { return 48 - log(times / 128) / log(10) * 60 }
END {
  colour["none"] = "#1f2328"; colour["bf16"] = "#0969da"; colour["int8"] = "#8250df"; colour["gathered"] = "#8250df"
  colour["topk:0.01"] = "#bc4c00"; colour["topk:0.001"] = "#bc4c00"; colour["randomk:0.01"] = "#1a7f37"
  colour["powersgd:4"] = "#bf3989"
  said["none"] = "float32"; said["bf16"] = "16 bits"; said["int8"] = "int8, in two steps"
  said["gathered"] = "int8 by all-gather"; said["topk:0.01"] = "top-k, 1 %"; said["topk:0.001"] = "top-k, 0.1 %"
  said["randomk:0.01"] = "random-k, 1 %"; said["powersgd:4"] = "PowerSGD, rank 4"
  lower["none"] = -5; lower["bf16"] = -7; lower["topk:0.001"] = 5; lower["int8"] = 10; lower["randomk:0.01"] = -5; lower["powersgd:4"] = 6
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 396\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"396\" fill=\"#ffffff\"/>"
  words(20, 20, "start", "what a rank sends in a step, as a multiple of its gradients in float32", " font-weight=\"bold\"")
  for (t = 100; t >= 0.0009; t /= 10) {
    printf "<path d=\"M62 %.1fH570\" stroke=\"#d8dee4\"/>\n", y(t)
    words(56, y(t) + 4, "end", sprintf("%g", t), "")
  }
  for (i = 1; i <= ways; i++) {
    k = name[i]
    dashes = k == "gathered" || k == "topk:0.001" ? " stroke-dasharray=\"6 4\"" : ""
    printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2.2\" stroke-linejoin=\"round\"%s d=\"", colour[k], dashes
    for (j = 1; j <= count[k]; j++) printf "%s%.1f %.1f", j == 1 ? "M" : "L", x(at[k, j]), y(sent[k, j])
    print "\"/>"
    words(x(at[k, count[k]]) + 8, y(sent[k, count[k]]) + 4 + lower[k], "start", said[k], " fill=\"" colour[k] "\"")
  }
  for (r = 2; r <= 512; r *= 2) words(x(r), 370, "middle", r, "")
  words(x(32), 389, "middle", "ranks", "")
  print "</svg>"
}
