#include "engine/tensor/device.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

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

TEST_CASE("device: the peak of all kinds is the sum's own, not the sum of their peaks") {
  CpuDevice device;
  { const Tensor early = empty({100}, DType::float32, device, MemoryKind::activations); }
  const Tensor late = empty({90}, DType::float32, device, MemoryKind::gradients);
  CHECK(device.bytes_peak(MemoryKind::activations) + device.bytes_peak(MemoryKind::gradients) ==
        760);
  CHECK(device.bytes_peak() == 400);
  CHECK(device.bytes_now() == 360);
  device.reset_peak();
  CHECK(device.bytes_peak() == 360);
  CHECK(device.bytes_peak(MemoryKind::activations) == 0);
  CHECK(device.bytes_peak(MemoryKind::gradients) == 360);
}

TEST_CASE("device: the account holds the bytes of tensors, not what an allocator rounds them to") {
  CpuDevice device;
  const std::int64_t odd = 3 * 65536 + 1;
  for (int step = 0; step < 3; ++step) {
    const Tensor tensor = empty({odd}, DType::uint8, device);
    CHECK(device.bytes_now() == odd);
  }
  CHECK(device.bytes_now() == 0);
  CHECK(device.bytes_peak() == odd);
}

TEST_CASE("device: threads make, charge and drop tensors on one device, and nothing is lost") {
  CpuDevice device;
  constexpr int threads = 4, rounds = 400;
  std::vector<int> wrong(threads, 0);
  {
    std::vector<std::jthread> running;
    for (int me = 0; me < threads; ++me) {
      running.emplace_back([&, me] {
        for (int round = 0; round < rounds; ++round) {
          // Small ones, and large ones, which the device keeps.
          const std::int64_t count = round % 2 == 0 ? 10 : 40'000 + 1000 * (round % 3);
          const Tensor tensor = full({count}, me, DType::float32, device);
          device.charge(1, 0);
          if (tensor.item(0) != me || tensor.item(count - 1) != me) {
            ++wrong[static_cast<std::size_t>(me)];
          }
        }
      });
    }
  }
  CHECK(wrong == std::vector<int>(threads, 0));
  CHECK(device.bytes_now() == 0);
  CHECK(device.flops() == threads * rounds);
  CHECK(device.bytes_peak() >= 4 * 42'000);
  CHECK(device.bytes_peak() <= threads * 4 * 42'000);
}

TEST_CASE("device: a price below 0, or of no number, is refused, and nothing is charged") {
  CpuDevice device;
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double price : {-1.0, infinity, -infinity, std::nan("")}) {
    CHECK_THROWS_AS(device.charge(price, 0), ContractError);
    CHECK_THROWS_AS(device.charge(0, price), ContractError);
  }
  device.charge(2, 0);
  CHECK(device.flops() == 2);
  CHECK(device.bytes_moved() == 0);
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
