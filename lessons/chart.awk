# What the figures of the lessons are drawn with: a page, words, bars, lines, and a plane with two axes. Comes before the
# script of a figure:
#   awk -f lessons/chart.awk -f lessons/01_why_distribute/memory.awk >memory.svg
# Places are those of the picture, right and down from its corner. `more` is for other attributes of an element.
BEGIN { bold = " font-weight=\"bold\""; grid = "#d8dee4"; black = "#1f2328" }
function ink(colour) { return " fill=\"" colour "\"" }
function dashed(on, off) { return " stroke-dasharray=\"" on " " off "\"" }

# A number with as many digits, without zeros at its end.
function short(v, digits) {
  v = sprintf("%." digits "f", v)
  if (digits > 0) sub(/\.?0+$/, "", v)
  return v == "-0" ? "0" : v
}
function head(width, height, size) {
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " width " " height "\" font-family=\"sans-serif\" font-size=\"" \
    (size ? size : 13) "\" fill=\"" black "\">"
  rect(0, 0, width, height, "#ffffff")
}
function foot() { print "</svg>" }
function words(px, py, anchor, said, more) {
  print "<text x=\"" short(px, 1) "\" y=\"" short(py, 1) "\" text-anchor=\"" anchor "\"" more ">" said "</text>"
}
# What a run was simulated with: devices, dtype and rate. A figure of a simulated run says it.
function simulated(px, py, with) { words(px, py, "end", "simulated: " with, " font-size=\"11\"" ink("#59636e")) }
function rect(left, top, width, height, fill, more) {
  print "<rect x=\"" short(left, 2) "\" y=\"" short(top, 2) "\" width=\"" short(width, 2) "\" height=\"" short(height, 2) \
    "\" fill=\"" fill "\"" more "/>"
}
function path(d, colour, width, more) {
  print "<path d=\"" d "\" fill=\"none\" stroke=\"" colour "\"" (width ? " stroke-width=\"" width "\"" : "") more "/>"
}
function across(left, right, py, colour, width, more) {
  path("M" short(left, 1) " " short(py, 1) "H" short(right, 1), colour, width, more)
}
function down(px, top, bottom, colour, width, more) {
  path("M" short(px, 1) " " short(top, 1) "V" short(bottom, 1), colour, width, more)
}
function dot(px, py, radius, colour) {
  print "<circle cx=\"" short(px, 1) "\" cy=\"" short(py, 1) "\" r=\"" radius "\" fill=\"" colour "\"/>"
}

# The plane. x_scale(2, 70, 1024, 720, "log"): x(2) is 70, x(1024) is 720, and the scale is logarithmic.
function on_scale(v, kind) { return kind == "log" ? log(v) : v }
function x_scale(v, px, w, qx, kind) {
  x_kind = kind; x_begin = px; x_low = on_scale(v, kind)
  x_step = (qx - px) / (on_scale(w, kind) - x_low)
}
function y_scale(v, py, w, qy, kind) {
  y_kind = kind; y_begin = py; y_low = on_scale(v, kind)
  y_step = (qy - py) / (on_scale(w, kind) - y_low)
}
function x(v) { return x_begin + (on_scale(v, x_kind) - x_low) * x_step }
function y(v) { return y_begin + (on_scale(v, y_kind) - y_low) * y_step }

# Ticks are values, with words where those differ: "0|50|100=100 ms". Those of y have lines from left to right.
function y_ticks(ticks, left, right,  n, i, all, tick) {
  n = split(ticks, all, "|")
  for (i = 1; i <= n; i++) {
    split(all[i] "=" all[i], tick, "=")
    across(left, right, y(tick[1]), grid)
    if (tick[2] != "") words(left - 6, y(tick[1]) + 4, "end", tick[2])
  }
}
function x_ticks(ticks, py,  n, i, all, tick) {
  n = split(ticks, all, "|")
  for (i = 1; i <= n; i++) {
    split(all[i] "=" all[i], tick, "=")
    words(x(tick[1]), py, "middle", tick[2])
  }
}
# Ticks from `from` to `to`, the last one with its unit.
function ticks_to(from, to, step, unit,  v, ticks) {
  for (v = from; v <= to + step / 1e6; v += step) ticks = ticks (v == from ? "" : "|") v (v + step > to + step / 1e6 ? "=" v unit : "")
  return ticks
}

# Points of named series, which are drawn on the plane of that moment.
function point(name, v, w) {
  if (!(name in points)) series[++all_series] = name
  ++points[name]
  at_x[name, points[name]] = v; at_y[name, points[name]] = w
}
function line(name, colour, width, more,  i, d) {
  for (i = 1; i <= points[name]; i++) d = d (i == 1 ? "M" : "L") short(x(at_x[name, i]), 1) " " short(y(at_y[name, i]), 1)
  path(d, colour, width, " stroke-linejoin=\"round\"" more)
}

# Legends: a line and its words, or a coloured box and its words.
function sample(left, py, length_of_line, said, colour, width, more) {
  across(left, left + length_of_line, py, colour, width, more)
  words(left + length_of_line + 6, py + 4, "start", said)
}
function key(left, top, width, height, said, colour) {
  rect(left, top, width, height, colour)
  words(left + width + 6, top + height / 2 + 5, "start", said)
}
