#include "grader/parts/07_ddp/gradient_accumulation/passes.hpp"

#include <algorithm>

#include "grader/judge/compare.hpp"

namespace lockstep::grader::gradient_accumulation {
namespace {

// Each micro-batch passed through the model by itself: that is what saves memory.
void check_order(CaseRunner& runner, const Played& played, const AccumulationProblem& p, int rank,
                 const std::vector<Sizes>& passes) {
  if (passes.size() != p.steps.size()) throw MalformedMessage("not the passes of every step");
  for (std::size_t step = 0; step < passes.size(); ++step) {
    if (passes[step] == p.steps[step]) continue;
    Failure failure{
        .message = text("the parameters are right, but in step ", step, " of rank ", rank,
                        " batches of ", listed(passes[step]),
                        " samples passed through the model where the micro-batches have ",
                        listed(p.steps[step])),
        .expected = listed(p.steps[step]),
        .seen = listed(passes[step]),
        .where = text("rank ", rank, ", step ", step)};
    const bool joined = passes[step].size() < p.steps[step].size();
    if (joined) failure.verdict = Verdict::efficiency;
    runner.fail(
        played,
        because(joined
                    ? Cause{"joined",
                            "micro-batches were joined, which needs the memory that they "
                            "are there to save"}
                    : Cause{"other_passes", "micro-batches pass in their order, each of them once"},
                failure));
  }
}

// A pass keeps its activations until its backward has used them.
void check_waiting(CaseRunner& runner, const Played& played, const AccumulationProblem& p, int rank,
                   const std::vector<Sizes>& waiting) {
  if (waiting.size() != p.steps.size()) throw MalformedMessage("not the passes of every step");
  for (std::size_t step = 0; step < waiting.size(); ++step) {
    const auto most = std::ranges::max_element(waiting[step]);
    if (most == waiting[step].end() || *most == 0) continue;
    const auto pass = most - waiting[step].begin();
    Failure failure{
        .message = text("the parameters are right, but in step ", step, " of rank ", rank,
                        " the forward pass of micro-batch ", pass, " begins while ", *most,
                        *most == 1 ? " earlier one waits for its" : " earlier ones wait for their",
                        " backward, so activations of ", *most + 1, " micro-batches are held"),
        .expected = "activations of 1 micro-batch",
        .seen = text("activations of ", *most + 1, " micro-batches"),
        .where = text("rank ", rank, ", step ", step)};
    failure.verdict = Verdict::efficiency;
    runner.fail(played,
                because({"activations_held",
                         "micro-batches are there to save that memory: give each one a tape "
                         "of its own, and go backward before the next forward"},
                        failure));
  }
}

// Beside them, a loss of each earlier micro-batch may be kept, and its share.
void check_held(CaseRunner& runner, const Played& played, const AccumulationProblem& p, int rank,
                const std::vector<Sizes>& held) {
  constexpr std::int64_t of_a_loss = 24;
  if (held.size() != p.steps.size()) throw MalformedMessage("not the passes of every step");
  for (std::size_t step = 0; step < held.size(); ++step) {
    for (std::int64_t pass = 0; pass < std::ssize(held[step]); ++pass) {
      const std::int64_t bytes = held[step][static_cast<std::size_t>(pass)];
      if (bytes <= pass * of_a_loss) continue;
      Failure failure{
          .message =
              text("the parameters are right, but in step ", step, " of rank ", rank, " ", bytes,
                   " bytes of activations of earlier micro-batches are still held "
                   "when the forward pass of micro-batch ",
                   pass, " begins"),
          .expected = "none",
          .seen = text(bytes, " bytes"),
          .where = text("rank ", rank, ", step ", step)};
      failure.verdict = Verdict::efficiency;
      runner.fail(played, because({"activations_held",
                                   "something of a micro-batch outlives its backward, such as its "
                                   "tape, its logits or a list of them"},
                                  failure));
    }
  }
}

}  // namespace

void check_passes(CaseRunner& runner, const Played& played, const AccumulationProblem& p, int rank,
                  const AccumulationReport& report) {
  if (report.prepared != 0) {
    runner.fail(
        played,
        because({"prepared", "whether dropout is on is the caller's to say, before the step"},
                {.message = text("the parameters are right, but the step prepares the "
                                 "model for another occasion on rank ",
                                 rank, ": ", report.prepared, " calls of prepare()"),
                 .expected = "no call of prepare()",
                 .seen = text(report.prepared),
                 .where = text("rank ", rank)}));
  }
  check_order(runner, played, p, rank, report.passes);
  check_waiting(runner, played, p, rank, report.waiting);
  check_held(runner, played, p, rank, report.held);
}

}  // namespace lockstep::grader::gradient_accumulation
