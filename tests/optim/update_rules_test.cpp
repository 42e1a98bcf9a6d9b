// The rules against plain loops, bit for bit: what makes them quick must not change a bit.
#include "engine/tensor/cpu/update_rules.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using kernels::Isa;

namespace {

template <typename T>
std::vector<T> random(std::size_t count, std::uint64_t seed) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<T>(2 * random_uniform(seed, i) - 1);
  }
  return values;
}

template <typename T>
struct State {
  std::vector<T> value, grad, first, second;
  explicit State(std::size_t count)
      : value(random<T>(count, 1)),
        grad(random<T>(count, 2)),
        first(random<T>(count, 3)),
        second(random<T>(count, 4)) {
    for (T& v : second) v = std::abs(v);
  }
  bool operator==(const State&) const = default;
};

template <typename T>
void plain_sgd(State<T>& s, const SgdRule& rule) {
  const T rate = T(rule.learning_rate), momentum = T(rule.momentum), decay = T(rule.weight_decay);
  for (std::size_t k = 0; k < s.value.size(); ++k) {
    T g = s.grad[k];
    if (decay != 0) g += decay * s.value[k];
    if (momentum != 0) {
      s.first[k] = momentum * s.first[k] + g;
      g = rule.nesterov == Nesterov::yes ? g + momentum * s.first[k] : s.first[k];
    }
    s.value[k] -= rate * g;
  }
}

template <typename T>
void plain_adam(State<T>& s, const AdamRule& rule, double t) {
  const T rest1 = T(1 - rule.beta1), rest2 = T(1 - rule.beta2), beta2 = T(rule.beta2);
  const T rate = T(rule.learning_rate / (1 - std::pow(rule.beta1, t)));
  const T root = T(std::sqrt(1 - std::pow(rule.beta2, t)));
  for (std::size_t k = 0; k < s.value.size(); ++k) {
    T g = s.grad[k];
    if (rule.weight_decay != 0 && rule.decay_form == DecayForm::coupled) {
      g += T(rule.weight_decay) * s.value[k];
    } else if (rule.weight_decay != 0) {
      s.value[k] *= T(1 - rule.learning_rate * rule.weight_decay);
    }
    const T m = s.first[k];
    s.first[k] = rest1 < T(0.5) ? m + rest1 * (g - m) : g - (g - m) * (T(1) - rest1);
    s.second[k] = s.second[k] * beta2 + rest2 * g * g;
    s.value[k] -= rate * s.first[k] / (std::sqrt(s.second[k]) / root + T(rule.epsilon));
  }
}

const std::vector<SgdRule> sgd_rules = {
    {0.1, 0, 0, Nesterov::no},      {0.1, 0, 0.01, Nesterov::no}, {0.1, 0.9, 0, Nesterov::no},
    {0.1, 0.9, 0.01, Nesterov::no}, {0.1, 0.9, 0, Nesterov::yes}, {0.1, 0.9, 0.01, Nesterov::yes}};
const std::vector<AdamRule> adam_rules = {{1e-3, 0.9, 0.999, 1e-8, 0, DecayForm::coupled},
                                          {1e-3, 0.9, 0.999, 1e-8, 0.1, DecayForm::coupled},
                                          {1e-3, 0.9, 0.95, 1e-8, 0.1, DecayForm::decoupled},
                                          {1e-2, 0, 0.9, 1e-4, 0.1, DecayForm::decoupled}};

const Isa widest = kernels::widest_isa();

// Less than a vector, whole vectors, and what does not divide.
const std::vector<std::size_t> counts = {0, 1, 7, 16, 31, 64, 1009};

template <typename T>
void check_sgd(Isa isa) {
  for (const std::size_t count : counts) {
    for (const SgdRule& rule : sgd_rules) {
      State<T> got(count), want(count);
      kernels::sgd_update(isa, std::span<T>(got.value), std::span<const T>(got.grad),
                          std::span<T>(got.first), rule);
      plain_sgd(want, rule);
      CAPTURE(count, rule.momentum, rule.weight_decay);
      CHECK(got == want);
    }
  }
}

template <typename T>
void check_adam(Isa isa) {
  for (const std::size_t count : counts) {
    for (const AdamRule& rule : adam_rules) {
      for (const int t : {1, 2, 1000}) {
        State<T> got(count), want(count);
        kernels::adam_update(isa, std::span<T>(got.value), std::span<const T>(got.grad),
                             std::span<T>(got.first), std::span<T>(got.second), rule, t);
        plain_adam(want, rule, t);
        CAPTURE(count, rule.beta1, rule.weight_decay, t);
        CHECK(got == want);
      }
    }
  }
}

}  // namespace

TEST_CASE("sgd_update: every form is the plain loop, bit for bit, at any length") {
  for (const Isa each : {Isa::baseline, widest}) {
    check_sgd<float>(each);
    check_sgd<double>(each);
  }
}

TEST_CASE("adam_update: every form is the plain loop, bit for bit, at any length") {
  for (const Isa each : {Isa::baseline, widest}) {
    check_adam<float>(each);
    check_adam<double>(each);
  }
}

TEST_CASE("update rules: shards that are updated one by one are the whole, bit for bit") {
  State<float> whole(1009), parts(1009);
  const AdamRule adam = adam_rules[2];
  const SgdRule sgd = sgd_rules[5];
  kernels::adam_update(widest, std::span(whole.value), std::span<const float>(whole.grad),
                       std::span(whole.first), std::span(whole.second), adam, 3);
  kernels::sgd_update(widest, std::span(whole.value), std::span<const float>(whole.grad),
                      std::span(whole.first), sgd);
  const std::vector<std::size_t> cuts = {0, 1, 6, 337, 338, 1009};
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const auto part = [&](std::vector<float>& all) {
      return std::span(all).subspan(cuts[i], cuts[i + 1] - cuts[i]);
    };
    kernels::adam_update(widest, part(parts.value), part(parts.grad), part(parts.first),
                         part(parts.second), adam, 3);
    kernels::sgd_update(widest, part(parts.value), part(parts.grad), part(parts.first), sgd);
  }
  CHECK(parts == whole);
}

TEST_CASE("update rules: without weight decay an infinite value stays, and is no NaN") {
  const float infinite = std::numeric_limits<float>::infinity();
  std::vector<float> value = {infinite}, grad = {1}, first = {0}, second = {0};
  kernels::sgd_update(widest, std::span(value), std::span<const float>(grad), {}, SgdRule{0.1});
  CHECK(value[0] == infinite);
  kernels::adam_update(widest, std::span(value), std::span<const float>(grad), std::span(first),
                       std::span(second), AdamRule{0.1}, 1);
  CHECK(value[0] == infinite);
}

TEST_CASE("update rules: spans of different lengths and an update number 0 are refused") {
  State<double> s(4);
  const std::span<double> value(s.value), first(s.first), second(s.second);
  const std::span<const double> grad(s.grad);
  CHECK_THROWS_AS(kernels::sgd_update(widest, value, grad.first(3), first, sgd_rules[2]),
                  ContractError);
  CHECK_THROWS_AS(kernels::sgd_update(widest, value, grad, {}, sgd_rules[2]), ContractError);
  CHECK_NOTHROW(kernels::sgd_update(widest, value, grad, {}, sgd_rules[1]));
  CHECK_THROWS_AS(
      kernels::adam_update(widest, value, grad, first, second.first(2), adam_rules[0], 1),
      ContractError);
  CHECK_THROWS_AS(
      kernels::adam_update(widest, value, grad, first.first(2), second, adam_rules[0], 1),
      ContractError);
  CHECK_THROWS_AS(kernels::adam_update(widest, value, grad, first, second, adam_rules[0], 0),
                  ContractError);
}
