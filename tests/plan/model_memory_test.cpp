#include "engine/plan/model_memory.hpp"

#include <vector>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::plan;

namespace {

constexpr std::int64_t billion = 1'000'000'000;
constexpr Recipe float32_adam{UpdateRule::adam, Precision::float32};
constexpr Recipe mixed_adam{UpdateRule::adam, Precision::bfloat16_with_master};
constexpr Recipe bare_adam{UpdateRule::adam, Precision::bfloat16_alone};

}  // namespace

TEST_CASE("model memory: Adam with a master copy holds 16 bytes a parameter") {
  // [ZERO20 §3.1]: a GPT-2 of 1.5 billion parameters needs at least 24 GB.
  CHECK(model_memory(3 * billion / 2, mixed_adam, {}, 1).total == 24 * billion);
  CHECK(model_memory(7 * billion, mixed_adam, {}, 1).total == 112 * billion);
  CHECK(model_memory(7 * billion, float32_adam, {}, 1).total == 112 * billion);
  CHECK(model_memory(7 * billion, bare_adam, {}, 1).total == 84 * billion);
}

TEST_CASE("model memory: each kind of a small model, counted by hand") {
  const std::vector<std::int64_t> saved{10, 30};
  const MemoryReport expected{2000, 2000, 4000, 4000, 640, 12'640};
  CHECK(model_memory(1000, {UpdateRule::momentum, Precision::bfloat16_with_master}, saved, 8) ==
        expected);
}

TEST_CASE("model memory: what is negative or beyond 64 bits is refused") {
  CHECK_THROWS_AS(model_memory(-1, float32_adam, {}, 1), ContractError);
  CHECK_THROWS_AS(model_memory(1, float32_adam, {}, -1), ContractError);
  CHECK_THROWS_AS(model_memory(1, float32_adam, std::vector<std::int64_t>{-1}, 1), ContractError);
  CHECK_THROWS_AS(model_memory(INT64_MAX / 8, float32_adam, {}, 1), ContractError);
}
