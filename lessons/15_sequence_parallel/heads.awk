# Draws heads.svg: who has which tokens of which heads, with four ranks. Left, by tokens; in the middle, by heads, as Ulysses
# has them during attention; right, by both, with tp 2 and cp 2. All shares are equal, so it needs no run:
#   awk -v tokens=8 -v heads=4 -f lessons/chart.awk -f lessons/15_sequence_parallel/heads.awk
function panel(left, title, under,  t, h) {
  words(left + heads * 15, 20, "middle", title, bold)
  for (t = 0; t < tokens; t++) for (h = 0; h < heads; h++)
    rect(left + 30 * h, 44 + 22 * t, 28, 20, colour[rank_of(left, t, h)])
  words(left + heads * 15, 38, "middle", "heads →", ink("#59636e"))
  words(left + heads * 15, 62 + 22 * tokens, "middle", under, ink("#59636e"))
}
function rank_of(left, t, h) {
  if (left == at[1]) return int(4 * t / tokens)
  if (left == at[2]) return int(4 * h / heads)
  return int(2 * h / heads) + 2 * int(2 * t / tokens)
}
function arrow(from, to, py, said,  back) {
  back = to > from ? to - 5 : to + 5
  across(from, to, py, black, 1.5)
  path("M" back " " py - 4 "L" to " " py "L" back " " py + 4, black, 1.5)
  words((from + to) / 2, py - 6, "middle", said, " font-size=\"11\"")
}
BEGIN {
  split("#8ec5ff #fb8f44 #c297ff #7ee0a3", shades, " ")
  for (r = 0; r < 4; r++) colour[r] = shades[r + 1]
  at[1] = 60; at[2] = 290; at[3] = 520
  head(700, 130 + 22 * tokens)
  panel(at[1], "by tokens", "matrices, norms, loss")
  panel(at[2], "by heads", "attention, with Ulysses")
  panel(at[3], "by both", "tp 2 × cp 2")
  words(30, 44 + 11 * tokens, "middle", "tokens")
  words(30, 60 + 11 * tokens, "middle", "↓")
  arrow(at[1] + 30 * heads + 8, at[2] - 12, 36 + 11 * tokens, "all-to-all")
  arrow(at[2] - 12, at[1] + 30 * heads + 8, 66 + 11 * tokens, "and back")
  for (r = 0; r < 4; r++) key(60 + 110 * r, 86 + 22 * tokens, 18, 14, "rank " r, colour[r])
  foot()
}
