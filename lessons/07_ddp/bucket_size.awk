# Draws bucket_size.svg: the time of a step over the size of a bucket, on two clusters. Called by figures.sh with lines
#   CLUSTER MIB TIME UNIT
{
  ms = $3 * ($4 == "s" ? 1000 : 1)
  point($1, $2 < 0.7 ? 0.7 : $2, ms)
  if (!($1 in least) || ms < least[$1]) { least[$1] = ms; best[$1] = $2 }
}
END {
  colour["ethernet"] = "#bc4c00"; colour["h100"] = "#0969da"
  head(740, 306)
  words(20, 18, "start", "time of a step, 16 GPUs, 345 MB of gradients", bold)
  x_scale(1, 110, 1024, 770, "log"); y_scale(0, 250, 150, 40)
  y_ticks("0|50|100|150=150 ms", 62, 720)
  x_ticks("0.7=one by one|2|8|32|128|400=one", 270)
  for (c = 1; c <= all_series; c++) {
    k = series[c]
    line(k, colour[k], 2.2)
    dot(x(best[k]), y(least[k]), 4, colour[k])
    words(x(best[k]), y(least[k]) + 20, "middle", sprintf("%s: %.1f ms at %s MiB", k, least[k], best[k]), ink(colour[k]))
  }
  words(400, 294, "middle", "size of a bucket, MiB")
  simulated(720, 18, "float32, A100 at 15.8 and H100 at 53.8 TFLOP/s")
  foot()
}
