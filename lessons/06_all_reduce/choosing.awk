# Draws choosing.svg from runs of ./lab sim: left, the time of four all-reduces on 64 ranks over the size; right, over the
# number of ranks, the size at which ring and tree take equally long. Called by figures.sh with lines
#   NAME RANKS BYTES TIME UNIT      a run
#   crossing RANKS SIZE UNIT        what `crossing ring tree RANKS` prints
$1 == "crossing" { point("crossing", $2, $3 * ($4 == "MB" ? 1e6 : 1e3)); next }
$2 == 64 { point($1, $3, $4 * ($5 == "s" ? 1 : $5 == "ms" ? 1e-3 : 1e-6)) }
END {
  name[1] = "naive"; name[2] = "ring"; name[3] = "tree"; name[4] = "halving-doubling"
  split("#8250df #0969da #bc4c00 #1a7f37", colour, " ")
  head(740, 344)
  words(66, 22, "start", "time on 64 ranks", bold)
  x_scale(10, 66, 10 ^ 9.1, 366, "log"); y_scale(10 ^ -4.6, 292, 10 ^ 0.6, 52, "log")
  y_ticks("1e-4=100 µs|1e-3=1 ms|0.01=10 ms|0.1=100 ms|1=1 s", 66, 374)
  x_ticks("10=10 B|1e3=1 kB|1e5=100 kB|1e7=10 MB|1e9=1 GB", 312)
  words(216, 334, "middle", "bytes of each rank")
  for (s = 1; s <= 4; s++) {
    program = name[s] "_all_reduce"
    sub(/-/, "_", program)
    line(program, colour[s], 2.2)
    sample(84, 38 + 19 * s, 24, name[s], colour[s], 2.2)
  }
  words(480, 22, "start", "ring and tree take equally long", bold)
  x_scale(2, 480, 1024, 716, "log"); y_scale(1e3, 292, 10 ^ 7.2, 52, "log")
  y_ticks("1e3=1 kB|1e4=10 kB|1e5=100 kB|1e6=1 MB|1e7=10 MB", 480, 716)
  x_ticks("2|16|128|1024", 312)
  words(598, 334, "middle", "ranks")
  line("crossing", black, 2.2)
  for (i = 1; i <= points["crossing"]; i++) dot(x(at_x["crossing", i]), y(at_y["crossing", i]), 3, black)
  words(500, 76, "start", "ring is faster", ink("#0969da"))
  words(706, 270, "end", "tree is faster", ink("#bc4c00"))
  foot()
}
