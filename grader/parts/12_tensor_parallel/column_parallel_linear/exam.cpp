// The exam of column_parallel_linear. A rank is given its rows of the weight and no others, so the
// gradient of x needs the other ranks; the judge has the whole layer. It counts what travels
// forward and backward, and looks at the memory of a rank that has a quarter of a large matrix.
#include <algorithm>

#include "engine/base/units.hpp"
#include "grader/exam/layer/parallel_linear.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/parts/12_tensor_parallel/column_parallel_linear/case.hpp"

namespace lockstep::grader::column_parallel_linear {
namespace {

struct Problem : LinearProblem {
  bool whole = false;  // what the layer returns
  std::string description() const {
    return text(in_words(), ", ", linear_words(), whole ? ", the whole output" : "");
  }
};

// Computes on one device.
LayerNumbers computed(const Problem& p, const Layer& layer) {
  LayerNumbers all;
  const DenseSizes s = p.sizes();
  const Numbers& weight = layer.values.front();
  Numbers to_weight, to_bias;
  for (std::size_t pass = 0; pass < p.passes(); ++pass) {
    const Numbers &x = layer.inputs[pass], &dy = layer.output_gradients[pass];
    Numbers y = dense_output(s, x, weight);
    if (p.biased) add_to_rows(y, layer.values.back());
    all.outputs.push_back(std::move(y));
    all.input_gradients.push_back(dense_to_input(s, dy, weight));
    add_numbers(to_weight, dense_to_weight(s, dy, layer.last_input(pass)));
    add_numbers(to_bias, added_rows(s.outputs, dy));
  }
  all.parameter_gradients.push_back(to_weight);
  if (p.biased) all.parameter_gradients.push_back(to_bias);
  return all;
}

Layer layer_of(const Problem& p, std::uint64_t salt) {
  const int n = p.ranks();
  const std::int64_t more = p.misfit == Misfit::inputs ? 1 : 0;
  const Axes of_y = p.with_last(p.outputs);
  Layer layer;
  layer.steps =
      "y = x·W_rᵀ + b_r of this rank's rows; ColumnOutput::whole gathers along the last axis";
  layer.input = held_by_all("x", p.with_last(p.inputs + more), n);
  layer.input_gradient = layer.input;
  layer.output = p.whole ? held_by_all("y", of_y, n) : cut_along("y", of_y, p.lead.size(), n);
  layer.output_gradient = layer.output;
  layer.parameters = {cut_along("the weight", {p.outputs, p.inputs}, 0, n)};
  const std::int64_t beside = p.misfit == Misfit::bias ? n : 0;
  if (p.biased) {
    layer.parameters.push_back(p.misfit == Misfit::bias_of_one
                                   ? own_of_each("the bias", {1}, n)
                                   : cut_along("the bias", {p.outputs + beside}, 0, n));
  }
  layer.weights_come_late = true;
  layer.options = {p.whole ? 1 : 0};
  draw_layer(p, salt, layer);
  if (p.misfit != Misfit::none) return layer;
  layer.compute([&](const Layer& of) { return computed(p, of); });
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
  const double product_s = 2e-9 * static_cast<double>(s.rows * s.inputs * s.outputs) / p.ranks();
  const double bias_s = p.biased ? 1e-9 * static_cast<double>(s.rows * s.outputs) / p.ranks() : 0;
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

std::int64_t bytes_of_share(const Problem& p) { return p.outputs / p.ranks() * (p.inputs + 1) * 8; }

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
      of_cost("a rank holds a quarter of a 1024×1200 matrix, and nothing else of its size",
              checks.memory({.rows = 1, .inputs = 1024, .outputs = 1200},
                            "its rows of the weight's gradient", bytes_of_share, check_cost)),
  };
}

}  // namespace lockstep::grader::column_parallel_linear
