#include "tests/sim/random_program.hpp"

#include <algorithm>
#include <array>

#include "engine/base/random.hpp"

namespace lockstep::test {

namespace {

using comm::CollectiveKind;

constexpr std::array ranks_drawn{1, 2, 3, 4, 5, 7, 8};
constexpr std::array<std::int64_t, 5> counts_drawn{0, 1, 2, 7, 13};
constexpr std::array calls_drawn{
    CollectiveKind::broadcast,  CollectiveKind::reduce,         CollectiveKind::all_reduce,
    CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_to_all,
    CollectiveKind::gather,     CollectiveKind::scatter,        CollectiveKind::barrier};
constexpr std::array ops_drawn{ReduceOp::sum, ReduceOp::max, ReduceOp::min};
constexpr int steps_most = 24;
constexpr int strand_tags = 1000;  // what strands send is told apart by its step

class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : seed_(seed) {}
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(random_bits(seed_, drawn_++) % bound);
  }
  bool heads() { return below(2) == 0; }
  template <typename Values>
  auto one_of(const Values& values) {
    return values[below(values.size())];
  }

 private:
  std::uint64_t seed_, drawn_ = 0;
};

void draw_message(RandomStep& step, Drawing& draw, std::size_t members) {
  step.kind = RandomStep::message;
  step.src = static_cast<int>(draw.below(members));
  step.dst = static_cast<int>((static_cast<std::size_t>(step.src) + 1 + draw.below(members - 1)) %
                              members);
  step.tag = static_cast<int>(draw.below(3));
}

void draw_split(RandomStep& step, Drawing& draw, RandomProgram& program) {
  step.kind = RandomStep::split;
  step.first_made = program.groups.size();
  const std::vector<int> parent = program.groups[step.group];
  const std::size_t colors = 1 + draw.below(2);
  std::vector<std::vector<int>> made(colors);
  for (const int rank : parent) {
    step.colors.push_back(static_cast<int>(draw.below(colors + 1)) - 1);  // -1: in no group
    if (step.colors.back() >= 0) made[static_cast<std::size_t>(step.colors.back())].push_back(rank);
  }
  program.groups.insert(program.groups.end(), made.begin(), made.end());
}

void draw_forms(RandomStep& step, Drawing& draw, int ranks, std::size_t at) {
  for (int rank = 0; rank < ranks; ++rank) {
    step.at_once.push_back(draw.heads());
    step.until.push_back(at + 1 + draw.below(8));
  }
}

RandomStep draw_step(Drawing& draw, RandomProgram& program, std::size_t at) {
  RandomStep step;
  step.group = draw.below(program.groups.size());
  const std::size_t members = program.groups[step.group].size();
  step.count = draw.one_of(counts_drawn);
  step.dtype = draw.heads() ? DType::float32 : DType::int64;
  draw_forms(step, draw, program.ranks, at);
  const std::size_t kind = draw.below(10);
  if (kind < 4 && members > 1) {
    draw_message(step, draw, members);
  } else if (kind < 7 && members > 0) {
    step.kind = RandomStep::collective;
    step.call = draw.one_of(calls_drawn);
    step.op = draw.one_of(ops_drawn);
    step.root = static_cast<int>(draw.below(members));
  } else if (kind == 7 && members > 0 && program.groups.size() < 6) {
    draw_split(step, draw, program);
  } else if (kind == 8 && program.ranks > 1) {
    step.kind = RandomStep::strands;
    step.group = 0;
    for (std::size_t i = 0; i < 1 + draw.below(4); ++i) {
      RandomStep inner = step;
      inner.inner.clear();
      inner.count = draw.one_of(counts_drawn);
      draw_message(inner, draw, static_cast<std::size_t>(program.ranks));
      inner.tag = strand_tags + static_cast<int>(at);
      step.inner.push_back(std::move(inner));
    }
  }
  return step;
}

}  // namespace

RandomProgram random_program(std::uint64_t seed) {
  Drawing draw(seed);
  RandomProgram program;
  program.ranks = draw.one_of(ranks_drawn);
  program.groups.emplace_back();
  for (int rank = 0; rank < program.ranks; ++rank) program.groups[0].push_back(rank);
  const std::size_t steps = 1 + draw.below(steps_most);
  for (std::size_t at = 0; at < steps; ++at) program.steps.push_back(draw_step(draw, program, at));
  return program;
}

std::optional<Omission> random_omission(const RandomProgram& program, std::uint64_t seed) {
  std::vector<Omission> all;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const RandomStep& step = program.steps[i];
    const auto& members = program.groups[step.group];
    if (step.kind == RandomStep::message && step.count > 0) {
      for (const int rank : {step.src, step.dst}) {
        all.push_back({members[static_cast<std::size_t>(rank)], i});
      }
    }
    const bool together = step.kind == RandomStep::collective || step.kind == RandomStep::split;
    if (!together || members.size() < 2) continue;
    for (const int rank : members) all.push_back({rank, i});
  }
  if (all.empty()) return std::nullopt;
  return all[Drawing(seed).below(all.size())];
}

}  // namespace lockstep::test
