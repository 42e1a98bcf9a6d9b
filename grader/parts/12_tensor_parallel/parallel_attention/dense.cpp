#include "grader/parts/12_tensor_parallel/parallel_attention/dense.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/units.hpp"

namespace lockstep::grader::parallel_attention {
namespace {

std::size_t index(AttentionWeight of) { return static_cast<std::size_t>(of); }

// Causal attention of `heads` heads of size D over [B, T, 3·C], C = heads·D.
class Attention {
 public:
  Attention(std::int64_t batch, std::int64_t tokens, std::int64_t width, std::int64_t heads)
      : batch_(batch), tokens_(tokens), width_(width), heads_(heads), size_(width / heads) {}

  Numbers forward(const Numbers& qkv) const {
    Numbers output(at(batch_ * tokens_ * width_));
    each_query(qkv, [&](std::int64_t b, std::int64_t h, std::int64_t t, const Numbers& shares) {
      for (std::int64_t s = 0; s <= t; ++s) {
        for (std::int64_t d = 0; d < size_; ++d) {
          output[at((b * tokens_ + t) * width_ + h * size_ + d)] +=
              shares[at(s)] * qkv[place(b, s, 2, h, d)];
        }
      }
    });
    return output;
  }
  Numbers backward(const Numbers& qkv, const Numbers& grad) const {
    Numbers all(qkv.size());
    const double scale = 1 / std::sqrt(static_cast<double>(size_));
    each_query(qkv, [&](std::int64_t b, std::int64_t h, std::int64_t t, const Numbers& shares) {
      const auto g = [&](std::int64_t d) {
        return grad[at((b * tokens_ + t) * width_ + h * size_ + d)];
      };
      Numbers of_shares(at(t + 1));
      double mean = 0;
      for (std::int64_t s = 0; s <= t; ++s) {
        for (std::int64_t d = 0; d < size_; ++d) {
          of_shares[at(s)] += g(d) * qkv[place(b, s, 2, h, d)];
          all[place(b, s, 2, h, d)] += shares[at(s)] * g(d);
        }
        mean += shares[at(s)] * of_shares[at(s)];
      }
      for (std::int64_t s = 0; s <= t; ++s) {
        const double of_score = scale * shares[at(s)] * (of_shares[at(s)] - mean);
        for (std::int64_t d = 0; d < size_; ++d) {
          all[place(b, t, 0, h, d)] += of_score * qkv[place(b, s, 1, h, d)];
          all[place(b, s, 1, h, d)] += of_score * qkv[place(b, t, 0, h, d)];
        }
      }
    });
    return all;
  }

 private:
  // Queries are 0, keys 1, values 2.
  std::size_t place(std::int64_t b, std::int64_t t, std::int64_t which, std::int64_t h,
                    std::int64_t d) const {
    return at((b * tokens_ + t) * 3 * width_ + which * width_ + h * size_ + d);
  }
  // Calls visit(b, h, t, shares) with the softmax of each query's scores.
  void each_query(const Numbers& qkv, const auto& visit) const {
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::int64_t h = 0; h < heads_; ++h) {
        for (std::int64_t t = 0; t < tokens_; ++t) visit(b, h, t, shares_of(qkv, b, h, t));
      }
    }
  }
  Numbers shares_of(const Numbers& qkv, std::int64_t b, std::int64_t h, std::int64_t t) const {
    Numbers shares(at(t + 1));
    for (std::int64_t s = 0; s <= t; ++s) {
      for (std::int64_t d = 0; d < size_; ++d) {
        shares[at(s)] += qkv[place(b, t, 0, h, d)] * qkv[place(b, s, 1, h, d)];
      }
      shares[at(s)] /= std::sqrt(static_cast<double>(size_));
    }
    const double most = *std::max_element(shares.begin(), shares.end());
    double sum = 0;
    for (double& share : shares) sum += share = std::exp(share - most);
    for (double& share : shares) share /= sum;
    return shares;
  }

  std::int64_t batch_, tokens_, width_, heads_, size_;
};

struct Ways {
  bool sums_terms = true, sums_to_x = true;
  double bias_times = 1;
  double back_times = 1;   // of the gradient, behind the projection
  double to_x_times = 1;   // of x's gradient
  std::int64_t heads = 0;  // that are sought in the rank's columns; 0: its own
};

class Ranks {
 public:
  Ranks(const Problem& p, const Layer& layer) : p_(p), layer_(layer) {}

  // Wholes as `rank` has its pieces of them.
  LayerNumbers compute(const Ways& ways, int rank) const {
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
        go_through(ways, from, x, scaled_numbers(dy, ways.back_times), term, to_x, all);
        if (ways.sums_terms || from == rank) add_numbers(y, term);
        if (ways.sums_to_x || from == rank) add_numbers(dx, to_x);
      }
      add_to_rows(y, layer_.values[index(AttentionWeight::proj_bias)], ways.bias_times);
      add_numbers(all.parameter_gradients[index(AttentionWeight::proj_bias)],
                  added_rows(p_.width(), dy));
      all.outputs.push_back(y);
      all.input_gradients.push_back(scaled_numbers(dx, ways.to_x_times));
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
  void go_through(const Ways& ways, int rank, const Numbers& x, const Numbers& dy, Numbers& term,
                  Numbers& to_x, LayerNumbers& all) const {
    const std::int64_t own = p_.width() / p_.ranks();
    const DenseSizes in{p_.rows(), p_.width(), 3 * own}, out{p_.rows(), own, p_.width()};
    const Attention attention(p_.batch, p_.tokens, own,
                              ways.heads > 0 ? ways.heads : p_.heads / p_.ranks());
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

std::vector<Mistake<LayerNumbers>> mistakes_of(const Problem& p, const Layer& layer, int rank) {
  std::vector<Mistake<LayerNumbers>> all;
  const double n = p.ranks();
  const auto add = [&](const std::string& name, const std::string& sentence, const Ways& ways) {
    all.push_back({{name, sentence}, Ranks(p, layer).compute(ways, rank)});
  };
  add("terms_not_summed",
      "this is the term of the rank's own heads; the projection back is row-parallel, and its "
      "terms are summed over the ranks",
      {.sums_terms = false});
  add("input_not_summed",
      "this is what the rank's own heads have from x; the gradients of all ranks are summed",
      {.sums_to_x = false});
  add("bias_times_ranks",
      "the bias of the projection back is in every rank's term; add it once, after the sum",
      {.bias_times = n});
  add("no_bias", "the bias of the projection back is missing", {.bias_times = 0});
  add("summed_again",
      "the gradient of the output is summed over the ranks, but every rank has all of it already",
      {.back_times = n});
  add("averaged", "the gradient of x is averaged; the ranks' gradients are shares, and summed",
      {.to_x_times = 1 / n});
  const std::int64_t columns = p.width() / p.ranks(), own = p.heads / p.ranks();
  for (std::int64_t heads = 1; heads <= columns; ++heads) {
    if (columns % heads != 0 || heads == own) continue;
    const bool of_all = heads == p.heads;
    add(of_all ? "heads_of_all" : "other_heads",
        of_all ? std::string("the rank's columns are divided among the heads of all ranks; it has "
                             "whole heads, heads / t of them")
               : text("the rank's columns are taken for ", counted(heads, "head"),
                      ", and it has heads / t = ", own),
        {.heads = heads});
  }
  return all;
}

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
  layer.right = Ranks(p, layer).compute({}, 0);
  layer.mistakes = [p, copy = layer](int rank) { return mistakes_of(p, copy, rank); };
  return layer;
}

}  // namespace lockstep::grader::parallel_attention
