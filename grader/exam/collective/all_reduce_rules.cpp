#include "grader/exam/collective/all_reduce_rules.hpp"

namespace lockstep::grader {

Scene all_reduce_scene(const CollectiveProblem& p, std::uint64_t salt, int call) {
  Scene scene;
  const Sums sums = draw_sums(p.reduction(), salt, call);
  for (const auto& mine : sums.inputs) {
    scene.ranks.push_back({{.name = "data",
                            .count = p.count,
                            .before = mine,
                            .after = sums.expected,
                            .tolerance = sums.tolerance,
                            .bits = Bits::alike}});
  }
  scene.sums = sums;
  return scene;
}

CollectiveContract all_reduce_contract(std::string cost,
                                       std::function<Price(const CollectiveProblem&)> price,
                                       LeftByMistakes mistakes) {
  return {
      .values = "every rank's value arrives exactly once, with the same bits everywhere",
      .cost = std::move(cost),
      .reduces = Reduces::yes,
      .oracle =
          [mistakes](const CollectiveProblem& p, std::uint64_t salt, int call) {
            Scene scene = all_reduce_scene(p, salt, call);
            scene.mistakes = mistakes;
            return scene;
          },
      .counts = [](const CollectiveProblem& p, int) { return std::vector<std::int64_t>{p.count}; },
      .price = std::move(price)};
}

Exam all_reduce_exam(std::string cost, std::function<Price(const CollectiveProblem&)> price) {
  return collective_exam(all_reduce_contract(std::move(cost), std::move(price)));
}

}  // namespace lockstep::grader
