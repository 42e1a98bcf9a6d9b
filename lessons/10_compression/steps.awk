# Draws steps.svg: the time of a step by compressor on two clusters, computation and the communication that nothing hides.
# Called by figures.sh with lines
#   CLUSTER RANKS HOW MS EXPOSED_MS
{
  place = $1 " " $2
  if (!(place in rows)) panel[++panels] = place
  n = ++rows[place]
  how[place, n] = $3; step[place, n] = $4; exposed[place, n] = $5
}
END {
  title["ethernet 16"] = "16 A100, Ethernet"; title["h100 64"] = "64 H100, InfiniBand"
  longest["ethernet 16"] = 80; longest["h100 64"] = 32
  head(740, 278)
  for (p = 1; p <= panels; p++) {
    k = panel[p]
    left = p == 1 ? 110 : 440
    x_scale(0, left, longest[k], left + 220)
    words(left, 20, "start", title[k], bold)
    for (n = 1; n <= rows[k]; n++) {
      top = 32 + (n - 1) * 25
      if (p == 1) words(left - 8, top + 13, "end", how[k, n] == "none" ? "float32" : how[k, n])
      computed = x(step[k, n] - exposed[k, n])
      ends = x(step[k, n])
      rect(left, top, computed - left, 16, "#8ec5ff")
      rect(computed, top, ends - computed, 16, "#bc4c00")
      words(ends + 6, top + 13, "start", sprintf("%.1f", step[k, n]) (n == 1 ? " ms" : ""))
    }
    down(left, 28, 230, black)
  }
  key(110, 244, 18, 16, "computation, with what it hides", "#8ec5ff")
  key(350, 244, 18, 16, "exposed communication", "#bc4c00")
  simulated(724, 272, "float32, A100 at 15.8 and H100 at 53.8 TFLOP/s")
  foot()
}
