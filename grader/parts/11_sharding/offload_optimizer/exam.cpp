// The exam of offload_optimizer. The judge is the host: it makes the copies and updates that it is
// asked for, in virtual time. What is right, and what may cross the link, is in rules.cpp.
#include "grader/parts/11_sharding/offload_optimizer/rules.hpp"

#include "grader/judge/compare.hpp"

namespace lockstep::grader::offload_optimizer {
namespace {

using Problem = OffloadProblem;
using Step = std::vector<std::uint32_t>;

// As often as there are steps, all gradients, the last one first as in backward.
std::vector<Step> whole_steps(std::size_t buckets, std::size_t steps) {
  Step all;
  for (std::size_t bucket = buckets; bucket > 0; --bucket) {
    all.push_back(static_cast<std::uint32_t>(bucket - 1));
  }
  return std::vector<Step>(steps, all);
}

// Without the last bucket.
void fewer_buckets(const Problem& p, std::vector<Problem>& offered) {
  if (p.sizes.size() < 2) return;
  Problem& fewer = offered.emplace_back(p);
  fewer.sizes.pop_back();
  for (Step& step : fewer.steps) std::erase(step, fewer.sizes.size());
}

const RanksChecks checks(
    ServicesContract<Problem, OffloadCase, HostService>{
        .case_of = [](const Problem& p, std::uint64_t salt, int) { return case_of(p, salt); },
        .compare = [](CaseRunner& runner, const Played& played, const Problem& p,
                      std::uint64_t salt, const auto&,
                      const HostService& host) { check_values(runner, played, p, salt, host); },
        .ask_of =
            [](const Problem& p, std::uint64_t salt, int, const OffloadCase&, Situations& asked) {
              if (p.steps[0].empty()) return;
              ask_of_values(as_doubles(p.dtype, gradient_of(p, salt, 0, 0)), asked);
            },
        .smaller = smaller_by(shorter(&Problem::steps), fewer_buckets),
        .services =
            [](CaseRunner& runner, const Problem& p, std::uint64_t salt) {
              return std::tuple(HostService(p, salt, [&] { return runner.memory_bytes(0); }));
            },
        .requests_max = [](const Problem&) { return 5'000; }},
    [](Problem& p) {
      p.sizes = {5, 3};
      p.steps = whole_steps(2, 2);
    });

// Few and many elements, which decay.
Question one_bucket() {
  Problem of_7{.steps = whole_steps(1, 12), .learning_rate = 2e-4};
  Problem of_64 = of_7;
  of_64.sizes = {64};
  of_64.weight_decay = 0.1;
  std::vector<Problem> all{of_7, of_64, of_7, of_64};
  for (const std::size_t i : {2, 3}) {
    all[i].dtype = DType::bfloat16;
    all[i].learning_rate = 1e-3;
  }
  return checks.these(all);
}

// A copy takes longer than a gradient.
Problem with_slow_link(std::vector<std::int64_t> sizes, std::size_t steps) {
  Problem p{.sizes = std::move(sizes), .gap_s = 1e-6, .link_bytes_per_s = 1e8};
  p.steps = whole_steps(p.sizes.size(), steps);
  return p;
}

// All gradients are there at step(), so that any order of buckets is as good.
Problem waits_before_the_step(double link_bytes_per_s, std::size_t buckets) {
  return {.sizes = std::vector<std::int64_t>(buckets, 500),
          .steps = whole_steps(buckets, 2),
          .rest_s = 1,
          .link_bytes_per_s = link_bytes_per_s};
}

// All that a part must not save where memory is looked at, where it can tell by the sizes.
void check_large(CaseRunner& runner, const Played& played, const Problem& p,
                 const HostService& host) {
  check_memory(runner, played, p, host);
  check_events(runner, played, p, host);
  check_time(runner, played, p, host);
}

}  // namespace

Exam exam() {
  return {
      {"one bucket: after each step, the parameters are those of Adam with float32 masters",
       one_bucket()},
      // The first step is given up when two gradients are there, another one when all are.
      {"the gradients of several buckets come in any order, and again when a step is given up",
       checks.these({{.sizes = {5, 3, 8, 1}, .steps = whole_steps(4, 3)},
                     {.sizes = {6, 6, 6}, .steps = {{1, 0, 2}, {0, 1, 2}, {2, 0, 1}}},
                     {.sizes = {4, 0, 9}, .steps = whole_steps(3, 2)},
                     {.sizes = {5, 3}, .steps = {{1, 0, 1, 0}, {1, 0}, {1, 1, 0}, {0, 1}}}})},
      {"a bucket whose gradient does not come keeps its parameters and its state",
       checks.these({{.sizes = {5, 3, 8}, .steps = {{2, 1, 0}, {2}, {}, {0, 2}, {2, 1, 0}}},
                     {.sizes = {4, 4}, .steps = {{}, {1}, {1}, {0}, {1, 0}}}})},
      {"NaN, infinity and zeros reach the parameters; the same training twice",
       in_turn(checks.odd_values(1), checks.twice(1))},
      {"the last gradient's copy is not over when step() is called, and step() waits for it",
       checks.these({with_slow_link({900, 40, 300}, 3), with_slow_link({900}, 2)})},
      of_cost("a gradient's copy begins when it comes, and backward waits for nothing",
              checks.then(check_events)
                  .these({with_slow_link({400, 300, 500}, 2),
                          {.sizes = {40, 30}, .steps = whole_steps(2, 2)}})),
      of_cost("a bucket's parameters come up while the next bucket is updated",
              checks.then(check_time)
                  .these({waits_before_the_step(1e9, 4), waits_before_the_step(1e9, 2),
                          waits_before_the_step(1e8, 4), waits_before_the_step(1e8, 2)})),
      of_cost(
          "per step, gradients go down once and parameters come up once, in 16 bits; no state "
          "crosses",
          checks.then(check_bytes)
              .these({{.sizes = {40, 30, 9}, .steps = whole_steps(3, 3)},
                      {.dtype = DType::bfloat16, .sizes = {40, 30}, .steps = {{0}, {1}, {1, 0}}}})),
      of_cost("the device keeps neither masters nor moments",
              checks.then(check_large)
                  .these({{.sizes = std::vector<std::int64_t>(16, 32'000),
                           .steps = whole_steps(16, 2),
                           .rest_s = 1,
                           .large = true}})),
  };
}

}  // namespace lockstep::grader::offload_optimizer
