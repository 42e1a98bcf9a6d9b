# Draws staleness.svg: how many pushes had which staleness, a panel a run. Called by figures.sh with lines
#   COUNTS TITLE      how many pushes had a staleness of 0, 1, …, separated by commas
{
  n = split($1, counts, ",")
  sub(/^[^ ]* /, "")
  title[++panels] = $0
  for (i = 1; i <= n; i++) {
    count[panels, i - 1] = counts[i]
    if (counts[i] > largest) largest = counts[i]
  }
  if (n > bars) bars = n
}
function words(px, py, anchor, said, more) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", px, py, anchor, more, said
}
function y(pushes) { return 158 - pushes * 98 / 160 }
END {
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 214\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#1f2328\">"
  print "<rect width=\"760\" height=\"214\" fill=\"#ffffff\"/>"
  words(20, 18, "start", "staleness of 160 pushes, 4 workers", " font-weight=\"bold\" font-size=\"13\"")
  for (p = 1; p <= panels; p++) {
    left = 16 + (p - 1) * 248; step = 224 / bars
    words(left, 38, "start", title[p], "")
    printf "<path d=\"M%d 158.5h228\" stroke=\"#8c959f\"/>\n", left
    for (s = 0; s < bars; s++) {
      middle = left + (s + 0.5) * step
      words(middle, 174, "middle", s, "")
      if (count[p, s] == 0) continue
      printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", middle - 9, y(count[p, s]), 18, 158 - y(count[p, s]), (s > 3 ? "#bc4c00" : "#0969da")
      words(middle, y(count[p, s]) - 3, "middle", count[p, s], " font-size=\"11\"")
    }
  }
  words(380, 202, "middle", "updates between pull and push", "")
  print "</svg>"
}
