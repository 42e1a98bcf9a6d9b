# Draws figure.svg from training logs: the loss of each run over steps, and below, on a logarithmic scale, how far each is
# from the first one. Called by figure.sh with 'label=1 rank × 128' one.jsonl 'label=2 ranks × 64' two.jsonl …
FNR == 1 { ++runs; labels[runs] = label }
/"event":"step"/ {
  step = field("step") + 0; loss = field("loss") + 0
  point(runs, step, loss)
  if (loss > loss_max) loss_max = loss
  if (first == "" || step < first) first = step
  if (step > last) last = step
  if (runs == 1) { of_first[step] = loss; next }
  gap = loss > of_first[step] ? loss - of_first[step] : of_first[step] - loss
  if (gap > gap_max) gap_max = gap
  point("gap" runs, step, gap < 1e-8 ? 1e-8 : gap)
}
END {
  top = int(loss_max * 2 + 1) / 2
  for (high = -6; gap_max > 10 ^ high; high++) decades = decades "|1e" high
  split("#a8d1ff #fb8f44 #0a3069 #8250df", colours, " ")
  split("8 4 1.3 1", widths, " ")
  head(740, 510)
  x_scale(first, 70, last, 710)
  x_ticks(ticks_to(int((first + 49) / 50) * 50, last + 1, 50), 482)
  words(390, 502, "middle", "step")
  words(70, 24, "start", "mean loss of the global batch")
  y_scale(0, 270, top, 40)
  for (v = 0; v <= top; v += 0.5) y_ticks(v "=" sprintf("%.1f", v), 70, 710)
  for (r = 1; r <= runs; r++) {
    line(r, colours[r], widths[r])
    sample(510, 52 + 22 * r, 36, labels[r], colours[r], widths[r])
  }
  words(70, 312, "start", "difference to the first run (at the bottom: less than 1e-8, or none)")
  y_scale(1e-8, 460, 10 ^ high, 330, "log")
  y_ticks("1e-8|1e-7" decades "|1e" high, 70, 710)
  for (r = 2; r <= runs; r++) line("gap" r, colours[r], 1.3)
  foot()
}
