// The exam of row_parallel_linear, alone and as the second layer of a pair. A rank is given its
// columns of the weight and of x and no others, so y needs the other ranks; the judge has the whole
// layer. It counts what travels forward and backward, and looks at the memory of a rank that has a
// quarter of a large matrix.
#include <algorithm>

#include "engine/base/units.hpp"
#include "grader/exam/layer/parallel_linear.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/parts/12_tensor_parallel/row_parallel_linear/case.hpp"

namespace lockstep::grader::row_parallel_linear {
namespace {

struct Problem : LinearProblem {
  // Above 0: a column-parallel layer of so many inputs, and relu, come before.
  std::int64_t before = 0;

  bool is_pair() const { return before > 0; }
  DenseSizes first() const { return {sizes().rows, before, inputs}; }
  std::string description() const {
    return text(in_words(), ", ", is_pair() ? text("behind ", before, " → ", inputs, ", ") : "",
                linear_words());
  }
};

// Computes on one device.
class Linear {
 public:
  Linear(const Problem& p, const Layer& layer) : p_(p), layer_(layer) {}

  LayerNumbers compute() const {
    LayerNumbers all;
    all.parameter_gradients.resize(layer_.parameters.size());
    const std::size_t place = p_.is_pair() ? 2 : 0;
    const Numbers& weight = layer_.values[place];
    for (std::size_t pass = 0; pass < p_.passes(); ++pass) {
      const Numbers &x = layer_.inputs[pass], &dy = layer_.output_gradients[pass];
      const Numbers between = p_.is_pair() ? first_output(x) : x;
      Numbers y = dense_output(p_.sizes(), between, weight);
      if (p_.biased) add_to_rows(y, layer_.values.back());
      all.outputs.push_back(std::move(y));
      Numbers dx = dense_to_input(p_.sizes(), dy, weight);
      const Numbers& last = layer_.last_input(pass);
      add_numbers(all.parameter_gradients[place],
                  dense_to_weight(p_.sizes(), dy, p_.is_pair() ? between : last));
      if (p_.biased) add_numbers(all.parameter_gradients.back(), added_rows(p_.outputs, dy));
      if (p_.is_pair()) {
        // The slope of relu.
        for (std::size_t e = 0; e < dx.size(); ++e) dx[e] = between[e] > 0 ? dx[e] : 0;
        add_numbers(all.parameter_gradients[0], dense_to_weight(p_.first(), dx, last));
        add_numbers(all.parameter_gradients[1], added_rows(p_.inputs, dx));
        dx = dense_to_input(p_.first(), dx, layer_.values[0]);
      }
      all.input_gradients.push_back(std::move(dx));
    }
    return all;
  }

 private:
  Numbers first_output(const Numbers& x) const {
    Numbers y = dense_output(p_.first(), x, layer_.values[0]);
    add_to_rows(y, layer_.values[1]);
    for (double& value : y) value = value > 0 ? value : 0;
    return y;
  }

  const Problem& p_;
  const Layer& layer_;
};

Layer layer_of(const Problem& p, std::uint64_t salt) {
  const int n = p.ranks();
  const std::int64_t more = p.misfit == Misfit::inputs ? n : 0;
  Layer layer;
  layer.steps =
      "y = Σ_r x_r·W_rᵀ + b: the terms are summed over the ranks, with or without a backward pass, "
      "and the bias is added once";
  layer.input = p.is_pair() ? held_by_all("x", p.with_last(p.before), n)
                            : cut_along("x", p.with_last(p.inputs + more), p.lead.size(), n);
  layer.input_gradient = layer.input;
  layer.output = held_by_all("y", p.with_last(p.outputs), n);
  layer.output_gradient = layer.output;
  if (p.is_pair()) {
    layer.parameters = {cut_along("the first weight", {p.inputs, p.before}, 0, n),
                        cut_along("the first bias", {p.inputs}, 0, n)};
  }
  layer.parameters.push_back(cut_along("the weight", {p.outputs, p.inputs}, 1, n));
  const std::int64_t beside = p.misfit == Misfit::bias ? 1 : 0;
  const std::int64_t of_bias = p.misfit == Misfit::bias_of_one ? 1 : p.outputs + beside;
  if (p.biased) layer.parameters.push_back(held_by_all("the bias", {of_bias}, n));
  layer.weights_come_late = true;
  layer.options = {p.biased ? 1 : 0, p.is_pair() ? 1 : 0};
  draw_layer(p, salt, layer);
  if (p.misfit != Misfit::none) return layer;
  layer.compute([&](const Layer& of) { return Linear(p, of).compute(); });
  return layer;
}

const LinearChecks<Problem> checks(layer_contract<Problem>(layer_of,
                                                           smaller_linear(&Problem::inputs)),
                                   [](Problem& p) {
                                     p.inputs = std::int64_t{2} * p.ranks();
                                     p.outputs = 5;
                                   });

void as_pair(Problem& p) { p.before = p.outputs = 3; }

void pairs(CaseRunner& runner) {
  checks.on({3, 2, 4, 1, 8}, as_pair)(runner);
  Problem p = checks.usual(runner, 3, as_pair);
  p.lead = {2, 3};
  checks.ask(runner, p);
  p.walk = LayerWalk::in_halves;
  checks.ask(runner, p);
}

void two_passes_of_pair(Problem& p) {
  as_pair(p);
  p.back = {1, 0};
}

void check_cost(CaseRunner& runner, const Played& played, const Problem& p) {
  const double once = ring_bytes(p.bytes_of_output(), p.ranks());
  LayerPrice price{
      .forward = once, .forward_collectives = 1, .forward_words = "an all-reduce of y forward"};
  if (p.is_pair()) {
    price.backward = ring_bytes(
        p.first().rows * p.before * static_cast<std::int64_t>(bytes_of(p.dtype)), p.ranks());
    price.backward_collectives = 1;
    price.backward_words = "an all-reduce of the gradient of the pair's x backward";
  }
  price.mistakes = {{2 * once + (p.trains() ? price.backward : 0),
                     {"summed_twice",
                      "as much as two tensors of the size of y, or all ranks' terms gathered "
                      "instead of summed; backward, every rank has the whole gradient of y"}}};
  check_layer_price(runner, played, p, price);
}

void cost(CaseRunner& runner) {
  for (const bool pair : {false, true}) {
    for (const LayerWalk walk : {LayerWalk::inference, LayerWalk::whole}) {
      checks.on(
          {2, 4},
          [=](Problem& p) {
            p.lead = {16};
            p.outputs = 24;
            if (pair) p.before = 24;
            p.walk = walk;
          },
          check_cost)(runner);
    }
  }
  checks.price({1}, check_cost)(runner);
}

std::int64_t bytes_of_share(const Problem& p) { return p.outputs * (p.inputs / p.ranks() + 1) * 8; }

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks, y and the gradients are those of the whole layer",
       checks.every_size()},
      {"behind a column-parallel layer and relu, the pair is the dense pair", pairs},
      checks.any_shape(
          checks.on({3}, [](Problem& p) { p.inputs = 3, p.outputs = 1; })),  // one column each
      checks.any_type(),
      checks.any_values(),
      checks.several_passes(checks.on({2}, two_passes_of_pair)),
      {"in a subgroup, twice", checks.twice_in_a_subgroup()},
      checks.refusals(),
      checks.lost_peers(3),
      of_cost("forward sends one all-reduce of y, backward nothing; a pair, one of each", cost),
      of_cost("a rank holds a quarter of a 1200×1024 matrix, and nothing else of its size",
              checks.memory({.rows = 1, .inputs = 1200, .outputs = 1024},
                            "its columns of the weight's gradient", bytes_of_share, check_cost)),
  };
}

}  // namespace lockstep::grader::row_parallel_linear
