// The exam of offload_optimizer. The judge is the host: it makes the copies and updates that it is
// asked for, in virtual time. What is right, and what may cross the link, is in rules.cpp.
#include "grader/parts/11_sharding/offload_optimizer/rules.hpp"

namespace lockstep::grader::offload_optimizer {
namespace {

using Problem = OffloadProblem;
using Step = std::vector<std::uint32_t>;

constexpr std::int64_t requests_max = 5'000;

void ask(CaseRunner& runner, const Problem& p, std::uint64_t salt, Property property,
         Situations asked = {}) {
  if (p.holds == Problem::Holds::not_a_number) asked.insert(Situation::not_a_number);
  if (p.holds == Problem::Holds::infinity) asked.insert(Situation::infinity);
  HostService host(p, salt, [&] { return runner.memory_bytes(0); });
  const auto played = play_served(runner, p.description(), std::vector{case_of(p, salt)}, {&host},
                                  requests_max, asked);
  if (!played) return;
  check(runner, *played, p, salt, host, property);
}

void ask(CaseRunner& runner, const Problem& p, Property property) {
  ask(runner, p, runner.draw(), property);
}

// As often as there are steps, all gradients, the last one first as in backward.
std::vector<Step> whole_steps(std::size_t buckets, std::size_t steps) {
  Step all;
  for (std::size_t bucket = buckets; bucket > 0; --bucket) {
    all.push_back(static_cast<std::uint32_t>(bucket - 1));
  }
  return std::vector<Step>(steps, all);
}

void one_bucket(CaseRunner& runner) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    for (const std::int64_t size : {7, 64}) {
      ask(runner,
          {.dtype = dtype,
           .sizes = {size},
           .steps = whole_steps(1, 12),
           .learning_rate = dtype == DType::float16 ? 2e-4 : 1e-3,
           .weight_decay = size == 64 ? 0.1 : 0},
          Property::values);
    }
  }
}

void any_order(CaseRunner& runner) {
  ask(runner, {.sizes = {5, 3, 8, 1}, .steps = whole_steps(4, 3)}, Property::values);
  ask(runner, {.sizes = {6, 6, 6}, .steps = {{1, 0, 2}, {0, 1, 2}, {2, 0, 1}}}, Property::values);
  ask(runner, {.sizes = {4, 0, 9}, .steps = whole_steps(3, 2)}, Property::values);
  // The first step is given up when two gradients are there, another one when all are.
  ask(runner, {.sizes = {5, 3}, .steps = {{1, 0, 1, 0}, {1, 0}, {1, 1, 0}, {0, 1}}},
      Property::values);
}

void some_missing(CaseRunner& runner) {
  ask(runner, {.sizes = {5, 3, 8}, .steps = {{2, 1, 0}, {2}, {}, {0, 2}, {2, 1, 0}}},
      Property::values);
  ask(runner, {.sizes = {4, 4}, .steps = {{}, {1}, {1}, {0}, {1, 0}}}, Property::values);
}

void odd_values(CaseRunner& runner) {
  for (const Problem::Holds holds : {Problem::Holds::not_a_number, Problem::Holds::infinity}) {
    ask(runner, {.sizes = {5, 3}, .steps = whole_steps(2, 2), .holds = holds}, Property::values);
  }
  const std::uint64_t salt = runner.draw();
  const Problem p{.sizes = {5, 3}, .steps = whole_steps(2, 2)};
  ask(runner, p, salt, Property::values);
  ask(runner, p, salt, Property::values, {Situation::same_call_twice});
}

// A copy takes longer than a gradient.
Problem with_slow_link(std::vector<std::int64_t> sizes, std::size_t steps) {
  Problem p{.sizes = std::move(sizes), .gap_s = 1e-6, .link_bytes_per_s = 1e8};
  p.steps = whole_steps(p.sizes.size(), steps);
  return p;
}

void at_once(CaseRunner& runner) {
  ask(runner, with_slow_link({400, 300, 500}, 2), Property::events);
  ask(runner, {.sizes = {40, 30}, .steps = whole_steps(2, 2)}, Property::events);
}

void last_copy(CaseRunner& runner) {
  ask(runner, with_slow_link({900, 40, 300}, 3), Property::values);
  ask(runner, with_slow_link({900}, 2), Property::values);
}

void beside_updates(CaseRunner& runner) {
  for (const double link_bytes_per_s : {1e9, 1e8}) {
    for (const std::size_t buckets : {4, 2}) {
      Problem p{.sizes = std::vector<std::int64_t>(buckets, 500), .steps = whole_steps(buckets, 2)};
      p.link_bytes_per_s = link_bytes_per_s;
      p.rest_s = 1;  // all gradients are there, so that any order of buckets is as good
      ask(runner, p, Property::time);
    }
  }
}

void what_crosses(CaseRunner& runner) {
  ask(runner, {.sizes = {40, 30, 9}, .steps = whole_steps(3, 3)}, Property::bytes);
  ask(runner, {.dtype = DType::bfloat16, .sizes = {40, 30}, .steps = {{0}, {1}, {1, 0}}},
      Property::bytes);
}

void memory(CaseRunner& runner) {
  ask(runner,
      {.sizes = std::vector<std::int64_t>(16, 32'000), .steps = whole_steps(16, 2), .large = true},
      Property::memory);
}

}  // namespace

Exam exam() {
  return {
      {"one bucket: after each step, the parameters are those of Adam with float32 masters",
       one_bucket},
      {"the gradients of several buckets come in any order, and again when a step is given up",
       any_order},
      {"a bucket whose gradient does not come keeps its parameters and its state", some_missing},
      {"NaN and infinity reach the parameters; the same training twice", odd_values},
      {"the last gradient's copy is not over when step() is called, and step() waits for it",
       last_copy},
      {.name = "a gradient's copy begins when it comes, and backward waits for nothing",
       .run = at_once,
       .asks = Asks::cost},
      {.name = "a bucket's parameters come up while the next bucket is updated",
       .run = beside_updates,
       .asks = Asks::cost},
      {.name = "per step, gradients go down once and parameters come up once, in 16 bits; no state "
               "crosses",
       .run = what_crosses,
       .asks = Asks::cost},
      {"the device keeps neither masters nor moments", memory, {}, Asks::cost},
  };
}

}  // namespace lockstep::grader::offload_optimizer
