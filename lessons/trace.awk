# What the pictures and counts of a trace share: how a line of a trace for Perfetto, or of a training log,
# is read. Comes before the script that uses it:
#   awk -f lessons/trace.awk -f lessons/07_ddp/waits.awk FILE.json

# The value of a line's field, a string without its quotation marks; "" if the line has no such field.
function field(name,  at, rest) {
  at = index($0, "\"" name "\":")
  if (at == 0) return ""
  rest = substr($0, at + length(name) + 3)
  sub(/^"/, "", rest)
  sub(/[",}].*/, "", rest)
  return rest
}
