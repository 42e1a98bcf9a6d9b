// The rule for a loader's memory: what the player says of its tensors, and what the judge measured.
#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/04_feeding_the_ranks/prefetching_loader/rules.hpp"

namespace lockstep::grader::prefetching_loader {

namespace {

using Kind = TrainerReport::Kind;

// Memory that is not the loader's: the program, its stacks, messages. A right loader needs a third.
constexpr std::int64_t others_bytes = std::int64_t{2} << 20;

std::int64_t bytes_of_batch(const LoaderRun& run) {
  const auto inputs = static_cast<std::size_t>(run.c.width) * bytes_of(run.c.options.dtype);
  return run.c.options.batch_size * static_cast<std::int64_t>(inputs + sizeof(std::int64_t));
}

Failure too_many_batches(const LoaderRun& run, std::int64_t held, std::int64_t most,
                         const std::string& seen) {
  return {.verdict = Verdict::memory,
          .cause = "keeps_batches",
          .message =
              text("while the trainer held batch ", held, ", ", seen, " in memory; with prefetch ",
                   run.c.options.prefetch, " there may be at most ", counted(most, "batch"),
                   ": is a batch still kept after it was handed out?"),
          .expected = text("at most ", counted(most, "batch")),
          .seen = seen};
}

}  // namespace

// The player's account counts batches, and can only speak against it. What the judge has measured
// is less fine, and nothing that the player says enters it.
void check_memory(CaseRunner& runner, const Played& played, const LoaderRun& run) {
  std::int64_t taken = 0;  // outcomes that the trainer has had in this epoch
  const std::int64_t most = run.c.options.prefetch + 1, batch_bytes = bytes_of_batch(run);
  for (const LoaderEvent& event : run.log) {
    if (event.read) continue;
    if (event.report.kind == Kind::starting) taken = 0;
    if (event.report.kind == Kind::caught || event.report.kind == Kind::caught_other) ++taken;
    if (event.report.kind != Kind::got_batch) continue;
    const std::int64_t held = taken++;
    const std::int64_t bytes = event.report.bytes_alive;
    const std::int64_t in_hand =
        std::ssize(event.report.labels) * (batch_bytes / run.c.options.batch_size);
    if (bytes < in_hand) throw MalformedMessage("fewer bytes than the batch that was handed out");
    const std::int64_t alive = bytes / batch_bytes + (bytes % batch_bytes > 0 ? 1 : 0);
    if (alive > most) {
      runner.fail(played, too_many_batches(run, held, most, counted(alive, "batch") + " were"));
    }
    if (run.c.width == sample_inputs || !event.memory_bytes) continue;
    if (*event.memory_bytes <= most * batch_bytes + others_bytes) continue;
    runner.fail(played, too_many_batches(run, held, most,
                                         text("the player held ", grouped(*event.memory_bytes),
                                              " bytes, where a batch has ", grouped(batch_bytes),
                                              ", all of it")));
  }
}

}  // namespace lockstep::grader::prefetching_loader
