#include "engine/nn/mlp.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::Approx;

namespace {

// The fixed numbers of golden.py: ((7k mod 11) - 5) / 10.
void fill_with_pattern(const Tensor& tensor) {
  auto values = tensor.data<double>();
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = (static_cast<double>(k * 7 % 11) - 5) / 10;
  }
}

}  // namespace

TEST_CASE("mlp: names and shapes follow the layers") {
  CpuDevice device;
  const auto mlp =
      nn::make_mlp(std::array<std::int64_t, 3>{784, 256, 10}, DType::float32, device, 0);
  std::vector<std::string> names;
  for (const Parameter* p : mlp->parameters())
    names.push_back(p->name + " " + text_of(p->value.shape()));
  CHECK(names == std::vector<std::string>{"0.weight [256, 784]", "0.bias [256]",
                                          "1.weight [10, 256]", "1.bias [10]"});
  CHECK(nn::count_of(*mlp) == 784 * 256 + 256 + 256 * 10 + 10);
  CHECK(device.bytes_now(MemoryKind::parameters) == 4 * nn::count_of(*mlp));
  CHECK(mlp->buffers().empty());
}

TEST_CASE("mlp: the start depends on the seed only, and fills ±1/√fan_in") {
  CpuDevice device;
  const std::array<std::int64_t, 3> widths{100, 50, 10};
  auto hash = [&](std::uint64_t seed) {
    return nn::hash_of(*nn::make_mlp(widths, DType::float32, device, seed));
  };
  CHECK(hash(1) == hash(1));
  CHECK(hash(1) != hash(2));
  const auto mlp = nn::make_mlp(widths, DType::float64, device, 1);
  const auto weight = mlp->parameters()[0]->value.data<double>();
  double largest = 0, sum = 0;
  for (const double w : weight) {
    largest = std::max(largest, std::abs(w));
    sum += w;
  }
  CHECK(largest <= 0.1);
  CHECK(largest > 0.099);
  // The mean of 5000 draws of deviation 0.1/√3 has deviation 0.0008; this is four of them.
  CHECK(std::abs(sum / 5000) < 0.0033);
}

TEST_CASE("mlp: float32 starts from the float64 numbers, rounded") {
  CpuDevice device;
  const std::array<std::int64_t, 2> widths{7, 3};
  const auto narrow = nn::make_mlp(widths, DType::float32, device, 5);
  const auto wide = nn::make_mlp(widths, DType::float64, device, 5);
  for (std::size_t p = 0; p < 2; ++p) {
    const Tensor a = narrow->parameters()[p]->value, b = wide->parameters()[p]->value;
    for (std::int64_t i = 0; i < a.numel(); ++i) CHECK(a.item(i) == static_cast<float>(b.item(i)));
  }
}

TEST_CASE("mlp: loss and gradients are PyTorch's (golden.py)") {
  CpuDevice device;
  const auto mlp = nn::make_mlp(std::array<std::int64_t, 3>{3, 4, 2}, DType::float64, device, 0);
  for (Parameter* p : mlp->parameters()) fill_with_pattern(p->value);
  const Tensor x = empty({5, 3}, DType::float64, device);
  fill_with_pattern(x);
  const Tensor y = from_values(std::vector<double>{0, 1, 1, 0, 1}, {5}, DType::int64, device);

  Tape tape(GradMode::record);
  const Value loss = autograd::cross_entropy(tape, mlp->forward(tape, tape.constant(x)), y);
  tape.backward(loss);
  const std::vector<std::vector<double>> golden = {
      {0, 0, 0, 0.06540416295443631, -0.010000000000000002, 0.024595837045563704,
       -0.032331180315241001, -0.012000000000000004, 0.0083311803152410005, 0.06540416295443631,
       -0.010000000000000002, 0.024595837045563704},
      {0, 0.019279874378515666, -0.050827950788102511, 0.019279874378515666},
      {0, 0.056358610478504344, 0.010165590157620509, 0.035926535105613749, 0,
       -0.056358610478504344, -0.010165590157620509, -0.035926535105613749},
      {0.038559748757031331, -0.038559748757031331}};
  CHECK(loss.tensor.item() == Approx(0.69467195496915091).epsilon(1e-14));
  for (std::size_t p = 0; p < golden.size(); ++p) {
    for (std::size_t i = 0; i < golden[p].size(); ++i) {
      CAPTURE(mlp->parameters()[p]->name, i);
      // Sums of a few terms of size 0.1 in another order: some 1e-17 apart.
      CHECK(std::abs(mlp->parameters()[p]->grad.item(static_cast<std::int64_t>(i)) - golden[p][i]) <
            1e-15);
    }
  }
}

TEST_CASE("hash: one changed bit changes it, also the sign of a zero") {
  CpuDevice device;
  const auto mlp = nn::make_mlp(std::array<std::int64_t, 2>{3, 2}, DType::float32, device, 0);
  const Tensor bias = mlp->parameters()[1]->value;
  bias.fill_(0.0);
  const std::uint64_t before = nn::hash_of(*mlp);
  bias.data<float>()[1] = -0.0F;
  CHECK(nn::hash_of(*mlp) != before);
  bias.data<float>()[1] = 0.0F;
  CHECK(nn::hash_of(*mlp) == before);
}

TEST_CASE("mlp: widths that make no layer are refused") {
  CpuDevice device;
  CHECK_THROWS_AS(nn::make_mlp(std::array<std::int64_t, 1>{3}, DType::float32, device, 0),
                  ContractError);
  CHECK_THROWS_AS(nn::make_mlp(std::array<std::int64_t, 2>{3, 0}, DType::float32, device, 0),
                  ContractError);
}
