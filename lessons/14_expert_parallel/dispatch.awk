# Draws dispatch.svg: the rows of two ranks, from tokens to experts and back. Rank 0 has experts 0 and 1, rank 1 has experts 2
# and 3, and each token has chosen one. The counts are those of the twin, and nothing is measured, so it needs no run:
#   awk -f lessons/chart.awk -f lessons/14_expert_parallel/dispatch.awk
function place(column, rank, row) {  # of a row's square, from the top
  return (rank == 0 ? 66 : 300) + 26 * row
}
function square(column, rank, row, token) {
  rect(left[column], place(column, rank, row), 40, 22, colour[expert[token]])
  words(left[column] + 20, place(column, rank, row) + 16, "middle", token)
}
# Two columns of squares are joined where they show the same token.
function join(column, token,  from, to) {
  from = where[column, token] + 11
  to = where[column + 1, token] + 11
  path("M" left[column] + 41 " " from "L" left[column + 1] - 1 " " to, colour[expert[token]], 1.5)
}
function show(column, rank, tokens,  n, i, all) {
  n = split(tokens, all, " ")
  for (i = 1; i <= n; i++) {
    where[column, all[i]] = place(column, rank, i - 1)
    square(column, rank, i - 1, all[i])
  }
}
function title(column, first, second) {
  words(left[column] + 20, 28, "middle", first, bold)
  words(left[column] + 20, 46, "middle", second, ink("#59636e"))
}
BEGIN {
  split("a b c d e f g h i j k l", token, " ")
  split("1 3 1 2 1 1 3 1 0 1 3 1", chosen, " ")
  for (i = 1; i <= 12; i++) expert[token[i]] = chosen[i]
  split("#8ec5ff #fb8f44 #c297ff #7ee0a3", shades, " ")
  for (e = 0; e < 4; e++) colour[e] = shades[e + 1]
  for (c = 1; c <= 5; c++) left[c] = 70 + 140 * (c - 1)
  head(740, 520)
  title(1, "tokens", "in their order")
  title(2, "rows", "by expert")
  title(3, "rows", "at their experts")
  title(4, "results", "by rank")
  title(5, "results", "in token order")
  show(1, 0, "a b c d e f"); show(1, 1, "g h i j k l")
  show(2, 0, "a c e f d b"); show(2, 1, "i h j l g k")
  show(3, 0, "i a c e f h j l"); show(3, 1, "d b g k")
  show(4, 0, "a c e f d b"); show(4, 1, "i h j l g k")
  show(5, 0, "a b c d e f"); show(5, 1, "g h i j k l")
  for (c = 1; c < 5; c++) for (i = 1; i <= 12; i++) join(c, token[i])
  words(56, 144, "end", "rank 0")
  words(56, 378, "end", "rank 1")
  across(14, 726, 288, grid)
  words(left[2] + 90, 28, "middle", "dispatch →", ink("#59636e"))
  words(left[3] + 90, 28, "middle", "combine →", ink("#59636e"))
  for (e = 0; e < 4; e++) key(150 + 120 * e, 490, 18, 14, "expert " e, colour[e])
  foot()
}
