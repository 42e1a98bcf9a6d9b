// Every operation of a tensor on two devices: the symbolic one must come to the same shapes, the
// same account of memory and the same charges as the real one.
#include "engine/tensor/symbolic.hpp"

#include <vector>

#include "engine/tensor/ops.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

// Shapes of what a small program makes; everything a device counts is compared by the test.
std::vector<Shape> run(Device& device) {
  const std::vector<double> ramp{0, 1, 2, 3, 4, 5};
  const Tensor a = from_values(ramp, {2, 3}, DType::float32, device, MemoryKind::parameters);
  const Tensor b = full({6}, 2, DType::float32, device);
  const Tensor halves = a.to(DType::bfloat16);
  const Tensor copy = a.clone(MemoryKind::gradients);
  copy.view({-1}).reduce_(b, ReduceOp::sum);
  copy.scale_(0.5);
  copy.narrow(1, 1).copy_(b.narrow(0, 3));
  b.fill_(7);
  copy.relabel(MemoryKind::optimizer_state);
  const Tensor product = ops::linear(ops::softmax(a), copy);
  const Tensor sum = ops::sum_to(product, {1, 2});
  return {a.shape(),       halves.shape(), copy.shape(), b.empty_like(4).shape(),
          product.shape(), sum.shape()};
}

}  // namespace

TEST_CASE("symbolic: the same program has the same shapes, memory and charges as with numbers") {
  CpuDevice real;
  SymbolicDevice symbolic;
  CHECK(run(symbolic) == run(real));
  CHECK(symbolic.flops() == real.flops());
  CHECK(symbolic.flops() ==
        12 + 13 * 6 + 2 * 2 * 2 * 3 + 4);  // reduce_, scale_; softmax; linear; sum
  CHECK(symbolic.bytes_moved() == real.bytes_moved());
  CHECK(symbolic.bytes_peak() == real.bytes_peak());
  CHECK(symbolic.bytes_peak() == 24 + 24 + 12 + 24 + 24 + 16);
  CHECK(symbolic.bytes_now() == 0);
  for (std::size_t kind = 0; kind < memory_kinds; ++kind) {
    const auto k = static_cast<MemoryKind>(kind);
    CHECK(symbolic.bytes_peak(k) == real.bytes_peak(k));
  }
}

TEST_CASE("symbolic: reading a number is refused with what to do, and so is writing one") {
  SymbolicDevice device;
  CpuDevice host;
  const Tensor x = zeros({2, 2}, DType::float32, device);
  CHECK_THROWS_WITH(x.item(), contains("shapes and no numbers"));
  CHECK_THROWS_WITH(x.data<float>(), contains("shape [2, 2] on the device 'symbolic'"));
  CHECK_THROWS_WITH(x.raw_bytes(), contains("make the tensor on a CpuDevice"));
  CHECK_THROWS_AS(zeros({4}, DType::float32, host).copy_(x), ContractError);
  CHECK_THROWS_AS(zeros({4}, DType::float32, host).reduce_(x, ReduceOp::sum), ContractError);
  const Tensor labels = zeros({2}, DType::int64, device);
  CHECK_THROWS_WITH(ops::count_correct(x, labels),
                    contains("count_correct: its result is a number"));
  CHECK_THROWS_WITH(to_host(x), contains("has a shape and no numbers"));
  CHECK_THROWS_WITH(checksums_of(std::vector{x}), contains("has no numbers"));
}

TEST_CASE("symbolic: contracts hold as anywhere") {
  SymbolicDevice device;
  const Tensor x = zeros({5}, DType::float32, device);
  CHECK_THROWS_AS(x.copy_(zeros({4}, DType::float32, device)), ContractError);
  CHECK_THROWS_AS(x.narrow(0, 3).reduce_(x.narrow(2, 3), ReduceOp::sum), ContractError);
  CHECK_THROWS_AS(zeros({5}, DType::int32, device).scale_(2), ContractError);
  CHECK_THROWS_AS(ops::activate(zeros({5}, DType::int8, device), ops::Activation::relu),
                  ContractError);
  CHECK_NOTHROW(ops::activate(zeros({5}, DType::bfloat16, device), ops::Activation::relu));
  CHECK_THROWS_AS(from_values(std::vector<double>{1}, {2}, DType::float32, device), ContractError);
}

TEST_CASE("symbolic: a tensor that no machine could hold is counted to the byte") {
  SymbolicDevice device;
  const std::int64_t rows = std::int64_t{1} << 40;
  const Tensor x = empty({rows, 1000}, DType::bfloat16, device, MemoryKind::activations);
  CHECK(device.bytes_now(MemoryKind::activations) == 2000 * rows);
  CHECK(x.narrow(rows - 1, 1).numel() == 1000);
}
