// A model whose gradients are known: parameters p0, p1, … that are multiplied by the input's one
// number x, so that every element of a used parameter's gradient is x.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "engine/nn/module.hpp"
#include "engine/parallel/ddp/ddp.hpp"
#include "tests/train/thread_group.hpp"

// Catch2's own macros belong to the main thread; ranks are others, and on_ranks rethrows.
#define LOCKSTEP_EXPECT(...) LOCKSTEP_CHECK((__VA_ARGS__), "expected by a test, of every rank")

namespace lockstep::test {

struct Sums final : nn::Module {
  std::deque<Parameter> all;
  std::deque<nn::Buffer> state;
  std::vector<std::size_t> used;  // by forward, in this order; gradients come in the opposite one

  Sums(const std::vector<std::int64_t>& counts, Device& device, DType dtype = DType::float64) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      all.push_back({text("p", i), full({counts[i]}, 1, dtype, device), {}, {}});
      used.push_back(i);
    }
  }
  Value forward(Tape& tape, const Value& x) override {
    Value total = tape.constant(zeros({1}, x.tensor.dtype(), x.tensor.device()));
    for (const std::size_t i : used) {
      total = autograd::add(tape, total,
                            autograd::sum(tape, autograd::multiply(tape, tape.leaf(all[i]), x)));
    }
    return total;
  }
  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> pointers;
    for (Parameter& parameter : all) pointers.push_back(&parameter);
    return pointers;
  }
  std::vector<nn::Buffer*> buffers() override {
    std::vector<nn::Buffer*> pointers;
    for (nn::Buffer& buffer : state) pointers.push_back(&buffer);
    return pointers;
  }
  void zero_grad() {
    for (Parameter& parameter : all) parameter.grad = {};
  }
  // First element; NaN when there is no gradient.
  double grad(std::size_t i) const { return all[i].grad.defined() ? all[i].grad.item() : NAN; }
  bool has_grad(std::size_t i) const { return all[i].grad.defined(); }
};

inline Value forward_of(nn::Module& model, Tape& tape, double x, Device& device) {
  return model.forward(tape, tape.constant(full({1}, x, DType::float64, device)));
}

inline void pass(nn::Module& model, double x, Device& device) {
  Tape tape(GradMode::record);
  tape.backward(forward_of(model, tape, x, device));
}

// A first bucket of one parameter, then buckets of two float64 elements or more.
inline ddp::Options small_buckets(ddp::Unused unused = ddp::Unused::refuse) {
  ddp::Options options;
  options.limits = {1, 16};
  options.unused = unused;
  return options;
}

inline std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// What `body` throws on each rank, by rank; "" where it throws nothing.
inline std::vector<std::string> errors_on_ranks(
    int ranks, const std::function<void(comm::ProcessGroup&)>& body) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](comm::ProcessGroup& group) {
    errors[static_cast<std::size_t>(group.rank())] = message_of([&] { body(group); });
  });
  return errors;
}

}  // namespace lockstep::test
