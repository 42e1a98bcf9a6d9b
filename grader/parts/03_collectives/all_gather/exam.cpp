// The exam of all_gather: every block at its place on every rank, for (N-1)·B sent by each.
#include <algorithm>

#include "grader/exam/collective/rules.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::all_gather {
namespace {

Scene scene(const CollectiveProblem& p, std::uint64_t salt, int call) {
  Scene scene;
  Holding all{.name = "all", .count = p.size() * p.count, .before = {}, .after = {}};
  for (int rank = 0; rank < p.size(); ++rank) {
    const auto mine = distinct(p, salt, call, rank, p.count);
    all.after.insert(all.after.end(), mine.begin(), mine.end());
    scene.ranks.push_back({{.name = "mine", .count = p.count, .before = mine, .after = mine}});
  }
  for (auto& held : scene.ranks) held.push_back(all);
  return scene;
}

std::vector<std::int64_t> counts(const CollectiveProblem& p, int) {
  return {p.count, p.size() * p.count};
}

// True if every rank sends N messages, and each of them is one block.
bool takes_a_step_too_many(const Played& played, const CollectiveProblem& p) {
  const auto block = p.count * static_cast<std::int64_t>(bytes_of(p.dtype));
  std::vector<int> sent(p.ranks());
  for (const auto& message : played.counters.messages) {
    if (message.bytes != block) return false;
    ++sent[static_cast<std::size_t>(message.src)];
  }
  return std::ranges::all_of(sent, [&](int messages) { return messages == p.size(); });
}

std::string why_more(const Played& played, const CollectiveProblem& p) {
  if (takes_a_step_too_many(played, p)) {
    return text("every rank sends ", p.size(), " messages of one block, so the ring takes a step ",
                "too many: after N-1 = ", p.size() - 1, p.size() == 2 ? " step" : " steps",
                " every block has arrived");
  }
  return "one rank collects the blocks and sends them out again, or a rank passes on more than the "
         "block that just arrived";
}

Price price(const CollectiveProblem& p) {
  Price price;
  const std::int64_t others = (p.size() - 1) * p.count;
  price.shape = "a ring";
  price.sent.assign(p.ranks(), {others, others});
  price.received = price.sent;
  price.depth = p.size() - 1;
  price.bytes_cause = [p](const Played& played) { return why_more(played, p); };
  price.why_depth = "ranks take turns instead of all sending in every step";
  return price;
}

}  // namespace

Exam exam() {
  return collective_exam(
      {.values = "every block is at its place on every rank, and `mine` is unchanged",
       .cost = "every rank sends exactly (N-1)·B elements, in N-1 steps",
       .oracle = scene,
       .counts = counts,
       .price = price,
       .large = (1 << 16) / 3 + 1});
}

}  // namespace lockstep::grader::all_gather
