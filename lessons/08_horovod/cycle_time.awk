# Draws cycle_time.svg: the time of a step over Horovod's cycle time, on two clusters, beside DDP's. Called by figures.sh
# with lines
#   CLUSTER MS TIME      Horovod's step, in ms
#   CLUSTER ddp TIME     DDP's
$2 == "ddp" { ddp[$1] = $3; next }
{
  if (!($1 in count)) name[++clusters] = $1
  n = ++count[$1]
  cycle[$1, n] = $2; time[$1, n] = $3
}
function words(px, py, anchor, said, more) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, more, said
}
function x(ms) { return 70 + ms * 12.5 }
function y(ms) { return 250 - ms * 210 / 150 }
END {
  colour["ethernet"] = "#bc4c00"; colour["h100"] = "#0969da"
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 306\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"306\" fill=\"#ffffff\"/>"
  words(20, 18, "start", "time of a step, 16 GPUs, 345 MB of gradients", " font-weight=\"bold\"")
  for (t = 0; t <= 150; t += 50) {
    printf "<path d=\"M62 %.1fH720\" stroke=\"#d8dee4\"/>\n", y(t)
    words(56, y(t) + 4, "end", t (t == 150 ? " ms" : ""), "")
  }
  for (c = 1; c <= clusters; c++) {
    k = name[c]
    printf "<path d=\"M%.1f %.1fH720\" stroke=\"%s\" stroke-dasharray=\"5 4\"/>\n", x(0), y(ddp[k]), colour[k]
    printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2.2\" stroke-linejoin=\"round\" d=\"", colour[k]
    for (i = 1; i <= count[k]; i++) printf "%s%.1f %.1f", i == 1 ? "M" : "L", x(cycle[k, i]), y(time[k, i])
    print "\"/>"
    words(x(cycle[k, count[k]]), y(time[k, count[k]]) - 8, "end", k, " fill=\"" colour[k] "\"")
    words(x(28), y(ddp[k]) + 16, "end", sprintf("DDP: %.1f ms", ddp[k]), " fill=\"" colour[k] "\"")
  }
  for (t = 0; t <= 50; t += 10) words(x(t), 270, "middle", t, "")
  words(400, 294, "middle", "cycle time, ms", "")
  print "</svg>"
}
