#include "grader/parts/12_tensor_parallel/parallel_attention/dense.hpp"

#include "engine/base/units.hpp"
#include "grader/exam/function/dense_attention.hpp"

namespace lockstep::grader::parallel_attention {
namespace {

std::size_t index(AttentionWeight of) { return static_cast<std::size_t>(of); }

class Ranks {
 public:
  Ranks(const Problem& p, const Layer& layer) : p_(p), layer_(layer) {}

  LayerNumbers compute() const {
    LayerNumbers all;
    all.parameter_gradients.resize(layer_.parameters.size());
    for (std::size_t i = 0; i < layer_.parameters.size(); ++i) {
      all.parameter_gradients[i].resize(at(layer_.parameters[i].count));
    }
    for (std::size_t pass = 0; pass < p_.passes(); ++pass) {
      const Numbers &x = layer_.inputs[pass], &dy = layer_.output_gradients[pass];
      Numbers y(dy.size()), dx(x.size());
      for (int from = 0; from < p_.ranks(); ++from) {
        Numbers term, to_x;
        go_through(from, x, dy, term, to_x, all);
        add_numbers(y, term);
        add_numbers(dx, to_x);
      }
      add_to_rows(y, layer_.values[index(AttentionWeight::proj_bias)]);
      add_numbers(all.parameter_gradients[index(AttentionWeight::proj_bias)],
                  added_rows(p_.width(), dy));
      all.outputs.push_back(y);
      all.input_gradients.push_back(dx);
    }
    return all;
  }

 private:
  Numbers value(AttentionWeight of, int rank) const {
    return layer_.parameters[index(of)].deal.piece(rank, layer_.values[index(of)]);
  }
  void add_piece(LayerNumbers& all, AttentionWeight of, int rank, const Numbers& piece) const {
    const auto places = layer_.parameters[index(of)].deal.places(rank);
    for (std::size_t e = 0; e < piece.size(); ++e) {
      all.parameter_gradients[index(of)][at(places[e])] += piece[e];
    }
  }
  // The term of the output that `rank` makes, and back.
  void go_through(int rank, const Numbers& x, const Numbers& dy, Numbers& term, Numbers& to_x,
                  LayerNumbers& all) const {
    const std::int64_t own = p_.width() / p_.ranks();
    const DenseSizes in{p_.rows(), p_.width(), 3 * own}, out{p_.rows(), own, p_.width()};
    const std::int64_t heads = p_.heads / p_.ranks();
    const DenseAttention attention({p_.batch, p_.tokens, heads, own / heads});
    const Numbers weight = value(AttentionWeight::qkv_weight, rank),
                  back = value(AttentionWeight::proj_weight, rank);
    Numbers qkv = dense_output(in, x, weight);
    add_to_rows(qkv, value(AttentionWeight::qkv_bias, rank));
    const Numbers attended = attention.forward(qkv);
    term = dense_output(out, attended, back);
    const Numbers to_qkv = attention.backward(qkv, dense_to_input(out, dy, back));
    to_x = dense_to_input(in, to_qkv, weight);
    add_piece(all, AttentionWeight::proj_weight, rank, dense_to_weight(out, dy, attended));
    add_piece(all, AttentionWeight::qkv_weight, rank, dense_to_weight(in, to_qkv, x));
    add_piece(all, AttentionWeight::qkv_bias, rank, added_rows(3 * own, to_qkv));
  }

  const Problem& p_;
  const Layer& layer_;
};

// The rows of queries, keys and values that a rank has, `columns` numbers each.
LayerPart cut_by_heads(const std::string& name, const Problem& p, std::int64_t columns) {
  const std::int64_t width = p.width(), own = width / p.ranks();
  std::vector<std::vector<std::int64_t>> places;
  for (std::int64_t rank = 0; rank < p.ranks(); ++rank) {
    auto& mine = places.emplace_back();
    for (const std::int64_t which : {0, 1, 2}) {
      const std::int64_t first = (which * width + rank * own) * columns;
      for (std::int64_t e = 0; e < own * columns; ++e) mine.push_back(first + e);
    }
  }
  LayerPart part{name, Dealt({{name, 3 * width * columns}}, std::move(places)), {}, 0};
  part.count = 3 * width * columns;
  const Axes shape = columns == 1 ? Axes{3 * own} : Axes{3 * own, columns};
  part.shapes.assign(at(p.ranks()), shape);
  return part;
}

}  // namespace

std::string Problem::description() const {
  static const char* const misfits[] = {"", ", ranks do not divide the heads",
                                        ", x is wider than the weights",
                                        ", the projection back is too narrow"};
  return text(in_words(), ", ", counted(batch, "sample"), " of ", counted(tokens, "token"), ", ",
              counted(heads, "head"), " of size ", head_size,
              misfits[static_cast<std::size_t>(misfit)]);
}

Layer layer_of(const Problem& p, std::uint64_t salt) {
  const int n = p.ranks();
  const std::int64_t width = p.width();
  const Axes x{p.batch, p.tokens, width};
  Layer layer;
  layer.steps =
      "q, k and v of this rank's heads = x·(its rows of qkv)ᵀ + its rows of qkv_bias; attention in "
      "each head; the projection back, summed over the ranks, and its bias once";
  layer.input =
      held_by_all("x", {p.batch, p.tokens, width + (p.misfit == Misfit::input ? 1 : 0)}, n);
  layer.output = held_by_all("the output", x, n);
  layer.output_gradient = held_by_all("the gradient that arrives", x, n);
  layer.input_gradient = held_by_all("the gradient of x", x, n);
  const std::int64_t narrower = p.misfit == Misfit::projection ? n : 0;
  layer.parameters = {cut_by_heads("the qkv weight", p, width), cut_by_heads("the qkv bias", p, 1),
                      cut_along("the projection's weight", {width, width - narrower}, 1, n),
                      held_by_all("the projection's bias", {width}, n)};
  layer.options = {static_cast<std::int64_t>(AttentionAsked::layer), p.heads};
  draw_layer(p, salt, layer);
  // Small numbers keep the rounding of float32 inside a softmax small, too.
  if (p.dtype != DType::float64) {
    for (Numbers& one : layer.inputs) one = scaled_numbers(one, 0.125);
    for (Numbers& one : layer.values) one = scaled_numbers(one, 0.125);
  }
  if (p.misfit != Misfit::nothing) return layer;
  layer.right = Ranks(p, layer).compute();
  return layer;
}

}  // namespace lockstep::grader::parallel_attention
