# A screen of a terminal, as `tmux capture-pane -e -p` prints it, drawn as SVG. Knows bold, the
# sixteen colours and their reset; other sequences are left out. -v columns=N sets the width.
function hex(code) {
  if (code >= 90) code -= 60
  return "#" substr("6e7681ff7b723fb950d2992258a6ffbc8cff39c5cfe6edf3", (code - 30) * 6 + 1, 6)
}
function escaped(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); return s }
function style(codes,    list, count, i) {
  count = split(codes, list, ";")
  if (count == 0) { colour = ""; bold = ""; return }
  for (i = 1; i <= count; i++) {
    if (list[i] + 0 == 0) { colour = ""; bold = "" }
    else if (list[i] == 1) bold = " font-weight=\"bold\""
    else if (list[i] == 39) colour = ""
    else if (list[i] == 22) bold = ""
    else if ((list[i] >= 30 && list[i] <= 37) || (list[i] >= 90 && list[i] <= 97))
      colour = " fill=\"" hex(list[i] + 0) "\""
  }
}
function span(s) {
  if (s == "") return ""
  return colour bold == "" ? escaped(s) : "<tspan" colour bold ">" escaped(s) "</tspan>"
}
{
  rest = $0
  drawn = ""
  while (match(rest, /\033\[[0-9;]*[A-Za-z]/)) {
    drawn = drawn span(substr(rest, 1, RSTART - 1))
    sequence = substr(rest, RSTART + 2, RLENGTH - 3)
    if (substr(rest, RSTART + RLENGTH - 1, 1) == "m") style(sequence)
    rest = substr(rest, RSTART + RLENGTH)
  }
  lines[NR] = drawn span(rest)
  if (lines[NR] != "") last = NR
}
END {
  if (!columns) columns = 90
  width = columns * 8.43 + 32
  height = last * 19 + 32
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"ui-monospace,DejaVu Sans Mono,monospace\" font-size=\"14\" fill=\"#e6edf3\">\n", width, height
  printf "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#0d1117\"/>\n", width, height
  for (i = 1; i <= last; i++)
    printf "<text x=\"16\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", 13 + i * 19, lines[i]
  print "</svg>"
}
