# Tells what rank 0 sends along each axis in a step, from the lines of rank 0 in a trace for Perfetto. Sums inside layers
# are those of parallel layers, the others are of gradients; an all-reduce of n ranks sends 2(n−1)/n of its bytes.
#   grep '"pid":0,' trace.json | awk -f lessons/trace.awk -v tp=4 -v dp=8 -v steps=3 -f lessons/16_hybrid_parallel/traffic.awk
function count(axis, bytes, sent) {
  ++times[axis]
  largest[axis] = bytes > largest[axis] ? bytes : largest[axis]
  all[axis] += sent
}
field("bytes") < 1e6 { next }  # norms, and the ends of sums
field("name") == "all_reduce" && field("where") ~ /parallel_|conjugate/ { count("tp", field("bytes") + 0, field("bytes") * 2 * (tp - 1) / tp); next }
field("name") == "all_reduce" && field("where") ~ /strategies/ { next }  # the tied table, of the first stage and the last
field("name") == "all_reduce" { count("dp", field("bytes") + 0, field("bytes") * 2 * (dp - 1) / dp) }
field("name") ~ /^to rank/ { count("pp", field("bytes") + 0, field("bytes")) }
function row(axis, what) {
  printf "%-4s%5d %-13s%6.0f MB%11.1f GB\n", axis, times[axis] / steps, what, largest[axis] / 1e6, all[axis] / steps / 1e9
}
END {
  print "axis  a step          at most each  sent per GPU"
  row("tp", "all-reduces"); row("dp", "all-reduces"); row("pp", "sends")
}
