# Draws cycle_time.svg: the time of a step over Horovod's cycle time, on two clusters, beside DDP's. Called by figures.sh
# with lines
#   CLUSTER MS TIME      Horovod's step, in ms
#   CLUSTER ddp TIME     DDP's
$2 == "ddp" { ddp[$1] = $3; next }
{ point($1, $2, $3); last[$1] = $3 }
END {
  colour["ethernet"] = "#bc4c00"; colour["h100"] = "#0969da"
  head(740, 306)
  words(20, 18, "start", "time of a step, 16 GPUs, 345 MB of gradients", bold)
  x_scale(0, 70, 50, 695); y_scale(0, 250, 150, 40)
  y_ticks("0|50|100|150=150 ms", 62, 720)
  x_ticks("0|10|20|30|40|50", 270)
  for (c = 1; c <= all_series; c++) {
    k = series[c]
    across(70, 720, y(ddp[k]), colour[k], 1, dashed(5, 4))
    line(k, colour[k], 2.2)
    words(695, y(last[k]) - 8, "end", k, ink(colour[k]))
    words(x(28), y(ddp[k]) + 16, "end", sprintf("DDP: %.1f ms", ddp[k]), ink(colour[k]))
  }
  words(400, 294, "middle", "cycle time, ms")
  simulated(720, 18, "float32, A100 at 15.8 and H100 at 53.8 TFLOP/s")
  foot()
}
