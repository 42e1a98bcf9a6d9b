// The exam of ring_all_reduce: the reduction everywhere, and what makes it a ring: bytes of every
// rank, chain of messages, neighbours. A wrong result is told by the ring that gives it, if one of
// the usual mistakes does.
#include "engine/base/text.hpp"
#include "grader/exam/collective/all_reduce_rules.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::ring_all_reduce {
namespace {

Price price(const CollectiveProblem& p) {
  Price price;
  const std::int64_t n = p.size(), d = p.count;
  price.shape = "a ring";
  price.sent.assign(p.ranks(), {2 * d - 2 * ((d + n - 1) / n), 2 * d - 2 * (d / n)});
  price.total = 2 * (n - 1) * d;
  price.depth = 2 * (p.size() - 1);
  price.reach = 1;
  price.why_bytes =
      "whole buffers travel instead of chunks of 1/N, or some chunks travel more than once in a "
      "phase";
  price.why_uneven =
      "the lengths of the chunks differ by more than one; a chunk c from ⌊c·D/N⌋ to ⌊(c+1)·D/N⌋ "
      "spreads the remainder";
  price.why_depth = "ranks take turns instead of all sending in every step";
  return price;
}

// A ring whose steps are counted in some way: `begins` is the chunk, counted from r, with which
// rank r begins the second phase.
struct Ring {
  int adds = 0, begins = 1, copies = 0;  // steps of the first phase, of the second
};

std::vector<double> left_by(const Ring& ring, const Sums& sums, int rank) {
  const int n = sums.of.ranks;
  std::vector<std::vector<double>> data = sums.inputs;
  // All ranks pass on the chunk that is `which` behind their own, at once.
  const auto step = [&](int which, auto take) {
    const auto before = data;
    for (int from = 0; from < n; ++from) {
      const std::int64_t chunk = ((from + which) % n + n) % n;
      for (auto e = chunk * sums.of.count / n; e < (chunk + 1) * sums.of.count / n; ++e) {
        const auto at = static_cast<std::size_t>(e);
        take(data[static_cast<std::size_t>((from + 1) % n)][at],
             before[static_cast<std::size_t>(from)][at]);
      }
    }
  };
  for (int s = 0; s < ring.adds; ++s) step(-s, [](double& mine, double came) { mine += came; });
  for (int s = 0; s < ring.copies; ++s) {
    step(ring.begins - s, [](double& mine, double came) { mine = came; });
  }
  return data[static_cast<std::size_t>(rank)];
}

std::vector<Mistake<std::vector<double>>> mistakes_of(const Sums& sums, int rank) {
  const int steps = sums.of.ranks - 1;
  if (steps == 0) return {};
  return {
      {{"not_the_finished_chunk",
        "in each chunk c stands rank c's value alone. Either the second phase begins with "
        "chunk r, which rank r sent first, and not with r + 1, the one that it finished; or the "
        "first phase writes what arrives over a chunk instead of reducing it into the chunk"},
       left_by({steps, 0, steps}, sums, rank)},
      {{"a_step_too_few",
        text("not all ranks are in a chunk that is passed on as finished: the first phase has a "
             "step too few, N - 1 are ",
             steps,
             " here, or it begins with another chunk than r, so "
             "that rank r does not finish r + 1")},
       left_by({steps - 1, 1, steps}, sums, rank)},
      {{"a_step_too_few",
        text("the second phase has a step too few: a finished chunk needs N - 1 steps, ", steps,
             " here, to come to all ranks; or what comes is not put into its chunk")},
       left_by({steps, 1, steps - 1}, sums, rank)},
      {{"a_step_too_many",
        text("the first phase has a step too many: in step N, a chunk comes back to the rank "
             "that is in it already; N - 1 are ",
             steps)},
       left_by({steps + 1, 1, steps}, sums, rank)}};
}

}  // namespace

Exam exam() {
  CollectiveContract contract =
      all_reduce_contract("each rank sends 2(N-1)/N of the data to its neighbours, in 2(N-1) steps",
                          price, mistakes_of);
  return collective_exam(contract);
}

}  // namespace lockstep::grader::ring_all_reduce
