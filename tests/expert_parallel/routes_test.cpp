// The plans: who computes what, by hand for six tokens, and by their rules for many.
#include <cmath>

#include "engine/base/random.hpp"
#include "engine/parallel/expert/expert_choice.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::expert_parallel;

namespace {

Tensor logits_of(std::vector<double> values, std::int64_t experts, Device& device) {
  const auto tokens = std::ssize(values) / experts;
  return from_values(values, {tokens, experts}, DType::float64, device);
}

std::vector<double> drawn(std::int64_t count, double size) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(size * (random_uniform(7, static_cast<std::uint64_t>(i)) - 0.5));
  }
  return values;
}

}  // namespace

TEST_CASE("top-k router: choices by falling logit, ties by number, weights of the chosen") {
  CpuDevice device;
  const double third = std::log(3.0);
  const Tensor logits = logits_of({0, third, 0, third, 0, 0}, 3, device);
  const auto one = route(logits, 1);
  REQUIRE(one.size() == 2);
  CHECK(one[0].expert == 1);
  CHECK(one[1].expert == 0);
  CHECK(std::fabs(one[0].weight - 0.6) < 1e-15);  // the probability: 3 of 5
  const auto two = route(logits, 2);
  REQUIRE(two.size() == 4);
  CHECK(two[1].expert == 0);  // of two equal ones, the first
  CHECK(two[3].expert == 1);
  CHECK(std::fabs(two[0].weight - 0.75) < 1e-15);  // 3 of 3 + 1
  CHECK(std::fabs(two[1].weight - 0.25) < 1e-15);
}

TEST_CASE("top-k router: weights add up to one, however large the logits") {
  CpuDevice device;
  for (const double size : {1.0, 2e4}) {
    const Tensor logits = logits_of(drawn(40 * 8, size), 8, device);
    for (const std::int64_t k : {2, 3, 8}) {
      CAPTURE(size, k);
      const auto routes = route(logits, k);
      REQUIRE(std::ssize(routes) == 40 * k);
      for (std::size_t token = 0; token < 40; ++token) {
        double sum = 0;
        for (std::size_t c = 0; c < static_cast<std::size_t>(k); ++c) {
          const Route& r = routes[token * static_cast<std::size_t>(k) + c];
          CHECK(r.token == static_cast<std::int64_t>(token));
          CHECK(r.choice == static_cast<std::int64_t>(c));
          if (c > 0) CHECK(r.weight <= routes[token * static_cast<std::size_t>(k) + c - 1].weight);
          sum += r.weight;
        }
        CHECK(std::fabs(sum - 1) < 1e-14);
      }
    }
  }
  CHECK_THROWS_WITH(route(logits_of({0, NAN}, 2, device), 1),
                    test::contains("token 0 for expert 1"));
  CHECK_THROWS_AS(route(logits_of({0, 1}, 2, device), 3), ContractError);
}

TEST_CASE("slots: six tokens, three experts, capacity two: first choices first, then token order") {
  // Tokens 0 to 3 choose expert 0 first, and token 4 and 5 expert 1; second choices are 1, 1, 2, 2,
  // 0, 2.
  const std::int64_t first[] = {0, 0, 0, 0, 1, 1}, second[] = {1, 1, 2, 2, 0, 2};
  std::vector<Route> routes;
  for (std::int64_t t = 0; t < 6; ++t) {
    routes.push_back({t, first[t], 0, 0.75});
    routes.push_back({t, second[t], 1, 0.25});
  }
  const SlotPlan half = assign_slots(routes, 3, 0.5);  // 6 · 2 / 3 · 0.5
  CHECK(half.capacity == 2);
  const std::vector<Route> wanted{{0, 0, 0, 0.75}, {1, 0, 0, 0.75}, {4, 1, 0, 0.75},
                                  {5, 1, 0, 0.75}, {2, 2, 1, 0.25}, {3, 2, 1, 0.25}};
  CHECK(half.placed == wanted);
  CHECK(assign_slots(routes, 3, 0.51).capacity == 3);  // rounded up
  CHECK(assign_slots(routes, 3, no_capacity).placed.size() == 12);
  CHECK(assign_slots({}, 3, 1).placed.empty());
  CHECK(rounded_up(100.0 / 2 * 1.1) == 55);  // 55.00000000000001
  CHECK(rounded_up(11.001) == 12);
  CHECK_THROWS_AS(assign_slots(routes, 2, 1), ContractError);
  CHECK_THROWS_AS(assign_slots(routes, 3, 0), ContractError);
}

TEST_CASE("expert choice: every expert has its best tokens, as many as all others") {
  CpuDevice device;
  const std::vector<double> values = drawn(30 * 4, 3);
  const SlotPlan plan = expert_choice(logits_of(values, 4, device), 2);
  CHECK(plan.capacity == 15);  // 30 · 2 / 4
  REQUIRE(plan.placed.size() == 60);
  const auto share = [&](std::int64_t token, std::int64_t expert) {
    double sum = 0;
    for (std::int64_t e = 0; e < 4; ++e) {
      sum += std::exp(values[static_cast<std::size_t>(token * 4 + e)]);
    }
    return std::exp(values[static_cast<std::size_t>(token * 4 + expert)]) / sum;
  };
  for (std::size_t i = 0; i < 60; ++i) {
    const Route& r = plan.placed[i];
    CHECK(r.expert == static_cast<std::int64_t>(i / 15));
    CHECK(std::fabs(r.weight - share(r.token, r.expert)) < 1e-14);
    if (i % 15 > 0) CHECK(r.weight <= plan.placed[i - 1].weight);
  }
  for (std::int64_t expert = 0; expert < 4; ++expert) {
    const double last = plan.placed[static_cast<std::size_t>(expert * 15 + 14)].weight;
    std::int64_t better = 0;
    for (std::int64_t token = 0; token < 30; ++token) {
      better += share(token, expert) > last + 1e-12 ? 1 : 0;
    }
    CHECK(better == 14);
  }
  CHECK(expert_choice(logits_of(values, 4, device), 9).capacity == 30);
  CHECK_THROWS_AS(expert_choice(logits_of(values, 4, device), 0), ContractError);
}
