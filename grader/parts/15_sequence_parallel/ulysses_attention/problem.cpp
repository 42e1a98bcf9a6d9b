#include "grader/parts/15_sequence_parallel/ulysses_attention/problem.hpp"

#include <limits>

#include "engine/base/units.hpp"

namespace lockstep::grader::ulysses_attention {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

LayerPart by_tokens(const std::string& name, const Problem& p, std::int64_t columns) {
  const std::vector<Positions> slices = p.slices();
  LayerPart part{name, dealt_by_tokens(name, slices, p.batch, columns, 0, columns), {}, 0};
  part.count = p.batch * p.tokens * columns;
  for (const Positions& slice : slices) part.shapes.push_back({p.batch, slice.count(), columns});
  return part;
}

LayerNumbers computed(const Problem& p, const Layer& layer) {
  const DenseAttention attention({p.batch, p.tokens, p.heads, p.head_size});
  LayerNumbers all;
  for (std::size_t pass = 0; pass < p.passes(); ++pass) {
    const Numbers& qkv = layer.inputs[pass];
    all.outputs.push_back(attention.forward(qkv));
    all.input_gradients.push_back(attention.backward(qkv, layer.output_gradients[pass]));
  }
  return all;
}

// Shapes that do not fit. What they hold does not matter.
void misfit(const Problem& p, Layer& layer) {
  const std::int64_t own = p.slices().front().count(), columns = 3 * p.width();
  Axes shape{p.batch, own, columns};
  if (p.misfit == Misfit::few) shape[1] = 1;
  if (p.misfit == Misfit::slice) ++shape[1];
  if (p.misfit == Misfit::columns) ++shape[2];
  layer.input = own_of_each("qkv", shape, p.ranks());
}

}  // namespace

std::string Problem::description() const {
  static const char* const misfits[] = {
      "", ", ranks do not divide the heads", ", fewer tokens than ranks",
      ", a token more than a slice has", ", a column more than queries, keys and values have"};
  return text(in_words(), ", ", counted(batch, "sample"), " of ", counted(tokens, "token"), ", ",
              counted(heads, "head"), " of size ", head_size,
              misfits[static_cast<std::size_t>(misfit)]);
}

Layer layer_of(const Problem& p, std::uint64_t salt) {
  const std::int64_t width = p.width();
  Layer layer;
  layer.steps =
      "a rank gets its heads of the queries, of the keys and of the values, which are three parts "
      "of the 3·C columns, of all tokens in order; attention; and back";
  layer.input = by_tokens("qkv", p, 3 * width);
  layer.output = by_tokens("the output", p, width);
  layer.output_gradient = by_tokens("the gradient that arrives", p, width);
  layer.input_gradient = by_tokens("the gradient of qkv", p, 3 * width);
  layer.options = {p.heads, p.tokens};
  if (p.misfit != Misfit::nothing) misfit(p, layer);
  Problem plain = p;
  if (p.odd_in == LayerProblem::Where::input) plain.odd = Odd::none;
  draw_layer(plain, salt, layer);
  if (p.dtype != DType::float64) {  // small numbers keep the rounding inside a softmax small
    for (Numbers& one : layer.inputs) one = scaled_numbers(one, 0.125);
  }
  if (p.misfit != Misfit::nothing) return layer;
  if (p.odd_in == LayerProblem::Where::input && p.odd != Odd::none) {
    // In a value of the token in the middle: scores stay numbers.
    for (Numbers& one : layer.inputs) {
      double& value = one[at((p.tokens / 2) * 3 * width + 2 * width)];
      if (p.odd == Odd::not_a_number) value = std::numeric_limits<double>::quiet_NaN();
      if (p.odd == Odd::infinity) value = std::numeric_limits<double>::infinity();
      if (p.odd == Odd::zeros) one.assign(one.size(), 0);
    }
  }
  layer.right = computed(p, layer);
  return layer;
}

}  // namespace lockstep::grader::ulysses_attention
