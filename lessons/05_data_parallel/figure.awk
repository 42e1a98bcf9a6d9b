# Draws figure.svg from training logs: the loss of each run over steps, and below, on a logarithmic
# scale, how far each is from the first one. Called by figure.sh:
#   awk -f figure.awk 'label=1 rank × 128' one.jsonl 'label=2 ranks × 64' two.jsonl …
function field(line, name,    at) {
  at = index(line, "\"" name "\":")
  return at ? substr(line, at + length(name) + 3) + 0 : ""
}
FNR == 1 { ++runs; labels[runs] = label }
/"event":"step"/ {
  step = field($0, "step")
  loss[runs, step] = field($0, "loss")
  if (loss[runs, step] > loss_max) loss_max = loss[runs, step]
  if (first == "" || step < first) first = step
  if (step > last) last = step
}
function x(step) { return left + (step - first) * width / (last - first) }
function y_loss(value) { return 40 + 230 * (1 - value / top) }
function y_gap(value,    exponent) {
  exponent = value > 0 ? log(value) / log(10) : low
  if (exponent < low) exponent = low
  return 330 + 130 * (1 - (exponent - low) / (high - low))
}
function words(px, py, anchor, said) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", px, py, anchor, said
}
function line(y) {
  printf "<path d=\"M%d %.1fH%d\" stroke=\"#d8dee4\"/>\n", left, y, left + width
}
END {
  left = 70; width = 640; top = int(loss_max * 2 + 1) / 2
  low = -8; high = -6
  for (r = 2; r <= runs; r++)
    for (s = first; s <= last; s++) {
      gap = loss[r, s] - loss[1, s]
      if (gap < 0) gap = -gap
      while (gap > 10 ^ high) high++
    }
  split("#a8d1ff #fb8f44 #0a3069 #8250df", colours, " ")
  split("8 4 1.3 1", widths, " ")
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 510\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"510\" fill=\"#ffffff\"/>"
  words(left, 24, "start", "mean loss of the global batch")
  for (v = 0; v <= top; v += 0.5) { line(y_loss(v)); words(left - 8, y_loss(v) + 4, "end", sprintf("%.1f", v)) }
  words(left, 312, "start", "difference to the first run (at the bottom: less than 1e-8, or none)")
  for (e = low; e <= high; e++) { line(y_gap(10 ^ e)); words(left - 8, y_gap(10 ^ e) + 4, "end", "1e" e) }
  for (s = int((first + 49) / 50) * 50; s <= last + 1; s += 50) words(x(s), 482, "middle", s)
  words(left + width / 2, 502, "middle", "step")
  for (r = 1; r <= runs; r++) {
    printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-linejoin=\"round\" d=\"", colours[r], widths[r]
    for (s = first; s <= last; s++) printf "%s%.1f %.1f", s == first ? "M" : "L", x(s), y_loss(loss[r, s])
    print "\"/>"
    printf "<path d=\"M%d %dh36\" stroke=\"%s\" stroke-width=\"%s\"/>\n", left + 440, 52 + 22 * r, colours[r], widths[r]
    words(left + 486, 56 + 22 * r, "start", labels[r])
    if (r == 1) continue
    printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.3\" d=\"", colours[r]
    for (s = first; s <= last; s++) {
      gap = loss[r, s] - loss[1, s]
      printf "%s%.1f %.1f", s == first ? "M" : "L", x(s), y_gap(gap < 0 ? -gap : gap)
    }
    print "\"/>"
  }
  print "</svg>"
}
