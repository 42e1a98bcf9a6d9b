# Draws loss.svg: the training loss over time, and over the steps of rank 0, a line for each bound on staleness. Called by
# figures.sh with lines
#   BOUND STEP LOSS SECONDS      BOUND is plain for a run without a bound and without momentum
NR == 1 || $1 != last { name[++bounds] = last = $1 }
{
  n = ++count[$1]
  window = n < 12 ? n : 12  # a running mean, for single batches are noisy
  loss[$1, n] = $3; time[$1, n] = $4
  mean = 0
  for (i = n - window + 1; i <= n; i++) mean += loss[$1, i] / window
  smooth[$1, n] = mean
}
function words(px, py, anchor, said, more) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, more, said
}
function y(value) { return 262 - (value - 0.4) * 118 }
function xt(seconds) { return 50 + seconds * 290 / 0.7 }
function xs(step) { return 414 + step * 310 / 240 }
function curve(k, panel,  j) {
  printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\"%s d=\"", colour[k], dashes[k]
  for (j = 1; j <= count[k] && time[k, j] < 0.7; j++) printf "%s%.1f %.1f", j == 1 ? "M" : "L", panel == 1 ? xt(time[k, j]) : xs(j), y(smooth[k, j])
  print "\"/>"
}
END {
  colour["0"] = "#1f2328"; colour["2"] = "#0969da"; colour["8"] = "#8250df"; colour["inf"] = "#bc4c00"; colour["plain"] = "#1a7f37"
  dashes["8"] = " stroke-dasharray=\"6 3\""
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 330\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"330\" fill=\"#ffffff\"/>"
  words(20, 20, "start", "training loss of an MLP, 4 workers, one of them four times slower", " font-weight=\"bold\"")
  for (t = 0.5; t <= 2.3; t += 0.5) {
    printf "<path d=\"M44 %.1fH342M408 %.1fH726\" stroke=\"#d8dee4\"/>\n", y(t), y(t)
    words(40, y(t) + 4, "end", sprintf("%.1f", t), "")
  }
  for (t = 0; t < 0.7; t += 0.2) words(xt(t), 280, "middle", t == 0 ? "0" : sprintf("%.1f s", t), "")
  words(190, 298, "middle", "time", "")
  for (t = 0; t <= 240; t += 60) words(xs(t), 280, "middle", t, "")
  words(565, 298, "middle", "steps of rank 0", "")
  left = 30
  for (i = 1; i <= bounds; i++) {
    k = name[i]
    curve(k, 1); curve(k, 2)
    printf "<path d=\"M%.1f 318h24\" stroke=\"%s\" stroke-width=\"2.2\"%s/>\n", left, colour[k], dashes[k]
    words(left + 30, 322, "start", k == "inf" ? "no bound" : k == "plain" ? "no bound, momentum 0" : "bound " k, "")
    left += 125
  }
  print "</svg>"
}
