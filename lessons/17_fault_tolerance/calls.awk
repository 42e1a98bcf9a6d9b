# Draws calls.svg: the calls of a save, in order, and what loads if the run is killed after each. Called by figures.sh with the
# lines of `saving calls`: the call, the file or folder, and the step that loads.
{
  step = $NF; sub(/ +step +[0-9]+$/, ""); kind = $1; name = $0; sub(/^[^ ]+ +/, "", name)
  if (kind == was_kind && name == was_name && step == at_step[n]) { ++times[n]; next }  # a file in several writes
  ++n; at_kind[n] = was_kind = kind; at_name[n] = was_name = name; at_step[n] = step; times[n] = 1
}
END {
  row = 21; top = 44
  head(680, top + row * n + 18)
  words(16, 24, "start", "call", bold); words(452, 24, "start", "loads if it is killed after it", bold)
  for (i = 1; i <= n; i++) {
    py = top + row * (i - 1)
    commits = i > 1 && at_step[i] != at_step[i - 1]
    rect(448, py, 216, row, at_step[i] == 20 ? "#a8d1ff" : "#fbd0a8", " stroke=\"#ffffff\"")
    words(556, py + 15, "middle", "step " at_step[i])
    words(16, py + 15, "start", at_kind[i], commits ? bold : "")
    words(82, py + 15, "start", at_name[i] (times[i] > 1 ? ", " times[i] " times" : "") (commits ? ": the commit" : ""), commits ? bold : "")
    if (commits) across(16, 664, py, black, 1.5)
  }
  foot()
}
