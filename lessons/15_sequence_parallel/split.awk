# Draws split.svg: which of four ranks computes attention of which chunk of queries to which chunk of keys, and in which step
# of the ring; contiguous and zigzag. Under it, what each rank has to compute in all. Called by figures.sh with, for each
# split, a line "case TITLE" and the lines of `rings plan`.
$1 == "case" { way = ++ways; said[way] = substr($0, 6); next }
{
  n = ++cells[way]
  query[way, n] = $1; keys[way, n] = $2; rank[way, n] = $3; step[way, n] = $4
  load[way, $3] += $1 == $2 ? 0.5 : 1  # a chunk sees half of itself
  if ($1 >= chunks) chunks = $1 + 1
  if ($3 >= ranks) ranks = $3 + 1
}
END {
  split("#8ec5ff #fb8f44 #c297ff #7ee0a3", shades, " ")
  side = 26
  below = 54 + side * chunks
  head(640, below + 26 + 20 * ranks + 24)
  for (way = 1; way <= ways; way++) {
    left = 60 + (way - 1) * 310
    words(left + side * chunks / 2, 20, "middle", said[way], bold)
    words(left + side * chunks / 2, 38, "middle", "chunks of keys →", ink("#59636e"))
    for (n = 1; n <= cells[way]; n++) {
      px = left + side * keys[way, n]; py = 46 + side * query[way, n]
      rect(px, py, side - 2, side - 2, shades[rank[way, n] + 1])
      words(px + side / 2 - 1, py + side / 2 + 4, "middle", step[way, n], " font-size=\"11\"")
    }
    for (r = 0; r < ranks; r++) {
      py = below + 20 * r
      words(left - 6, py + 12, "end", "rank " r, " font-size=\"11\"")
      rect(left, py, load[way, r] * side / 2, 15, shades[r + 1])
      words(left + load[way, r] * side / 2 + 6, py + 12, "start", load[way, r], " font-size=\"11\"")
    }
  }
  words(40, 46 + side * chunks / 2, "middle", "queries", ink("#59636e") " transform=\"rotate(-90 40 " 46 + side * chunks / 2 ")\"")
  words(60, below + 34 + 20 * ranks, "start", "A number in a square is the step of the ring; a number beside a bar, the squares that a rank computes.", " font-size=\"11\"" ink("#59636e"))
  foot()
}
