# Draws memory.svg: what training holds for 7 billion parameters, by recipe, without activations. The bytes of each kind are
# those of the table in engine/plan/model_memory.hpp.
#   awk -f lessons/chart.awk -f lessons/01_why_distribute/memory.awk >memory.svg
# Bytes for each parameter: weights, gradients, master copy, optimizer state.
function recipe(label, weights, gradients, master, state,    bytes, kind, from, top) {
  top = 62 + 38 * rows++
  split(weights " " gradients " " master " " state, bytes, " ")
  words(180, top + 17, "end", label)
  for (kind = 1; kind <= 4; kind++) {
    if (bytes[kind] > 0) rect(x(from), top, x(bytes[kind] * billions) - x(0), 24, colours[kind])
    from += bytes[kind] * billions
  }
  words(x(from) + 6, top + 17, "start", from " GB")
}
BEGIN {
  billions = 7
  x_scale(0, 190, 120, 660)
  split("#0a3069 #54aeff #8250df #fb8f44", colours, " ")
  split("weights,gradients,master copy,optimizer state", names, ",")
  head(740, 368)
  for (kind = 1; kind <= 4; kind++) key(65 + 125 * kind, 14, 14, 14, names[kind], colours[kind])
  recipe("SGD, float32", 4, 4, 0, 0)
  recipe("momentum, float32", 4, 4, 0, 4)
  recipe("Adam, float32", 4, 4, 0, 8)
  recipe("Adam, bf16 + master copy", 2, 2, 4, 8)
  recipe("Adam, bf16, f32 moments", 2, 2, 0, 8)
  recipe("Adam, bfloat16 throughout", 2, 2, 0, 4)
  recipe("inference, bfloat16", 2, 0, 0, 0)
  down(x(80), 44, 330, "#cf222e", 1.5, dashed(5, 4))
  words(x(80), 350, "middle", "one 80 GB device")
  foot()
}
