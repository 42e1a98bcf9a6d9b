# Draws updates.svg from training logs: the loss of each run over the samples that were seen, as the mean
# of some 2,000 samples at a time. Called by updates.sh:
#   awk -f updates.awk 1.jsonl 2.jsonl …
function field(line, name,    at) {
  at = index(line, "\"" name "\":")
  return at ? substr(line, at + length(name) + 3) + 0 : ""
}
/"event":"start"/ {
  ++runs
  ranks[runs] = field($0, "ranks")
  batch = field($0, "global_batch")
  steps[runs] = field($0, "steps")
  points[runs] = sum = count = 0
}
/"event":"step"/ {
  sum += field($0, "loss")
  count++
  if (count * batch < 2048) next
  samples[runs, ++points[runs]] = (field($0, "step") - count / 2) * batch
  loss[runs, points[runs]] = sum / count
  sum = count = 0
}
function x(seen) { return left + seen * width / 60000 }
function y(value) { return 40 + 250 * (1 - value / top) }
function words(px, py, anchor, said) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", px, py, anchor, said
}
END {
  left = 60; width = 650; top = 2.5
  split("#0a3069 #54aeff #8250df #fb8f44", colours, " ")
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 345\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"345\" fill=\"#ffffff\"/>"
  words(left, 24, "start", "mean loss of the samples seen last")
  for (v = 0; v <= top; v += 0.5) {
    printf "<path d=\"M%d %.1fH%d\" stroke=\"#d8dee4\"/>\n", left, y(v), left + width
    words(left - 8, y(v) + 4, "end", sprintf("%.1f", v))
  }
  for (s = 0; s <= 60000; s += 10000) words(x(s), 310, "middle", s ? s / 1000 ",000" : "0")
  words(left + width / 2, 332, "middle", "samples seen by all ranks together")
  for (r = 1; r <= runs; r++) {
    printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\" d=\"", colours[r]
    for (p = 1; p <= points[r]; p++) printf "%s%.1f %.1f", p == 1 ? "M" : "L", x(samples[r, p]), y(loss[r, p])
    print "\"/>"
    printf "<path d=\"M%d %dh30\" stroke=\"%s\" stroke-width=\"2\"/>\n", left + 400, 54 + 22 * r, colours[r]
    words(left + 440, 58 + 22 * r, "start", ranks[r] (ranks[r] == 1 ? " rank: " : " ranks: ") steps[r] " updates")
  }
  print "</svg>"
}
