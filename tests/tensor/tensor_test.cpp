#include "engine/tensor/tensor.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

const std::vector<double> counting = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) values.push_back(tensor.item(i));
  return values;
}

}  // namespace

TEST_CASE("tensor: values go in and come out, for every dtype") {
  CpuDevice device;
  for (const DType dtype : all_dtypes) {
    const Tensor tensor = from_values(counting, {3, 4}, dtype, device);
    CHECK(values_of(tensor) == counting);
    CHECK(tensor.dtype() == dtype);
    CHECK(tensor.size(0) == 3);
    CHECK(tensor.size(1) == 4);
    CHECK(tensor.bytes() == 12 * bytes_of(dtype));
    CHECK(&tensor.device() == &device);
  }
}

TEST_CASE("tensor: an undefined tensor says so instead of crashing") {
  const Tensor nothing;
  CHECK_FALSE(nothing.defined());
  CHECK(nothing.bytes() == 0);
  CHECK_THROWS_AS(nothing.dtype(), ContractError);
  CHECK_THROWS_AS(nothing.device(), ContractError);
  CHECK_THROWS_AS(nothing.narrow(0, 0), ContractError);
  CHECK_THROWS_AS(nothing.view({0}), ContractError);
  CHECK_THROWS_AS(nothing.clone(), ContractError);
  CHECK_THROWS_AS(nothing.to(DType::int64), ContractError);
  CHECK_THROWS_AS(nothing.relabel(MemoryKind::gradients), ContractError);
  CHECK_FALSE(nothing.sole_owner());
  CHECK_THROWS_AS(nothing.fill_(0), ContractError);
  CHECK_THROWS_AS(nothing.data<float>(), ContractError);
  CHECK_THROWS_AS(nothing.raw_bytes(), ContractError);
}

TEST_CASE("tensor: copying the handle shares the elements, clone does not") {
  CpuDevice device;
  const Tensor tensor = from_values(counting, {12}, DType::float32, device);
  const Tensor handle = tensor;
  const Tensor clone = tensor.clone();
  tensor.data<float>()[0] = 42;
  CHECK(handle.item(0) == 42);
  CHECK(clone.item(0) == 0);
}

TEST_CASE("narrow: a window along the first axis that shares storage, also an empty one") {
  CpuDevice device;
  const Tensor matrix = from_values(counting, {3, 4}, DType::int64, device);
  const Tensor rows = matrix.narrow(1, 2);
  CHECK(rows.shape() == Shape{2, 4});
  CHECK(values_of(rows) == std::vector<double>{4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(values_of(rows.narrow(1, 1)) == std::vector<double>{8, 9, 10, 11});
  rows.fill_(-1);
  CHECK(matrix.item(3) == 3);
  CHECK(matrix.item(4) == -1);
  for (const std::int64_t start : {0, 1, 3}) CHECK(matrix.narrow(start, 0).numel() == 0);
  CHECK(empty({0, 4}, DType::float32, device).narrow(0, 0).numel() == 0);
}

TEST_CASE("narrow: a window that leaves the tensor is refused with its numbers") {
  CpuDevice device;
  const Tensor tensor = zeros({5}, DType::float32, device);
  CHECK_THROWS_WITH(tensor.narrow(3, 3), contains("start 3 and length 3 leave"));
  CHECK_THROWS_AS(tensor.narrow(-1, 1), ContractError);
  CHECK_THROWS_AS(tensor.narrow(0, -1), ContractError);
  CHECK_THROWS_AS(tensor.narrow(6, 0), ContractError);
  CHECK_THROWS_AS(tensor.narrow(INT64_MAX, 2), ContractError);
  CHECK_THROWS_AS(tensor.narrow(2, INT64_MAX), ContractError);
}

TEST_CASE("view: the same elements under another shape") {
  CpuDevice device;
  const Tensor tensor = from_values(counting, {12}, DType::float64, device);
  const Tensor matrix = tensor.view({2, 6});
  CHECK(matrix.narrow(1, 1).item(0) == 6);
  CHECK_THROWS_WITH(tensor.view({5, 2}), contains("12 elements"));
  CHECK_THROWS_AS(tensor.view({-3, -4}), ContractError);
}

TEST_CASE("view: one size of -1 is what is left, where that is one number") {
  CpuDevice device;
  const Tensor tensor = from_values(counting, {12}, DType::float32, device);
  CHECK(tensor.view({-1}).shape() == Shape{12});
  CHECK(tensor.view({3, -1}).shape() == Shape{3, 4});
  CHECK(tensor.view({2, -1, 3}).shape() == Shape{2, 2, 3});
  CHECK(tensor.narrow(0, 0).view({-1, 4}).shape() == Shape{0, 4});
  CHECK_THROWS_WITH(tensor.view({5, -1}), contains("no size stands for the -1 of [5, -1]"));
  CHECK_THROWS_AS(tensor.view({-1, -1}), ContractError);
  CHECK_THROWS_AS(tensor.view({-1, -2}), ContractError);
  CHECK_THROWS_AS(tensor.narrow(0, 0).view({0, -1}), ContractError);  // any size would do
}

TEST_CASE("to: every dtype becomes every other, in new storage of the same kind or a given one") {
  CpuDevice device;
  for (const DType from : all_dtypes) {
    const Tensor tensor = from_values(counting, {3, 4}, from, device, MemoryKind::gradients);
    for (const DType dtype : all_dtypes) {
      CAPTURE(name_of(from), name_of(dtype));
      const Tensor other = tensor.narrow(1, 2).to(dtype);
      CHECK(other.dtype() == dtype);
      CHECK(other.shape() == Shape{2, 4});
      CHECK(values_of(other) == std::vector<double>{4, 5, 6, 7, 8, 9, 10, 11});
      CHECK(other.kind() == MemoryKind::gradients);
      CHECK(other.sole_owner());
    }
  }
  const Tensor third = full({1}, 1.0 / 3, DType::float32, device);
  CHECK(third.to(DType::bfloat16, MemoryKind::activations).kind() == MemoryKind::activations);
  CHECK(third.to(DType::bfloat16).item() == 0.333984375);
  CHECK(third.to(DType::int32).item() == 0);
  const double before = device.bytes_moved();
  third.to(DType::bfloat16);
  CHECK(device.bytes_moved() - before == 4 + 2);
  CHECK_THROWS_WITH(full({2}, 300, DType::float32, device).to(DType::uint8),
                    contains("300 cannot be an element of type uint8"));
}

TEST_CASE("convert_: a tensor becomes another of any dtype, each element rounded once") {
  CpuDevice device;
  const Tensor wide = from_values(std::vector{1.0 / 3, -2.0, 1e6}, {3}, DType::float32, device);
  const Tensor half = zeros({3}, DType::float16, device);
  half.convert_(wide);
  CHECK(half.item(0) == wide.to(DType::float16).item(0));
  CHECK(half.item(1) == -2);
  CHECK(std::isinf(half.item(2)));
  const Tensor same = zeros({3}, DType::float32, device);
  same.convert_(wide);
  CHECK(same.item(0) == wide.item(0));
  CHECK_THROWS_WITH(half.convert_(wide.narrow(0, 2)), contains("2 elements into 3"));
}

TEST_CASE("sole_owner: only the one handle that looks at the whole storage") {
  CpuDevice device;
  const Tensor tensor = zeros({2, 3}, DType::float32, device);
  CHECK(tensor.sole_owner());
  {
    const Tensor handle = tensor;
    CHECK_FALSE(tensor.sole_owner());
  }
  CHECK(tensor.sole_owner());
  // One handle each time, the part of a whole that nobody else looks at any more.
  const auto made_into = [&](auto change) {
    Tensor made = zeros({2, 3}, DType::float32, device);
    made = change(made);
    return made;
  };
  CHECK(made_into([](const Tensor& t) { return t.view({6}); }).sole_owner());
  CHECK(made_into([](const Tensor& t) { return t.narrow(0, 2); }).sole_owner());
  CHECK_FALSE(made_into([](const Tensor& t) { return t.narrow(0, 1); }).sole_owner());
  CHECK_FALSE(made_into([](const Tensor& t) { return t.narrow(1, 1); }).sole_owner());
}

TEST_CASE("relabel: moves the storage's bytes to another kind, and no peak of the sum grows") {
  CpuDevice device;
  const Tensor tensor = zeros({10}, DType::float32, device, MemoryKind::activations);
  tensor.narrow(0, 2).relabel(MemoryKind::gradients);  // the storage's, whoever asks
  CHECK(tensor.kind() == MemoryKind::gradients);
  CHECK(device.bytes_now(MemoryKind::activations) == 0);
  CHECK(device.bytes_now(MemoryKind::gradients) == 40);
  CHECK(device.bytes_peak() == 40);
  tensor.relabel(MemoryKind::gradients);
  CHECK(device.bytes_now(MemoryKind::gradients) == 40);
}

TEST_CASE("fill_: a value that the dtype cannot hold is refused, others are rounded to it") {
  CpuDevice device;
  CHECK_THROWS_WITH(zeros({1}, DType::int8, device).fill_(128),
                    contains("128 cannot be an element of type int8"));
  CHECK_THROWS_AS(full({1}, -1, DType::uint8, device), ContractError);
  CHECK(full({1}, 257, DType::bfloat16, device).item() == 256);
  CHECK(full({1}, 2049, DType::float16, device).item() == 2048);
}

TEST_CASE("copy_: moves elements between windows, also overlapping ones of one storage") {
  CpuDevice device;
  const Tensor tensor = from_values(counting, {12}, DType::float32, device);
  tensor.narrow(1, 11).copy_(tensor.narrow(0, 11));
  CHECK(values_of(tensor) == std::vector<double>{0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  tensor.view({3, 4}).copy_(from_values(counting, {12}, DType::float32, device));
  CHECK(values_of(tensor) == counting);
}

TEST_CASE("copy_ and reduce_: other counts and dtypes are refused with both sides") {
  CpuDevice device;
  const Tensor a = zeros({3}, DType::float32, device);
  CHECK_THROWS_WITH(a.copy_(zeros({4}, DType::float32, device)),
                    contains("float32 [3] cannot take float32 [4]"));
  CHECK_THROWS_WITH(a.reduce_(zeros({3}, DType::int64, device), ReduceOp::sum),
                    contains("float32 [3] cannot take int64 [3]"));
  CHECK_THROWS_AS(a.copy_(Tensor()), ContractError);
}

TEST_CASE("reduce_: combines element by element, and halves that overlap are refused") {
  CpuDevice device;
  const Tensor a = from_values(std::vector<double>{1, -2, 3}, {3}, DType::int64, device);
  const Tensor b = from_values(std::vector<double>{4, 5, -6}, {3}, DType::int64, device);
  auto reduced = [&](ReduceOp op) {
    const Tensor c = a.clone();
    c.reduce_(b, op);
    return values_of(c);
  };
  CHECK(reduced(ReduceOp::sum) == std::vector<double>{5, 3, -3});
  CHECK(reduced(ReduceOp::product) == std::vector<double>{4, -10, -18});
  CHECK(reduced(ReduceOp::min) == std::vector<double>{1, -2, -6});
  CHECK(reduced(ReduceOp::max) == std::vector<double>{4, 5, 3});
  a.reduce_(a, ReduceOp::sum);
  CHECK(values_of(a) == std::vector<double>{2, -4, 6});
  const Tensor line = zeros({5}, DType::float32, device);
  CHECK_NOTHROW(line.narrow(0, 2).reduce_(line.narrow(2, 2), ReduceOp::sum));
  CHECK_THROWS_AS(line.narrow(0, 3).reduce_(line.narrow(2, 3), ReduceOp::sum), ContractError);
}

TEST_CASE("scale_: multiplies floating-point elements and refuses integers") {
  CpuDevice device;
  const Tensor tensor = full({3}, 3, DType::float32, device);
  tensor.scale_(1.0 / 3);
  CHECK(tensor.data<float>()[2] == 3.0F * static_cast<float>(1.0 / 3));
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    const Tensor half = full({3}, 3, dtype, device);
    half.scale_(0.1);
    // In float32, then rounded: 3 · 0.1 lies a little above 0.3.
    const float product = 3.0F * 0.1F;
    CHECK(half.item() == full({1}, product, dtype, device).item());
  }
  for (const DType dtype : all_dtypes) {
    if (!is_integer(dtype)) continue;
    CHECK_THROWS_WITH(
        full({3}, 3, dtype, device).scale_(0.5),
        contains("the elements are " + std::string(name_of(dtype)) + ", which 0.5 would round"));
  }
}

TEST_CASE("tensor: reading as another type, or outside, is refused") {
  CpuDevice device;
  const Tensor tensor = zeros({2}, DType::float32, device);
  CHECK_THROWS_WITH(tensor.data<double>(), contains("float64 from a tensor of float32"));
  CHECK_THROWS_AS(tensor.item(2), ContractError);
  CHECK_THROWS_AS(tensor.item(-1), ContractError);
  CHECK_THROWS_AS(tensor.size(1), ContractError);
  CHECK_THROWS_AS(empty({-1}, DType::float32, device), ContractError);
  CHECK_THROWS_AS(empty({1LL << 40, 1LL << 40}, DType::float32, device), ContractError);
  CHECK_THROWS_WITH(empty({1LL << 62}, DType::float64, device),
                    contains("more bytes than 64 bits"));
  CHECK_THROWS_AS(from_values(counting, {11}, DType::float32, device), ContractError);
}

TEST_CASE("tensor: shapes print as lists, and empty tensors are ordinary") {
  CpuDevice device;
  CHECK(text_of({}) == "[]");
  CHECK(text_of({64, 10}) == "[64, 10]");
  const Tensor none = zeros({0}, DType::int64, device);
  CHECK(none.numel() == 0);
  CHECK(none.clone().numel() == 0);
  CHECK_NOTHROW(none.reduce_(none.clone(), ReduceOp::max));
  CHECK(none.empty_like(7).shape() == Shape{7});
}
