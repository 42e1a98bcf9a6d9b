// The plan of a schedule, drawn and priced. A forward pass over a stage takes 1, a backward pass 2,
// each of its two halves 1, and a message nothing, or a twentieth of a forward pass:
//   build/release/bin/schedules SCHEDULE P M [V] [--messages] [--svg|--brief]
// SCHEDULE is gpipe, 1f1b, interleaved, zero-bubble, one-by-one (each micro-batch alone), or
// short-warm-up (interleaved, with as few passes in flight as its time allows).
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/drawing.hpp"
#include "engine/parallel/pipeline/plan.hpp"

using namespace lockstep;
using namespace lockstep::pipeline;

namespace {

// The naive way: a micro-batch goes through all stages and back before the next one starts.
Plan one_by_one(int stages, int micro_batches) {
  std::vector<Action> actions;
  for (int j = 0; j < micro_batches; ++j) {
    actions.push_back({Pass::forward, j});
    actions.push_back({Pass::backward, j});
  }
  return {stages, 1, micro_batches, std::vector(static_cast<std::size_t>(stages), actions)};
}

// Interleaved 1F1B in which a stage runs backward after p − s − 1 further forward passes, not twice
// as many: a gradient is needed at the very moment at which it is made.
Plan short_warm_up(int stages, int micro_batches, int chunks) {
  Plan plan = make_plan(Schedule::interleaved, stages, chunks, micro_batches);
  for (int stage = 0; stage < stages; ++stage) {
    auto& actions = plan.actions[static_cast<std::size_t>(stage)];
    const auto forward_first = [](const Action& action) { return action.pass == Pass::forward; };
    const auto backward = std::ranges::stable_partition(actions, forward_first);
    const std::vector<Action> later(backward.begin(), backward.end());
    const std::vector<Action> first(actions.begin(), backward.begin());
    const auto passes = std::ssize(first);
    const auto ahead = std::min<std::ptrdiff_t>((chunks - 1) * stages + stages - stage - 1, passes);
    actions.clear();
    for (std::ptrdiff_t i = 0; i < passes + ahead; ++i) {
      if (i < passes) actions.push_back(first[static_cast<std::size_t>(i)]);
      if (i >= ahead) actions.push_back(later[static_cast<std::size_t>(i - ahead)]);
    }
  }
  return plan;
}

Plan plan_of(const std::string& name, int stages, int micro_batches, int chunks) {
  if (name == "one-by-one") return one_by_one(stages, micro_batches);
  if (name == "gpipe") return make_plan(Schedule::gpipe, stages, 1, micro_batches);
  if (name == "1f1b") return make_plan(Schedule::one_f_one_b, stages, 1, micro_batches);
  if (name == "zero-bubble") return make_plan(Schedule::zero_bubble, stages, 1, micro_batches);
  if (name == "short-warm-up") return short_warm_up(stages, micro_batches, chunks);
  if (name != "interleaved") throw UsageError("no schedule is called " + name);
  return make_plan(Schedule::interleaved, stages, chunks, micro_batches);
}

// A stage's chunks share its time.
PlanTimeline timed(const Plan& plan, double message) {
  const double part = 1.0 / plan.chunks;
  return price(plan, {.parts = {PassCosts{part, 2 * part, part, part}}, .transfer_s = message});
}

void tell(const PlanTimeline& timeline) {
  std::cout << "time " << timeline.makespan_s << std::fixed << std::setprecision(1) << ", bubble "
            << 100 * timeline.bubble_of_ideal() << " % of ideal, "
            << 100 * timeline.bubble_of_total() << " % of total, in flight" << std::defaultfloat
            << std::setprecision(6);
  for (const StageTimeline& stage : timeline.stages) {
    std::cout << " " << static_cast<double>(stage.in_flight_max) / timeline.chunks;
  }
  std::cout << "\n";
}

}  // namespace

int main(int count, char** words) {
  try {
    std::vector<std::string> given(words + 1, words + count);
    const auto takes = [&](const char* option) { return std::erase(given, option) > 0; };
    const bool svg = takes("--svg"), brief = takes("--brief");
    const double message = takes("--messages") ? 0.05 : 0;
    if (given.size() < 3) {
      throw UsageError("usage: schedules SCHEDULE P M [V] [--messages] [--svg|--brief]");
    }
    const int chunks = given.size() > 3 ? std::stoi(given[3]) : 1;
    const auto timeline =
        timed(plan_of(given[0], std::stoi(given[1]), std::stoi(given[2]), chunks), message);
    if (svg) {
      std::cout << svg_drawing(timeline);
    } else {
      if (!brief) std::cout << text_drawing(timeline);
      tell(timeline);
    }
  } catch (const std::exception& error) {
    std::cerr << "schedules: " << error.what() << "\n";
    return 2;
  }
}
