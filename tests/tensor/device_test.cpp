#include "engine/tensor/device.hpp"

#include <cstdint>

#include "engine/base/error.hpp"
#include "engine/tensor/ops.hpp"
#include "engine/tensor/tensor.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

TEST_CASE("device: memory is aligned to 64 bytes, also none of it") {
  CpuDevice device;
  for (const std::size_t bytes : {0, 1, 63, 64, 65, 4096}) {
    std::byte* data = device.allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(data) % 64 == 0);
    device.release(data, bytes);
  }
}

TEST_CASE("device: peak bytes are kept by kind and outlive the tensors") {
  CpuDevice device;
  const Tensor weights = empty({10}, DType::float32, device, MemoryKind::parameters);
  {
    const Tensor a = empty({3}, DType::float64, device);
    const Tensor view = a.narrow(1, 2);
    CHECK(device.bytes_now(MemoryKind::buffers) == 24);
  }
  const Tensor b = empty({1}, DType::int64, device);
  CHECK(device.bytes_now(MemoryKind::parameters) == 40);
  CHECK(device.bytes_now(MemoryKind::buffers) == 8);
  CHECK(device.bytes_peak(MemoryKind::buffers) == 24);
  CHECK(device.bytes_peak(MemoryKind::gradients) == 0);
}

TEST_CASE("device: a view keeps the elements alive when the tensor is gone") {
  CpuDevice device;
  Tensor view;
  {
    const Tensor whole = full({4}, 7, DType::float32, device);
    view = whole.narrow(3, 1);
  }
  CHECK(view.item() == 7);
  CHECK(device.bytes_now(MemoryKind::buffers) == 16);
  view = Tensor();
  CHECK(device.bytes_now(MemoryKind::buffers) == 0);
}

TEST_CASE("device: operations charge their floating-point operations and bytes") {
  CpuDevice device;
  const Tensor a = zeros({2, 3}, DType::float32, device);
  const Tensor b = zeros({3, 5}, DType::float32, device);
  const double flops = device.flops(), bytes = device.bytes_moved();
  ops::matmul(a, ops::Transpose::no, b, ops::Transpose::no);
  CHECK(device.flops() - flops == 2 * 2 * 3 * 5);
  CHECK(device.bytes_moved() - bytes == 4 * (6 + 15 + 10));
}

TEST_CASE("device: memory that cannot be had is an error that says how much was asked") {
  CpuDevice device;
  CHECK_THROWS_WITH(device.allocate(std::size_t{1} << 63),
                    lockstep::test::contains("9223372036854775808 bytes"));
}
