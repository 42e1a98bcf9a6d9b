#include "grader/parts/07_ddp/join_uneven_inputs/cost.hpp"

#include <string_view>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::join_uneven_inputs {
namespace {

struct BytesOfCase {
  std::int64_t broadcast = 0, other = 0;  // that one rank brings
  std::int64_t small = 0;                 // others, of 16 bytes at most
};

BytesOfCase bytes_of_case(const Played& played) {
  BytesOfCase bytes;
  for (const sim::CollectiveRecord& record : played.counters.collectives) {
    const bool broadcast = record.kind == sim::Collective::broadcast;
    (broadcast ? bytes.broadcast : bytes.other) += record.bytes;
    if (!broadcast && record.bytes <= 16) ++bytes.small;
  }
  return bytes;
}

}  // namespace

void check_traffic(CaseRunner& runner, const Played& played, const JoinProblem& p) {
  const std::int64_t ranks = p.ranks(), steps = p.most(0);
  const std::int64_t model = elements * static_cast<std::int64_t>(bytes_of(p.dtype));
  // A pass says of its loss and of lacking gradients what takes 16 bytes, and the wrapper says 8 at
  // the start; who is live and who was last may take 8 a rank each time.
  const std::int64_t least = steps * (model + 16) + 8;
  const std::int64_t most = steps * (model + 16) + 8 + (steps + 2) * 8 * ranks;
  const auto [sent, seen, small] = bytes_of_case(played);
  const auto of_epoch = [&](std::string_view what, std::int64_t has, std::int64_t needs) {
    return text("the result is right, but ", grouped(has), " bytes are ", what, " in ", steps,
                steps == 1 ? " step" : " steps", " where ", grouped(needs), " are needed");
  };
  if (seen < least) {
    runner.fail(played,
                because({"not_shadowed",
                         "every step is a count and a reduced pass on every rank, however few of "
                         "them have a batch: those without shadow it"},
                        {.message = of_epoch("reduced", seen, least),
                         .expected = text(grouped(least), " bytes"),
                         .seen = text(grouped(seen), " bytes")}));
  }
  if (seen > most) {
    const bool one_pass_more = seen >= (steps + 1) * (model + 16);
    runner.fail(
        played,
        because(one_pass_more
                    ? Cause{"reduced_too_often",
                            "a step is one count and one reduced pass, on each rank; after a count "
                            "of 0 there is nothing to shadow"}
                    : Cause{"counts_too_large",
                            "who has batches, and who was last, takes an all-reduce of at most 8 "
                            "bytes per rank of the group, once in each call"},
                wasteful("reduced_too_often", static_cast<double>(seen), static_cast<double>(most),
                         "in collectives", of_epoch("reduced", seen, most))));
  }
  // One model when the replicas are made equal at the start, one at the end; half of one for what
  // the wrapper says of names and order.
  const std::int64_t two = 2 * model + model / 2;
  if (sent > two) {
    runner.fail(played,
                because({"broadcast_too_often",
                         "the last to join broadcasts its parameters once, when all have run "
                         "out; no rank needs them earlier"},
                        wasteful("broadcast_too_often", static_cast<double>(sent),
                                 static_cast<double>(2 * model), "in broadcasts",
                                 of_epoch("broadcast", sent, 2 * model))));
  }
  // Beside counts, the wrapper has one at the start, and a pass one for its loss and for lacking
  // gradients. The least bucket is larger.
  const std::int64_t counts = small - steps - 1;
  if (counts > steps + 2) {
    runner.fail(
        played,
        because(
            {"counted_too_often",
             "each call of step_with_join counts once, and end_join asks once who was last; "
             "state keeps what an earlier count has told"},
            wasteful("counted_too_often", static_cast<double>(counts),
                     static_cast<double>(steps + 2), "in small collectives",
                     text("the result is right, but the ranks counted ", counts, " times in ",
                          counted(steps, "step"), " where ", steps + 2, " counts are needed"))));
  }
}

void explain_found(Failure& found, const JoinProblem& p) {
  if (found.verdict == Verdict::mismatch) {
    found = also_because(
        "a rank that has run out takes part in each step, with zeros, until no "
        "rank has a batch",
        std::move(found));
  }
  const bool crashed = found.verdict == Verdict::crash;
  if (!crashed || found.message.find("root -1 is not in this group") == std::string::npos) return;
  found = because_instead(
      {"nobody_was_last",
       p.most(0) == 0
           ? "no rank had a batch, and so none trained in the last step: then all ranks of the "
             "group may be the last to join, and the largest is"
           : "nobody is left who trained in the last step: each rank has shadowed one. The call in "
             "which no rank has a batch is no step: nobody is counted as shadowed in it, and "
             "nothing is shadowed"},
      std::move(found));
}

}  // namespace lockstep::grader::join_uneven_inputs
