# Draws memory.svg: what training holds for 7 billion parameters, by recipe, without activations. The
# bytes of each kind are those of the table in engine/plan/model_memory.hpp.
#   awk -f memory.awk >memory.svg
function words(px, py, anchor, said) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", px, py, anchor, said
}
function x(gb) { return left + gb * width / 120 }
# Bytes for each parameter: weights, gradients, master copy, optimizer state.
function recipe(label, weights, gradients, master, state,    bytes, kind, from, y) {
  y = 62 + 38 * rows++
  split(weights " " gradients " " master " " state, bytes, " ")
  words(left - 10, y + 17, "end", label)
  from = 0
  for (kind = 1; kind <= 4; kind++) {
    if (bytes[kind] == 0) continue
    printf "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"24\" fill=\"%s\"/>\n", x(from), y,
           x(from + bytes[kind] * billions) - x(from), colours[kind]
    from += bytes[kind] * billions
  }
  words(x(from) + 6, y + 17, "start", from " GB")
}
BEGIN {
  billions = 7; left = 190; width = 470; rows = 0
  split("#0a3069 #54aeff #8250df #fb8f44", colours, " ")
  split("weights,gradients,master copy,optimizer state", names, ",")
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 368\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\">"
  print "<rect width=\"740\" height=\"368\" fill=\"#ffffff\"/>"
  for (kind = 1; kind <= 4; kind++) {
    printf "<rect x=\"%d\" y=\"14\" width=\"14\" height=\"14\" fill=\"%s\"/>\n", left + 125 * (kind - 1), colours[kind]
    words(left + 125 * (kind - 1) + 20, 26, "start", names[kind])
  }
  recipe("SGD, float32", 4, 4, 0, 0)
  recipe("momentum, float32", 4, 4, 0, 4)
  recipe("Adam, float32", 4, 4, 0, 8)
  recipe("Adam, bf16 + master copy", 2, 2, 4, 8)
  recipe("Adam, bf16, f32 moments", 2, 2, 0, 8)
  recipe("Adam, bfloat16 throughout", 2, 2, 0, 4)
  recipe("inference, bfloat16", 2, 0, 0, 0)
  printf "<path d=\"M%.1f 44V330\" stroke=\"#cf222e\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"/>\n", x(80)
  words(x(80), 350, "middle", "one 80 GB device")
  print "</svg>"
}
