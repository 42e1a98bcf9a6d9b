# Draws bucket_size.svg: the time of a step over the size of a bucket, on two clusters. Called by figures.sh with lines
#   CLUSTER MIB TIME UNIT
{
  if (!($1 in count)) name[++clusters] = $1
  n = ++count[$1]
  size[$1, n] = $2; time[$1, n] = $3 * ($4 == "s" ? 1000 : 1)
  if (!($1 in least) || time[$1, n] < least[$1]) { least[$1] = time[$1, n]; best[$1] = n }
}
function words(px, py, anchor, said, more) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, more, said
}
function log2(v) { return log(v) / log(2) }
function x(mib) { return 70 + log2(mib < 0.7 ? 0.7 : mib) * 66 + 40 }
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
    printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2.2\" stroke-linejoin=\"round\" d=\"", colour[k]
    for (i = 1; i <= count[k]; i++) printf "%s%.1f %.1f", i == 1 ? "M" : "L", x(size[k, i]), y(time[k, i])
    print "\"/>"
    printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", x(size[k, best[k]]), y(least[k]), colour[k]
    words(x(size[k, best[k]]), y(least[k]) + 20, "middle", sprintf("%s: %.1f ms at %s MiB", k, least[k], size[k, best[k]]), \
      " fill=\"" colour[k] "\"")
  }
  words(x(0.01), 270, "middle", "one by one", "")
  for (m = 2; m <= 128; m *= 4) words(x(m), 270, "middle", m, "")
  words(x(400), 270, "middle", "one", "")
  words(400, 294, "middle", "size of a bucket, MiB", "")
  print "</svg>"
}
