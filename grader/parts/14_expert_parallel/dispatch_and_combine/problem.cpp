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
  std::int64_t rank = 0, expert = 0;
  std::int64_t row = 0;          // of the token, among the tokens of all ranks
  std::size_t comes_from = 0;    // the place whose token the expert is given
  std::int64_t computed_by = 0;  // which of all experts
};

std::vector<Place> places_of(const Problem& p, std::uint64_t salt) {
  std::vector<Place> all;
  std::int64_t first = 0;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    for (const Route& one : plan_of(p, salt, rank).placed) {
      all.push_back({rank, one.expert, first + one.token, all.size(), one.expert});
    }
    first += p.tokens[at(rank)];
  }
  return all;
}

// Departures from the contract.
struct Ways {
  enum class Rows : std::uint8_t {
    right,
    not_by_expert,    // rows are given to the experts in the order of ranks
    not_put_back,     // results go back in the order of experts
    sorted_again,     // results are put in the order of experts once more
    lists_exchanged,  // both lists are in each other's place
    inverse_twice,    // the list for the way back is the one for both ways
    not_exchanged,    // each rank computes its own rows with its own experts
    experts_in_turn,  // expert e is rank e % N's
    counted_in_turn   // the same, and rows stay in the order of experts
  } rows = Rows::right;
  enum class Weighed : std::uint8_t { after, before, twice, never } weighed = Weighed::after;
  enum class Sum : std::uint8_t { sum, last, mean } sum = Sum::sum;
  bool dropped_pass_through = false;
};

// The rows that a rank's experts get: by rank, and wanted by expert.
void misplace_on(std::int64_t rank, const Problem& p, Ways::Rows rows, std::vector<Place>& all) {
  std::vector<std::size_t> by_rank;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].expert / p.own() == rank) by_rank.push_back(i);
  }
  std::vector<std::size_t> by_expert = by_rank;
  std::ranges::stable_sort(by_expert, {}, [&](std::size_t i) { return all[i].expert; });
  std::vector<std::size_t> same(by_rank.size()), sorts(same), inverse(same);
  for (std::size_t i = 0; i < same.size(); ++i) {
    same[i] = i;
    sorts[i] = at(std::ranges::lower_bound(by_rank, by_expert[i]) - by_rank.begin());
    inverse[sorts[i]] = i;
  }
  using enum Ways::Rows;
  const bool inverted = rows == lists_exchanged || rows == inverse_twice;
  const auto& there = rows == not_by_expert ? same : inverted ? inverse : sorts;
  const auto& back = rows == inverse_twice                             ? inverse
                     : rows == sorted_again || rows == lists_exchanged ? sorts
                                                                       : same;
  for (std::size_t i = 0; i < same.size(); ++i) {
    Place& one = all[by_rank[i]];
    one.comes_from = by_rank[there[back[i]]];
    one.computed_by = all[by_expert[back[i]]].expert;
  }
}

// As if expert e were rank e % N's: by rank, the counts are of other experts than the rows.
void misplace_in_turn(const Problem& p, Ways::Rows rows, std::vector<Place>& all) {
  for (Place& one : all) {
    one.computed_by = one.expert % p.ranks() * p.own() + one.expert / p.ranks();
  }
  if (rows != Ways::Rows::counted_in_turn) return;
  std::vector<std::pair<std::int64_t, std::int64_t>> counted;  // by rank
  for (const Place& one : all) counted.emplace_back(one.rank, one.computed_by);
  std::ranges::stable_sort(counted);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].computed_by = counted[i].second;
}

void misplace(const Problem& p, Ways::Rows rows, std::vector<Place>& all) {
  using enum Ways::Rows;
  if (rows == right) return;
  if (rows == experts_in_turn || rows == counted_in_turn) return misplace_in_turn(p, rows, all);
  if (rows == not_exchanged) {
    for (Place& one : all) one.computed_by = one.rank * p.own() + one.expert % p.own();
    return;
  }
  for (std::int64_t rank = 0; rank < p.ranks(); ++rank) misplace_on(rank, p, rows, all);
}

// An expert makes 1 + y + max(y, 0) of a product with its matrix, as the adapter does. A slope is
// also that of a NaN.
double slope_at(double product) { return product <= 0 ? 1 : 2; }
double result_of(double product) { return 1 + slope_at(product) * product; }

double weighed(double product, double weight, Ways::Weighed when) {
  using enum Ways::Weighed;
  const double result = result_of(when == before || when == twice ? weight * product : product);
  return when == after || when == twice ? weight * result : result;
}

struct Made {
  Numbers output{}, to_tokens{}, to_weights{};
  std::vector<Numbers> to_experts{};  // by expert of all
};

Made computed(const Problem& p, const Layer& layer, const std::vector<Place>& right,
              std::size_t pass, const Ways& w) {
  const std::size_t h = at(p.width);
  const Numbers &x = layer.inputs[pass], &g = layer.output_gradients[pass];
  const Numbers& weights = layer.values.front();
  std::vector<Place> all = right;
  misplace(p, w.rows, all);
  Made made{Numbers(x.size()), Numbers(x.size()), Numbers(weights.size()),
            std::vector<Numbers>(at(p.experts), Numbers(h * h))};
  std::vector<double> times(x.size() / h);
  for (const Place& one : all) times[at(one.row)] += 1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t row = at(all[i].row) * h, from = at(all[all[i].comes_from].row) * h;
    const auto expert = at(all[i].computed_by), own = at(p.own());
    const Numbers& matrix = layer.values[1 + expert % own];  // of all ranks, one after the other
    const std::size_t first = expert / own * h * h;
    for (std::size_t o = 0; o < h; ++o) {
      double product = 0;
      for (std::size_t c = 0; c < h; ++c) product += matrix[first + o * h + c] * x[from + c];
      const double result = weighed(product, weights[i], w.weighed);
      double& sum = made.output[row + o];
      if (w.sum == Ways::Sum::sum) sum += result;
      if (w.sum == Ways::Sum::last) sum = result;
      if (w.sum == Ways::Sum::mean) sum += result / times[at(all[i].row)];
      made.to_weights[i] += g[row + o] * result_of(product);
      const double back = weights[i] * g[row + o] * slope_at(product);
      for (std::size_t c = 0; c < h; ++c) {
        made.to_tokens[row + c] += back * matrix[first + o * h + c];
        made.to_experts[expert][o * h + c] += back * x[from + c];
      }
    }
  }
  for (std::size_t e = 0; e < x.size() && w.dropped_pass_through; ++e) {
    if (times[e / h] == 0) made.output[e] = x[e];
  }
  return made;
}

LayerNumbers numbers_of(const Problem& p, const Layer& layer, const std::vector<Place>& places,
                        const Ways& w) {
  LayerNumbers all;
  const std::size_t h = at(p.width), own = at(p.own());
  all.parameter_gradients.emplace_back(layer.values.front().size());
  for (std::size_t i = 0; i < own; ++i) {
    all.parameter_gradients.emplace_back(h * h * static_cast<std::size_t>(p.ranks()));
  }
  for (std::size_t pass = 0; pass < p.passes(); ++pass) {
    Made made = computed(p, layer, places, pass, w);
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

std::vector<Mistake<LayerNumbers>> mistakes_of(const Problem& p, const Layer& layer,
                                               const std::vector<Place>& places) {
  using enum Ways::Rows;
  using Weighed = Ways::Weighed;
  std::vector<Mistake<LayerNumbers>> all;
  const auto add = [&](const std::string& name, const std::string& sentence, const Ways& ways) {
    all.push_back({{name, sentence}, numbers_of(p, layer, places, ways)});
  };
  add("weights_forgotten",
      "the results of a token's experts are added up unweighed; multiply each row that comes back "
      "by its weight",
      {.weighed = Weighed::never});
  add("weighed_before",
      "rows were weighed before the experts computed; weigh the results, since an expert is not "
      "linear",
      {.weighed = Weighed::before});
  add("weighed_twice",
      "rows were weighed before the experts, and their results once more; weigh a row once, when "
      "it is back",
      {.weighed = Weighed::twice});
  add("not_exchanged",
      "each rank computed its own tokens with its own experts; a row has to go to the rank of the "
      "expert that it chose",
      {.rows = not_exchanged});
  add("not_by_expert",
      "rows came rank by rank, and were given to the experts as they came; sort them by expert "
      "before you call `mine`",
      {.rows = not_by_expert});
  add("not_put_back",
      "results went back in the order of experts; the way back needs the order in which rows came, "
      "rank by rank",
      {.rows = not_put_back});
  add("sorted_again",
      "results were sorted by expert once more, with `take_rows` and the list that sorted the "
      "rows; the way back needs the inverse list, or `add_rows` with that one",
      {.rows = sorted_again});
  for (const Ways::Rows rows : {lists_exchanged, inverse_twice}) {
    add("not_by_expert",
        "rows were put in the order of experts with the inverse list; `take_rows` wants to know of "
        "each row that it makes where that comes from, not where a row goes",
        {.rows = rows});
  }
  for (const Ways::Rows rows : {experts_in_turn, counted_in_turn}) {
    add("experts_in_turn",
        "expert e was looked for on rank e % N; rank r has the experts from r·E/N up to (r+1)·E/N",
        {.rows = rows});
  }
  add("last_choice_alone",
      "a token has the result of its last place alone; results of one token are added up",
      {.sum = Ways::Sum::last});
  add("averaged",
      "results of a token were divided by their number; the weights say how much each counts",
      {.sum = Ways::Sum::mean});
  add("dropped_pass_through",
      "a token that was dropped came through as it is; the layer gives 0 for it, and the residual "
      "connection around the layer adds the token",
      {.dropped_pass_through = true});
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
  layer.right = numbers_of(p, layer, right, {});
  layer.mistakes = [p, copy = layer, right](int) { return mistakes_of(p, copy, right); };
  return layer;
}

}  // namespace lockstep::grader::dispatch_and_combine
