# Draws staleness.svg: how many pushes had which staleness, a panel a run. Called by figures.sh with lines
#   COUNTS TITLE      how many pushes had a staleness of 0, 1, …, separated by commas
{
  n = split($1, counts, ",")
  sub(/^[^ ]* /, "")
  title[++panels] = $0
  for (i = 1; i <= n; i++) count[panels, i - 1] = counts[i]
  if (n > bars) bars = n
}
END {
  head(760, 214, 12)
  words(20, 18, "start", "staleness of 160 pushes, 4 workers", bold " font-size=\"13\"")
  y_scale(0, 158, 160, 60)
  for (p = 1; p <= panels; p++) {
    left = 16 + (p - 1) * 248
    words(left, 38, "start", title[p])
    across(left, left + 228, 158.5, "#8c959f")
    for (s = 0; s < bars; s++) {
      middle = left + (s + 0.5) * 224 / bars
      words(middle, 174, "middle", s)
      if (count[p, s] == 0) continue
      rect(middle - 9, y(count[p, s]), 18, 158 - y(count[p, s]), s > 3 ? "#bc4c00" : "#0969da")
      words(middle, y(count[p, s]) - 3, "middle", count[p, s], " font-size=\"11\"")
    }
  }
  words(380, 202, "middle", "updates between pull and push")
  simulated(744, 18, "one core, float32, 77 GFLOP/s")
  foot()
}
