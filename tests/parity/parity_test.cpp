// The engine computes what PyTorch computes: operations forward and backward, here; whole models in
// training, in models_test.cpp. `test_parity "[table]"` prints the errors, worst of each operation.
#include <iomanip>
#include <iostream>
#include <set>

#include "tests/catch.hpp"
#include "tests/parity/operations.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

constexpr std::array groups{"elementwise", "products", "rows", "attention"};

std::vector<Measured> run_group(const std::string& group, DType dtype) {
  CpuDevice device;
  std::vector<Measured> all;
  for (const Case& one : expected_cases(group, device)) {
    for (const Measured& measured : run(one, dtype)) all.push_back(measured);
  }
  return all;
}

}  // namespace

TEST_CASE("parity: every operation agrees with PyTorch in float64") {
  const std::string group = GENERATE(from_range(groups.begin(), groups.end()));
  for (const Measured& measured : run_group(group, DType::float64)) {
    CAPTURE(measured.operation, measured.name);
    // Sums of at most 301 terms, each step rounded to 1.1e-16 of its value, and functions that the
    // C library computes to an ulp: some 1e-14 at worst. 1e-12 leaves room for other orders.
    CHECK(measured.error <= 1e-12);
  }
}

TEST_CASE("parity: every operation agrees with PyTorch in float32") {
  const std::string group = GENERATE(from_range(groups.begin(), groups.end()));
  for (const Measured& measured : run_group(group, DType::float32)) {
    CAPTURE(measured.operation, measured.name, measured.error_of_torch_float32);
    // 1e-6 is 17 roundings of float32, which PyTorch itself needs in a few cases where large terms
    // cancel (rows shifted far from zero, a softmax of one large logit); there, twice its error.
    CHECK(measured.error <= std::max(1e-6, 2 * measured.error_of_torch_float32));
  }
}

TEST_CASE("parity: each operation of the list has numbers of PyTorch") {
  CpuDevice device;
  std::set<std::string> compared;
  for (const char* group : groups) {
    for (const Case& one : expected_cases(group, device)) compared.insert(one.operation);
  }
  for (const auto& [name, operation] : operations()) {
    CAPTURE(name);
    CHECK(compared.contains(name));
  }
}

TEST_CASE("parity: a NaN and another value are no agreement") {
  CpuDevice device;
  const Tensor truth = from_values(std::vector<double>{1, -4}, {2}, DType::float64, device);
  const double nan = std::nan("");
  for (const std::vector<double>& values : {std::vector<double>{nan, -4}, {1, nan}}) {
    const Tensor seen = from_values(values, {2}, DType::float64, device);
    CHECK(std::isnan(relative_error(seen, truth)));
  }
  const Tensor other = from_values(std::vector<double>{1, -4.5}, {2}, DType::float64, device);
  CHECK(relative_error(other, truth) == 0.125);
}

// Not run with the others: what it prints is for reading.
TEST_CASE("parity: largest errors", "[.][table]") {
  struct Worst {
    double ours64 = 0, ours32 = 0, torch32 = 0;
  };
  std::map<std::string, Worst> table;
  for (const char* group : groups) {
    for (const Measured& measured : run_group(group, DType::float64)) {
      double& worst = table[measured.operation].ours64;
      worst = std::max(worst, measured.error);
    }
    for (const Measured& measured : run_group(group, DType::float32)) {
      Worst& worst = table[measured.operation];
      worst.ours32 = std::max(worst.ours32, measured.error);
      worst.torch32 = std::max(worst.torch32, measured.error_of_torch_float32);
      if (measured.error > 1e-6) {
        std::cout << measured.operation << "/" << measured.name << ": " << measured.error
                  << ", PyTorch's float32 " << measured.error_of_torch_float32 << "\n";
      }
    }
  }
  std::cout << std::scientific << std::setprecision(1) << std::left << std::setw(20) << "operation"
            << "  float64   float32   PyTorch's float32\n";
  for (const auto& [name, worst] : table) {
    std::cout << std::setw(20) << name << "  " << worst.ours64 << "   " << worst.ours32 << "   "
              << worst.torch32 << "\n";
  }
}
