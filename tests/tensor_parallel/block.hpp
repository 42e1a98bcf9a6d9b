// A transformer's block made of the parts, whole and in slices of the sequence, and the block of
// one device: what a pass forward and backward leaves.
#pragma once

#include <string>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/tensor/column_parallel_linear.hpp"
#include "engine/parallel/tensor/parallel_attention.hpp"
#include "engine/parallel/tensor/row_parallel_linear.hpp"
#include "engine/parallel/tensor/sequence_parallel_region.hpp"
#include "tests/tensor_parallel/ranks.hpp"

namespace lockstep::test::block {

using namespace tensor_parallel;

inline constexpr std::int64_t batch = 2, tokens = 24, heads = 24, width = 48, hidden = 96;

enum Name : std::size_t {
  norm_1_weight,
  norm_1_bias,
  qkv_weight,
  qkv_bias,
  proj_weight,
  proj_bias,
  norm_2_weight,
  norm_2_bias,
  up_weight,
  up_bias,
  down_weight,
  down_bias,
  names
};
// What every rank has whole; under slices, its gradient is a sum over the ranks.
inline constexpr Name copies[] = {norm_1_weight, norm_1_bias, proj_bias,
                                  norm_2_weight, norm_2_bias, down_bias};

using Weights = std::vector<Tensor>;

inline Weights whole_weights(Device& device) {
  const Shape shapes[names] = {
      {width}, {width}, {3 * width, width}, {3 * width}, {width, width},  {width},
      {width}, {width}, {hidden, width},    {hidden},    {width, hidden}, {width}};
  Weights all;
  for (const Shape& shape : shapes) all.push_back(drawn(shape, 10 + all.size(), device));
  return all;
}

// A rank's part of each, of weights or of their gradients.
inline Weights share_of(const Weights& whole, int rank, int ranks) {
  const auto by_heads = [&](const Tensor& x) {
    std::vector<Tensor> parts;
    for (const auto& [first, count] : qkv_rows(width, heads, ranks, rank)) {
      parts.push_back(x.narrow(first, count));
    }
    return ops::concatenate(parts, 0);
  };
  Weights own = whole;
  for (const Name name : {qkv_weight, qkv_bias}) own[name] = by_heads(whole[name]);
  for (const Name name : {up_weight, up_bias}) own[name] = rows_of_rank(whole[name], rank, ranks);
  for (const Name name : {proj_weight, down_weight}) {
    own[name] = columns_of_rank(whole[name], rank, ranks);
  }
  return own;
}

// A pass, forward and backward.
struct Pass {
  Tensor y, dx;
  Weights grads;
  Calls forward, backward;  // collectives
};

struct Leaves {
  Leaves(Tape& on, const Weights& weights) : tape(on) {
    for (const Tensor& weight : weights) parameters.push_back(parameter(weight.clone()));
    for (Parameter& p : parameters) values.push_back(on.leaf(p));
  }
  const Value& operator[](Name name) const { return values[name]; }
  Value norm(const Value& x, Name weight, Name bias) const {
    return autograd::layer_norm(tape, x, values[weight], values[bias]);
  }
  Tape& tape;
  std::vector<Parameter> parameters;
  std::vector<Value> values;
};

inline Pass finish(Tape& tape, const Value& in, const Value& y, const Tensor& grad, Leaves& leaves,
                   RecordedGroup* group) {
  Pass pass;
  if (group != nullptr) pass.forward = group->taken();
  tape.backward(y, grad);
  if (group != nullptr) pass.backward = group->taken();
  pass.y = y.tensor;
  pass.dx = tape.gradient_of(in);
  for (const Parameter& p : leaves.parameters) pass.grads.push_back(p.grad);
  return pass;
}

inline constexpr double rate = 0.3;
// At the block's k-th place; `first_element` of each sample, as a slice has it.
inline Value dropped(Tape& tape, const Value& x, std::uint64_t k, std::int64_t first_element = 0) {
  return autograd::dropout(
      tape, x, {.rate = rate, .seed = 70 + k, .first_sample = 4, .first_element = first_element});
}

inline Pass on_one_device(const Weights& weights, const Tensor& x, const Tensor& grad) {
  Tape tape(GradMode::record);
  Leaves w(tape, weights);
  const Value in = tape.input(x);
  const Value qkv =
      autograd::linear(tape, w.norm(in, norm_1_weight, norm_1_bias), w[qkv_weight], w[qkv_bias]);
  const Value attended = autograd::linear(tape, autograd::causal_attention(tape, qkv, heads),
                                          w[proj_weight], w[proj_bias]);
  const Value middle = autograd::add(tape, in, dropped(tape, attended, 0));
  const Value up =
      autograd::linear(tape, w.norm(middle, norm_2_weight, norm_2_bias), w[up_weight], w[up_bias]);
  const Value down = autograd::linear(tape, autograd::activate(tape, up, ops::Activation::gelu),
                                      w[down_weight], w[down_bias]);
  const Value y = autograd::add(tape, middle, dropped(tape, down, 1));
  return finish(tape, in, y, grad, w, nullptr);
}

inline Pass on_ranks(RecordedGroup& group, const Weights& weights, const Tensor& x,
                     const Tensor& grad) {
  Tape tape(GradMode::record);
  Leaves w(tape, weights);
  const Value in = tape.input(x);
  const Value attended =
      parallel_attention(tape, group, w.norm(in, norm_1_weight, norm_1_bias),
                         {w[qkv_weight], w[qkv_bias], w[proj_weight], w[proj_bias]}, heads);
  const Value middle = autograd::add(tape, in, dropped(tape, attended, 0));
  const Value up = column_parallel_linear(tape, group, w.norm(middle, norm_2_weight, norm_2_bias),
                                          w[up_weight], w[up_bias], ColumnOutput::share);
  const Value down =
      row_parallel_linear(tape, group, autograd::activate(tape, up, ops::Activation::gelu),
                          w[down_weight], w[down_bias]);
  const Value y = autograd::add(tape, middle, dropped(tape, down, 1));
  return finish(tape, in, y, grad, w, &group);
}

// x and grad are this rank's slices.
inline Pass in_slices(RecordedGroup& group, const Weights& weights, const Tensor& x,
                      const Tensor& grad, Kept kept) {
  const std::int64_t first_element = group.rank() * x.size(1) * width;
  Tape tape(GradMode::record);
  Leaves w(tape, weights);
  const Value in = tape.input(x);
  const auto left = [&](const Value& partial, Name bias, std::uint64_t k) {
    const Value slice = scatter_sum_sequence(tape, group, partial);
    return dropped(tape, autograd::add(tape, slice, w[bias]), k, first_element);
  };
  const Value normed = gather_sequence(tape, group, w.norm(in, norm_1_weight, norm_1_bias), kept);
  const Value qkv = autograd::linear(tape, normed, w[qkv_weight], w[qkv_bias]);
  const Value attended = autograd::causal_attention(tape, qkv, heads / group.size());
  const Value middle =
      autograd::add(tape, in, left(autograd::linear(tape, attended, w[proj_weight]), proj_bias, 0));
  const Value normed_again =
      gather_sequence(tape, group, w.norm(middle, norm_2_weight, norm_2_bias), kept);
  const Value up = autograd::linear(tape, normed_again, w[up_weight], w[up_bias]);
  const Value down =
      autograd::linear(tape, autograd::activate(tape, up, ops::Activation::gelu), w[down_weight]);
  const Value y = autograd::add(tape, middle, left(down, down_bias, 1));
  Pass pass = finish(tape, in, y, grad, w, &group);
  std::vector<Parameter*> whole;
  for (const Name name : copies) whole.push_back(&w.parameters[name]);
  sum_slice_gradients(group, whole);
  return pass;  // its gradients of the copies are the parameters', which were summed in place
}

inline void check_gradients(const Weights& seen, const Weights& expected) {
  for (std::size_t name = 0; name < names; ++name) {
    CAPTURE(name);
    CHECK(difference(seen[name], expected[name]) <= 200 * near);  // of numbers up to some hundred
  }
}

}  // namespace lockstep::test::block
