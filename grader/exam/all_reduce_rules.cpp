#include "grader/exam/all_reduce_rules.hpp"

namespace lockstep::grader {

Scene all_reduce_scene(const CollectiveProblem& p, std::uint64_t salt, int call) {
  Scene scene;
  if (p.elements == Elements::none) {
    scene.ranks.assign(p.ranks(), {{.name = "data", .count = p.count, .before = {}, .after = {}}});
    return scene;
  }
  const Sums sums = draw_sums({p.dtype, p.op, p.size(), p.count}, salt, call);
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

Exam all_reduce_exam(std::string cost, std::function<Price(const CollectiveProblem&)> price) {
  return collective_exam(
      {.values = "every rank's value arrives exactly once, with the same bits everywhere",
       .cost = std::move(cost),
       .reduces = Reduces::yes,
       .oracle = all_reduce_scene,
       .counts = [](const CollectiveProblem& p, int) { return std::vector<std::int64_t>{p.count}; },
       .price = std::move(price)});
}

}  // namespace lockstep::grader
