// The vector code: the same bits at every width, and how far its functions are from the truth.
#include "engine/tensor/cpu/vectors.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/tensor/cpu/vector_functions.hpp"
#include "engine/tensor/cpu/vector_sums.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using kernels::Isa;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<float> ramp(float first, float last, float step) {
  std::vector<float> values;
  for (float x = first; x < last; x += step) values.push_back(x);
  return values;
}

// What one body writes and returns, to be compared between widths.
struct Outcome {
  std::vector<float> exps, tanhs;
  float sum = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome(const std::vector<float>& x, Isa isa) {
  Outcome out{std::vector<float>(x.size()), std::vector<float>(x.size()), 0};
  const auto count = static_cast<std::int64_t>(x.size());
  vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
    vectors::map(
        registers, count, out.exps.data(), [](auto v) LOCKSTEP_INLINED { return vectors::exp(v); },
        x.data());
    vectors::map(
        registers, count, out.tanhs.data(),
        [](auto v) LOCKSTEP_INLINED { return vectors::tanh(v); }, x.data());
    out.sum = vectors::sum(
        registers, count, [](auto v) LOCKSTEP_INLINED { return v * v; }, x.data());
  });
  return out;
}

template <typename Function>
std::vector<float> each(const std::vector<float>& x, const Function& function) {
  std::vector<float> y(x.size());
  vectors::vectorised(kernels::widest_isa(), [&](auto registers) LOCKSTEP_INLINED {
    vectors::map(registers, static_cast<std::int64_t>(x.size()), y.data(), function, x.data());
  });
  return y;
}

double largest_error(const std::vector<float>& x, const std::vector<float>& y,
                     double (*truth)(double)) {
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = truth(static_cast<double>(x[i]));
    if (want == 0) continue;
    const double error = std::abs((static_cast<double>(y[i]) - want) / want);
    worst = error <= worst ? worst : error;  // a NaN is the worst
  }
  return worst;
}

}  // namespace

TEST_CASE("vectors: baseline, AVX2 and AVX-512 give the same bits") {
  std::vector<float> x;
  for (std::uint64_t i = 0; i < 1003; ++i) {
    x.push_back(static_cast<float>(random_uniform(1, i) * 60 - 30));
  }
  const Outcome plain = outcome(x, Isa::baseline);
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    if (isa <= kernels::widest_isa()) {
      CHECK((outcome(x, isa) == plain));
    } else {
      WARN("this processor has no " << name_of(isa) << ": not compared");
    }
  }
}

TEST_CASE("vectors: exp is within 2 units in the last place, and right at its ends") {
  const auto exp = [](auto v) LOCKSTEP_INLINED { return vectors::exp(v); };
  const auto x = ramp(-87.2F, 88.7F, 0.0007F);
  CHECK(largest_error(x, each(x, exp), std::exp) < 2 * 0x1p-23);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto ends = each({0, -88, -1e30F, -infinity, 89, infinity, nan}, exp);
  CHECK(std::vector(ends.begin(), ends.end() - 1) ==
        std::vector<float>{1, 0, 0, 0, infinity, infinity});
  CHECK(std::isnan(ends.back()));
}

TEST_CASE("vectors: tanh is within 3 units in the last place, and right at its ends") {
  const auto tanh = [](auto v) LOCKSTEP_INLINED { return vectors::tanh(v); };
  const auto x = ramp(-12, 12, 0.0001F);
  CHECK(largest_error(x, each(x, tanh), std::tanh) < 3 * 0x1p-23);
  const auto ends = each({0, 100, -100, infinity, -infinity, 1e-30F}, tanh);
  CHECK(ends == std::vector<float>{0, 1, -1, 1, -1, 1e-30F});
}

TEST_CASE("vectors: every count, with and without a tail, touches its own elements only") {
  for (std::int64_t count = 0; count <= 40; ++count) {
    std::vector<double> x(41, 2), y(41, -1);
    double sum = 0;
    vectors::vectorised(kernels::widest_isa(), [&](auto registers) LOCKSTEP_INLINED {
      vectors::map(
          registers, count, y.data(), [](auto v) LOCKSTEP_INLINED { return v + 1; },
          std::as_const(x).data());
      sum = vectors::sum(
          registers, count, [](auto v) LOCKSTEP_INLINED { return v; }, std::as_const(x).data());
    });
    CHECK(sum == 2.0 * static_cast<double>(count));
    CHECK(std::count(y.begin(), y.end(), 3.0) == count);
    CHECK(std::count(y.begin() + count, y.end(), -1.0) == 41 - count);
  }
}
