# Draws growth.svg: chain, fan and time of three broadcasts over the number of ranks, all on logarithmic scales. Called by
# figures.sh with lines
#   NAME RANKS TIME_US DEPTH FAN
!($1 in seen) { seen[$1] = 1; name[++shapes] = $1 }
{ point($1 1, $2, $4); point($1 2, $2, $5); point($1 3, $2, $3 / 1000) }
END {
  title[1] = "longest chain of messages"; title[2] = "most messages of one rank"; title[3] = "time in milliseconds"
  colour["star"] = "#bc4c00"; colour["chain"] = "#8250df"; colour["tree"] = "#0969da"
  wide["star"] = 5; wide["chain"] = wide["tree"] = 2.4
  head(740, 300)
  for (s = 1; s <= shapes; s++) sample(90 * s - 42, 18, 26, name[s], colour[name[s]], wide[name[s]])
  for (p = 1; p <= 3; p++) {
    left = 248 * p - 200
    x_scale(2, left, 1024, left + 178, "log")
    if (p < 3) y_scale(1, 256, 1000, 68.5, "log")
    else y_scale(0.01, 256, 10, 79.53, "log")
    words(left, 46, "start", title[p])
    y_ticks(p < 3 ? "1|10|100|1000" : "0.01|0.1|1|10", left, left + 178)
    x_ticks("2|16|128|1024", 274)
    words(left + 89, 292, "middle", "ranks")
    for (s = 1; s <= shapes; s++) line(name[s] p, colour[name[s]], wide[name[s]])
  }
  foot()
}
