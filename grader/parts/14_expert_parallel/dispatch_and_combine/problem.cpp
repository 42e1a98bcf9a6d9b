#include "grader/parts/14_expert_parallel/dispatch_and_combine/problem.hpp"

#include <algorithm>
#include <numeric>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::dispatch_and_combine {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// A tensor whose rows the ranks have, as many as `rows` says, one rank after the other.
LayerPart rows_of_ranks(const std::string& name, const std::vector<std::int64_t>& rows,
                        const Axes& row) {
  const std::int64_t size = row.empty() ? 1 : row.front();
  std::int64_t next = 0;
  LayerPart part{name, {{}, {}}, {}, 0};
  std::vector<std::vector<std::int64_t>> places;
  for (const std::int64_t count : rows) {
    auto& mine = places.emplace_back(at(count * size));
    std::iota(mine.begin(), mine.end(), next);
    next += count * size;
    part.shapes.push_back({count});
    part.shapes.back().insert(part.shapes.back().end(), row.begin(), row.end());
  }
  part.count = next;
  part.deal = Dealt({{name, next}}, std::move(places));
  return part;
}

// A place of any rank's plan, in the order of ranks and places.
struct Place {
  std::int64_t expert = 0;  // of all
  std::int64_t row = 0;     // of the token, among the tokens of all ranks
};

std::vector<Place> places_of(const Problem& p, std::uint64_t salt) {
  std::vector<Place> all;
  std::int64_t first = 0;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    for (const Route& one : plan_of(p, salt, rank).placed) {
      all.push_back({one.expert, first + one.token});
    }
    first += p.tokens[at(rank)];
  }
  return all;
}

// An expert makes 1 + y + max(y, 0) of a product with its matrix, as the adapter does. A slope is
// also that of a NaN.
double slope_at(double product) { return product <= 0 ? 1 : 2; }
double result_of(double product) { return 1 + slope_at(product) * product; }

struct Made {
  Numbers output{}, to_tokens{}, to_weights{};
  std::vector<Numbers> to_experts{};  // by expert of all
};

Made computed(const Problem& p, const Layer& layer, const std::vector<Place>& places,
              std::size_t pass) {
  const std::size_t h = at(p.width);
  const Numbers &x = layer.inputs[pass], &g = layer.output_gradients[pass];
  const Numbers& weights = layer.values.front();
  Made made{Numbers(x.size()), Numbers(x.size()), Numbers(weights.size()),
            std::vector<Numbers>(at(p.experts), Numbers(h * h))};
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t row = at(places[i].row) * h;
    const auto expert = at(places[i].expert), own = at(p.own());
    const Numbers& matrix = layer.values[1 + expert % own];  // of all ranks, one after the other
    const std::size_t first = expert / own * h * h;
    for (std::size_t o = 0; o < h; ++o) {
      double product = 0;
      for (std::size_t c = 0; c < h; ++c) product += matrix[first + o * h + c] * x[row + c];
      made.output[row + o] += weights[i] * result_of(product);
      made.to_weights[i] += g[row + o] * result_of(product);
      const double back = weights[i] * g[row + o] * slope_at(product);
      for (std::size_t c = 0; c < h; ++c) {
        made.to_tokens[row + c] += back * matrix[first + o * h + c];
        made.to_experts[expert][o * h + c] += back * x[row + c];
      }
    }
  }
  return made;
}

LayerNumbers numbers_of(const Problem& p, const Layer& layer, const std::vector<Place>& places) {
  LayerNumbers all;
  const std::size_t h = at(p.width), own = at(p.own());
  all.parameter_gradients.emplace_back(layer.values.front().size());
  for (std::size_t i = 0; i < own; ++i) {
    all.parameter_gradients.emplace_back(h * h * static_cast<std::size_t>(p.ranks()));
  }
  for (std::size_t pass = 0; pass < p.passes(); ++pass) {
    Made made = computed(p, layer, places, pass);
    all.outputs.push_back(std::move(made.output));
    all.input_gradients.push_back(std::move(made.to_tokens));
    for (std::size_t i = 0; i < made.to_weights.size(); ++i) {
      all.parameter_gradients.front()[i] += made.to_weights[i];
    }
    for (std::size_t e = 0; e < made.to_experts.size(); ++e) {
      for (std::size_t i = 0; i < h * h; ++i) {
        all.parameter_gradients[1 + e % own][e / own * h * h + i] += made.to_experts[e][i];
      }
    }
  }
  return all;
}

}  // namespace

std::string Problem::description() const {
  static const char* const kinds[] = {"", ", all tokens choose expert 0 first", ", evenly chosen"};
  static const char* const misfits[] = {"", ", experts that the ranks do not divide",
                                        ", a token more than the plan has",
                                        ", a weight less than there are places"};
  return text(in_words(), ", ", listed(tokens), " tokens of width ", width, ", ",
              counted(experts, "expert"), ", ", counted(k, "choice"), " each",
              capacity == INT64_MAX ? std::string() : text(", ", counted(capacity, "slot")),
              kinds[static_cast<std::size_t>(choices)], misfits[static_cast<std::size_t>(misfit)]);
}

SlotPlan plan_of(const Problem& p, std::uint64_t salt, int rank) {
  const std::int64_t tokens = p.tokens[at(rank)];
  SlotPlan plan{tokens, p.experts, std::min(p.capacity, tokens), {}};
  const std::uint64_t key = keyed_bits(salt, 900 + static_cast<std::uint64_t>(rank));
  std::vector<std::vector<Route>> of_experts(at(p.experts));
  for (std::int64_t choice = 0; choice < p.k; ++choice) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto drawn = static_cast<std::int64_t>(keyed_bits(key, at(t)) % at(p.experts));
      const std::int64_t first = p.choices == Choices::to_one ? 0
                                 : p.choices == Choices::even ? t
                                                              : drawn;
      const std::int64_t expert = (first + choice) % p.experts;
      auto& placed = of_experts[at(expert)];
      if (std::ssize(placed) < plan.capacity) placed.push_back({t, expert, choice, 0});
    }
  }
  for (const auto& placed : of_experts) {
    plan.placed.insert(plan.placed.end(), placed.begin(), placed.end());
  }
  return plan;
}

Layer layer_of(const Problem& p, std::uint64_t salt) {
  std::vector<std::int64_t> places;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    places.push_back(std::ssize(plan_of(p, salt, rank).placed));
  }
  std::vector<std::int64_t> rows = p.tokens;
  // On all ranks: what one refuses alone, the others would wait for.
  for (std::int64_t& count : rows) count += p.misfit == Misfit::tokens ? 1 : 0;
  for (std::int64_t& count : places) count -= p.misfit == Misfit::weights ? 1 : 0;
  Layer layer;
  layer.steps =
      "rows, counts and weights go in one order: by rank, its experts, and tokens; another rank "
      "may send any number of rows; what comes back goes to the place it came from";
  layer.input = rows_of_ranks("the tokens", rows, {p.width});
  layer.output = rows_of_ranks("the output", p.tokens, {p.width});
  layer.output_gradient = rows_of_ranks("the gradient that arrives", p.tokens, {p.width});
  layer.input_gradient = rows_of_ranks("the tokens", p.tokens, {p.width});
  layer.parameters.push_back(rows_of_ranks("the weights of the places", places, {}));
  for (std::int64_t e = 0; e < p.own(); ++e) {
    layer.parameters.push_back(
        own_of_each(text("the matrix of a rank's expert ", e), {p.width, p.width}, p.ranks()));
  }
  draw_layer(p, salt, layer);
  if (p.misfit != Misfit::nothing) return layer;
  const std::vector<Place> right = places_of(p, salt);
  for (std::int64_t rank = 0; rank < p.ranks(); ++rank) {
    const bool idle =
        std::ranges::none_of(right, [&](const Place& one) { return one.expert / p.own() == rank; });
    for (std::size_t i = 1; i < layer.parameters.size(); ++i) {
      layer.parameters[i].unused.push_back(
          idle ? text("no row goes to the experts of rank ", rank,
                      ", and `mine` was not called there; call `mine` also without rows")
               : std::string());
    }
  }
  layer.right = numbers_of(p, layer, right);
  return layer;
}

}  // namespace lockstep::grader::dispatch_and_combine
