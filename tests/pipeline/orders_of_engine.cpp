// The engine's side of orders_of_torch.py. Reads cases from standard input, each with PyTorch's
// order of it; prints the engine's own order, a line for each stage, and what both of them cost.
//   schedule p v m; then, of each stage, how many actions it has and these: F0 B0, or F0.1 B0.1
// Prices are makespans without transfers, at two sets of costs: the engine's, PyTorch's, twice.
#include <iostream>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/plan.hpp"
#include "engine/parallel/pipeline/timeline.hpp"

using namespace lockstep;
using namespace lockstep::pipeline;

namespace {

Schedule schedule_of(const std::string& name) {
  if (name == "gpipe") return Schedule::gpipe;
  if (name == "1f1b") return Schedule::one_f_one_b;
  if (name == "interleaved") return Schedule::interleaved;
  if (name == "zero-bubble") return Schedule::zero_bubble;
  throw Error("no schedule is called '" + name + "'");
}

Action action_of(const std::string& word) {
  const std::string letters = "FBIW";
  const auto letter = letters.find(word.at(0));
  if (letter == std::string::npos) throw Error("'" + word + "' is no action");
  const auto point = word.find('.');
  return {static_cast<Pass>(letter), std::stoi(word.substr(1)),
          point == std::string::npos ? 0 : std::stoi(word.substr(point + 1))};
}

void answer(const std::string& name) {
  Plan theirs;
  std::cin >> theirs.stages >> theirs.chunks >> theirs.micro_batches;
  for (int stage = 0; stage < theirs.stages; ++stage) {
    std::size_t count = 0;
    std::cin >> count;
    std::vector<Action>& actions = theirs.actions.emplace_back();
    std::string word;
    while (actions.size() < count && std::cin >> word) actions.push_back(action_of(word));
  }
  if (!std::cin) throw Error("the case on standard input ends too early");
  const Plan ours =
      make_plan(schedule_of(name), theirs.stages, theirs.chunks, theirs.micro_batches);
  for (const auto& actions : ours.actions) {
    for (const Action& action : actions) std::cout << text_of(action, ours.chunks) << " ";
    std::cout << "\n";
  }
  for (const PassCosts& costs : {PassCosts{1, 2, 1, 1}, PassCosts{3, 6, 4, 2}}) {
    std::cout << price(ours, {{costs}}).makespan_s << " " << price(theirs, {{costs}}).makespan_s
              << " ";
  }
  std::cout << "\n";
}

}  // namespace

int main() {
  try {
    for (std::string name; std::cin >> name;) answer(name);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
