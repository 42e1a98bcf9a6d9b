// The exam of column_parallel_linear. A rank is given its rows of the weight and no others, so the
// gradient of x needs the other ranks; the judge has the whole layer. It counts what travels
// forward and backward, and looks at the memory of a rank that has a quarter of a large matrix.
#include <algorithm>

#include "engine/base/units.hpp"
#include "grader/exam/parallel_linear.hpp"
#include "grader/exam/traffic.hpp"
#include "grader/parts/12_tensor_parallel/column_parallel_linear/case.hpp"

namespace lockstep::grader::column_parallel_linear {
namespace {

struct Problem : LinearProblem {
  bool whole = false;  // what the layer returns
  std::string description() const {
    return text(in_words(), ", ", linear_words(), whole ? ", the whole output" : "");
  }
};

// The usual mistakes.
enum class Slip : std::uint8_t {
  none,
  own_gradient,   // dx of this rank's columns
  mean_gradient,  // dx averaged
  summed_twice,   // dx summed, and the sum once more
  no_bias,
  bias_of_first,     // every rank adds rank 0's
  gradient_summed,   // the gradient of a whole output, over the ranks
  first_columns,     // every rank takes rank 0's columns of it
  blocks,            // a whole output as the ranks' blocks, one after the other
  weights_summed,    // dW and db are summed over the ranks
  weights_averaged,  // or averaged
};

class Linear {
 public:
  Linear(const Problem& p, const Layer& layer) : p_(p), layer_(layer) {}

  // The wholes as `rank` sees its part of them.
  LayerNumbers compute(Slip slip, int rank) const {
    LayerNumbers all;
    const DenseSizes s = p_.sizes();
    const auto fill = static_cast<double>(p_.fill);
    const Numbers& weight = layer_.values.front();
    Numbers to_weight, to_bias;
    for (std::size_t pass = 0; pass < p_.passes(); ++pass) {
      const Numbers& x = layer_.inputs[pass];
      Numbers y = dense_output(s, x, weight, fill);
      if (p_.biased && slip != Slip::no_bias) add_to_rows(y, bias(slip));
      if (slip == Slip::blocks) y = as_blocks(y);
      all.outputs.push_back(std::move(y));
      const Numbers dy = gradient(layer_.output_gradients[pass], slip);
      all.input_gradients.push_back(to_input(dy, slip, rank));
      add_numbers(to_weight, dense_to_weight(s, dy, x));
      add_numbers(to_bias, added_rows(s.outputs, dy));
    }
    all.parameter_gradients.push_back(over_ranks(to_weight, slip));
    if (p_.biased) all.parameter_gradients.push_back(over_ranks(to_bias, slip));
    return all;
  }

 private:
  std::int64_t columns() const { return p_.outputs / p_.ranks(); }
  Numbers bias(Slip slip) const {
    Numbers all = layer_.values.back();
    if (slip != Slip::bias_of_first) return all;
    for (std::size_t e = 0; e < all.size(); ++e) {
      all[e] = all[e % static_cast<std::size_t>(columns())];
    }
    return all;
  }
  // [ranks, rows, columns] for [rows, ranks · columns].
  Numbers as_blocks(const Numbers& y) const {
    Numbers all;
    for (int rank = 0; rank < p_.ranks(); ++rank) {
      for (std::int64_t row = 0; row < p_.sizes().rows; ++row) {
        for (std::int64_t c = 0; c < columns(); ++c) {
          all.push_back(y[static_cast<std::size_t>(row * p_.outputs + rank * columns() + c)]);
        }
      }
    }
    return all;
  }
  Numbers gradient(const Numbers& dy, Slip slip) const {
    if (slip == Slip::gradient_summed) return scaled_numbers(dy, p_.ranks());
    if (slip != Slip::first_columns) return dy;
    Numbers all = dy;
    for (std::size_t e = 0; e < all.size(); ++e) {
      const auto at = static_cast<std::int64_t>(e), column = at % p_.outputs;
      all[e] = dy[static_cast<std::size_t>(at - column + column % columns())];
    }
    return all;
  }
  Numbers to_input(const Numbers& dy, Slip slip, int rank) const {
    const auto fill = static_cast<double>(p_.fill);
    Numbers of_rank = dy;
    for (std::size_t e = 0; slip == Slip::own_gradient && e < dy.size(); ++e) {
      const std::int64_t column = static_cast<std::int64_t>(e) % p_.outputs;
      if (column / columns() != rank) of_rank[e] = 0;
    }
    const Numbers dx = dense_to_input(p_.sizes(), of_rank, layer_.values.front(), fill);
    if (slip == Slip::mean_gradient) return scaled_numbers(dx, 1.0 / p_.ranks());
    return slip == Slip::summed_twice ? scaled_numbers(dx, p_.ranks()) : dx;
  }
  // Each rank's rows of a parameter's gradient are what the rows of all ranks add up to.
  Numbers over_ranks(const Numbers& right, Slip slip) const {
    if (slip != Slip::weights_summed && slip != Slip::weights_averaged) return right;
    const std::size_t share = right.size() / static_cast<std::size_t>(p_.ranks());
    Numbers sum(share), all;
    for (std::size_t e = 0; e < right.size(); ++e) sum[e % share] += right[e];
    if (slip == Slip::weights_averaged) sum = scaled_numbers(sum, 1.0 / p_.ranks());
    for (int rank = 0; rank < p_.ranks(); ++rank) all.insert(all.end(), sum.begin(), sum.end());
    return all;
  }

  const Problem& p_;
  const Layer& layer_;
};

std::vector<Mistake<LayerNumbers>> mistakes_of(const Problem& p, const Layer& layer, int rank) {
  const std::string n = text(p.ranks());
  const std::vector<std::pair<Slip, Cause>> told{
      {Slip::own_gradient,
       {"not_summed",
        "this is the part of it that comes through this rank's columns. Every rank used x, so "
        "the parts of all ranks are summed"}},
      {Slip::mean_gradient,
       {"averaged", "the ranks' parts are averaged; they are parts of one gradient, so sum them"}},
      {Slip::summed_twice,
       {"summed_twice", text("it is ", n, " times too large: it is summed over the ranks twice")}},
      {Slip::no_bias, {"no_bias", "the bias is missing"}},
      {Slip::bias_of_first, {"other_bias", "rank 0's elements of the bias are added"}},
      {Slip::gradient_summed,
       {"gradient_summed", text("everything is ", n,
                                " times too large: the gradient of the whole output is summed "
                                "over the ranks. All of them are given the same one, and a rank "
                                "takes its columns of it")}},
      {Slip::first_columns,
       {"first_columns",
        "rank 0's columns of the output's gradient were taken; take those from r·M/t on"}},
      {Slip::blocks,
       {"blocks",
        "the ranks' outputs lie one behind the other, as an all-gather leaves them; in a row of y, "
        "the columns of rank 0 come first, then those of rank 1"}},
      {Slip::weights_summed,
       {"weights_summed",
        "the gradient of this rank's rows is summed over the ranks, whose rows are others"}},
      {Slip::weights_averaged,
       {"weights_averaged",
        "the gradient of this rank's rows is averaged over the ranks, as of replicas; here, "
        "their rows are others"}},
  };
  std::vector<Mistake<LayerNumbers>> all;
  for (const auto& [slip, cause] : told) {
    // By dx alone, these two cannot be told apart; the one that a gather invites comes first.
    const bool of_share = slip == Slip::gradient_summed && !p.whole;
    const bool of_whole = slip == Slip::summed_twice && p.whole;
    if (of_share || of_whole) continue;
    all.push_back({cause, Linear(p, layer).compute(slip, rank)});
  }
  return all;
}

Layer layer_of(const Problem& p, std::uint64_t salt) {
  const int n = p.ranks();
  const std::int64_t more = p.misfit == Misfit::inputs ? 1 : 0;
  const Axes of_y = p.with_last(p.outputs);
  Layer layer;
  layer.input = held_by_all("x", p.with_last(p.inputs + more), n);
  layer.input_gradient = layer.input;
  layer.output = p.whole ? held_by_all("y", of_y, n) : cut_along("y", of_y, p.lead.size(), n);
  layer.output_gradient = layer.output;
  layer.parameters = {cut_along("the weight", {p.outputs, p.inputs}, 0, n)};
  const std::int64_t beside = p.misfit == Misfit::bias ? n : 0;
  if (p.biased) layer.parameters.push_back(cut_along("the bias", {p.outputs + beside}, 0, n));
  fill_linear(p, layer);
  layer.weights_come_late = true;
  layer.options = {p.whole ? 1 : 0};
  draw_layer(p, salt, layer);
  if (p.misfit != Misfit::none) return layer;
  layer.right = Linear(p, layer).compute(Slip::none, 0);
  layer.mistakes = [p, copy = layer](int rank) { return mistakes_of(p, copy, rank); };
  return layer;
}

const LinearChecks<Problem> checks(layer_contract<Problem>(layer_of,
                                                           smaller_linear(&Problem::outputs)),
                                   [](Problem& p) { p.outputs = std::int64_t{2} * p.ranks(); });

void whole_of_any_shape(CaseRunner& runner) {
  for (const Axes& lead : {Axes{}, {2, 3}}) {
    Problem p = checks.usual(runner, 3);
    p.whole = true;
    p.lead = lead;
    checks.ask(runner, p);
    p.inputs = 1, p.outputs = 3;  // of each rank, one column
    checks.ask(runner, p);
  }
}

void whole_in_halves(Problem& p) {
  p.whole = true;
  p.walk = LayerWalk::in_halves;
  p.back = {1, 0};
}

void check_cost(CaseRunner& runner, const Played& played, const Problem& p) {
  LayerPrice price;
  if (p.whole) {
    price.forward = shard_bytes(p.bytes_of_output(), p.ranks());
    price.forward_collectives = 1;
    price.forward_words = "an all-gather of y forward";
  }
  if (p.input == LayerInput::wanted) {
    price.backward = ring_bytes(p.bytes_of_input(), p.ranks());
    price.backward_collectives = 1;
    price.backward_words = "an all-reduce of x's gradient backward";
  }
  const double gathered = shard_bytes(p.bytes_of_output(), p.ranks());
  price.mistakes = {{price.forward + (p.trains() ? price.backward : 0) + gathered,
                     {"gathers_always",
                      "y is gathered, which ColumnOutput::share does not ask for: the layer "
                      "behind goes on with this rank's columns"}}};
  check_layer_price(runner, played, p, price);
  // The parts of dx travel while dW is computed, if the all-reduce is started and not waited for.
  const bool hides = p.trains() && p.input == LayerInput::wanted && !p.whole && p.ranks() > 1;
  if (!hides) return;
  const DenseSizes s = p.sizes();
  const double product_s =
      2e-9 * static_cast<double>(s.rows * s.inputs * s.outputs * p.fill * p.fill) / p.ranks();
  const double bias_s =
      p.biased ? 1e-9 * static_cast<double>(s.rows * s.outputs * p.fill) / p.ranks() : 0;
  double travels_s = 0;
  for (const auto& record : played.counters.collectives) {
    travels_s += record.done_s - *std::ranges::max_element(record.entered_s);
  }
  runner.note_par("time", played.counters.makespan_s,
                  2 * product_s + bias_s + std::max(product_s + bias_s, travels_s), played);
}

void cost(CaseRunner& runner) {
  for (const bool whole : {false, true}) {
    for (const LayerWalk walk : {LayerWalk::inference, LayerWalk::whole}) {
      checks.on(
          {2, 4},
          [=](Problem& p) {
            p.lead = {16};
            p.inputs = 24, p.outputs = 32;
            p.whole = whole;
            p.walk = walk;
          },
          check_cost)(runner);
    }
  }
  checks.ask(runner, 3, with(&Problem::input, LayerInput::constant), check_cost);
  checks.price({1}, check_cost)(runner);
}

std::int64_t bytes_of_share(const Problem& p) {
  return p.outputs * p.fill / p.ranks() * (p.inputs * p.fill + 1) * 4;
}

}  // namespace

Exam exam() {
  const auto whole = with(&Problem::whole, true);
  return {
      {"on 1 to 8 and 13 ranks, this rank's columns and the gradients are those of "
       "the whole layer",
       checks.every_size()},
      {"ColumnOutput::whole: all columns on every rank, and the gradient of this rank's alone",
       checks.on({3, 2, 4, 1, 8}, whole)},
      checks.any_shape(whole_of_any_shape),
      checks.any_type(),
      checks.any_values(),
      checks.several_passes(checks.on({3}, whole_in_halves)),
      {"in a subgroup, twice: a rank's columns go by its place in the group",
       checks.twice_in_a_subgroup(whole)},
      checks.refusals(),
      checks.lost_peers(3),
      of_cost(
          "forward sends nothing, or one all-gather of y; backward one all-reduce of x's gradient",
          cost),
      of_cost("a rank holds a quarter of a 4096×16384 matrix, and nothing else of its size",
              checks.memory({.rows = 1, .inputs = 16, .outputs = 64},
                            "its rows of the weight's gradient", bytes_of_share, check_cost)),
  };
}

}  // namespace lockstep::grader::column_parallel_linear
