# Turns the plain comments of a header into what Doxygen documents. The first block becomes the
# file's description. A block before a declaration becomes "///"; indented lines of a contract
# ("//   Ensures  …") keep their layout, because it carries meaning.
function flush(    i, line) {
  if (n == 0) return
  if (!opened) print "/// @file"
  for (i = 1; i <= n; i++) {
    line = block[i]
    sub(/^[ ]*\/\/ ?/, "", line)
    gsub(/[\\@<>#&$%]/, "\\\\&", line)
    gsub(/file:/, "file\\&zwj;:", line)
    if (line ~ /^\./) line = "\\" line
    print indent "/// " (line ~ /^ / ? "    " line : line)
    if (i < n && (line ~ /^ /) != (block[i + 1] ~ /^[ ]*\/\/  /)) print indent "///"
  }
  opened = 1
  n = 0
}
/^[ ]*\/\/($| )/ {
  if (n == 0) { match($0, /^ */); indent = substr($0, 1, RLENGTH) }
  block[++n] = $0
  next
}
{ 
  flush()
  if (match($0, /[;,{]  ?\/\/ /) && $0 !~ /"[^"]*\/\/[^"]*"/) sub(/ \/\/ /, " ///< ")
  print
}
END { flush() }
