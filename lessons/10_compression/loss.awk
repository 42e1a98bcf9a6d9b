# Draws loss.svg: the training loss over the steps, and over the bytes that a rank has sent by then. Called by figures.sh
# with lines
#   HOW STEP LOSS BYTES_OF_THE_STEP
$1 != last { name[++ways] = last = $1; bytes = 0; mean = 0 }
{
  n = ++count[$1]
  bytes += $4
  window = n < 15 ? n : 15  # a running mean, for single batches are noisy
  loss[$1, n] = $3
  mean = 0
  for (i = n - window + 1; i <= n; i++) mean += loss[$1, i] / window
  smooth[$1, n] = mean; sent[$1, n] = bytes
  if (n > steps) steps = n
}
function words(px, py, anchor, said, more) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, more, said
}
function y(value) { return 262 - (value - 0.4) * 120 }
function xs(step) { return 50 + step / steps * 280 }
function xb(sent) { return 404 + log(sent / 3e5) / log(10) * 100 }
function curve(k, panel,  j) {
  printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" stroke-linejoin=\"round\"%s d=\"", colour[k], dashes[k]
  for (j = 1; j <= count[k]; j++) printf "%s%.1f %.1f", j == 1 ? "M" : "L", panel == 1 ? xs(j) : xb(sent[k, j]), y(smooth[k, j])
  print "\"/>"
}
END {
  colour["none"] = "#1f2328"; colour["bf16"] = "#0969da"; colour["int8"] = "#8250df"
  colour["topk:0.01"] = colour["topk:0.001"] = "#bc4c00"; colour["powersgd:4"] = colour["powersgd:1"] = "#bf3989"
  dashes["topk:0.001"] = dashes["powersgd:1"] = " stroke-dasharray=\"5 3\""
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 330\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"330\" fill=\"#ffffff\"/>"
  words(20, 20, "start", "training loss, an MLP on 8 ranks", " font-weight=\"bold\"")
  for (t = 0.5; t <= 2.3; t += 0.5) {
    printf "<path d=\"M44 %.1fH334M394 %.1fH726\" stroke=\"#d8dee4\"/>\n", y(t), y(t)
    words(40, y(t) + 4, "end", sprintf("%.1f", t), "")
  }
  for (t = 0; t <= steps; t += 100) words(xs(t), 280, "middle", t, "")
  words(190, 298, "middle", "steps", "")
  for (p = 0; p <= 2; p++) words(xb(10 ^ (p + 6)), 280, "middle", 10 ^ p " MB", "")
  words(560, 298, "middle", "sent by a rank so far", "")
  left = 22
  for (i = 1; i <= ways; i++) {
    k = name[i]
    curve(k, 1); curve(k, 2)
    printf "<path d=\"M%.1f 318h20\" stroke=\"%s\" stroke-width=\"2.2\"%s/>\n", left, colour[k], dashes[k]
    words(left + 25, 322, "start", k == "none" ? "float32" : k, "")
    left += 40 + 7.2 * length(k == "none" ? "float32" : k)
  }
  print "</svg>"
}
