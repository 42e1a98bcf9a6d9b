#include "grader/exam/ranks/wire_price.hpp"

#include <cmath>

#include "grader/exam/ranks/traffic.hpp"

namespace lockstep::grader {

double shard_bytes(std::int64_t bytes, int ranks) {
  return static_cast<double>(bytes) / ranks * (ranks - 1);
}

void check_wire(CaseRunner& runner, const Played& played, const WirePrice& price) {
  const double sent = busiest_rank_bytes(played.counters);
  runner.note_par("bytes", sent, price.enough, played);
  constexpr double slack = 1.001;  // sizes are doubles here
  if (sent <= price.enough * slack) return;
  Cause cause = price.otherwise;
  for (const auto& [bytes, mistake] : price.mistakes) {
    if (std::fabs(sent - bytes) <= bytes * (slack - 1)) cause = mistake;
  }
  runner.fail(played,
              because(cause, wasteful(cause.name, sent, price.enough, "per rank",
                                      text("the results are right, but a rank sends ",
                                           whole_bytes(sent), " bytes where ", price.of_what,
                                           " sends ", whole_bytes(price.enough)))));
}

void check_wire_least(CaseRunner& runner, const Played& played, double least,
                      const std::string& of_what, const Cause& kept) {
  const double sent = busiest_rank_bytes(played.counters);
  if (sent >= least * 0.999) return;
  Failure failure{.message = text("the results are right, but a rank sends ", whole_bytes(sent),
                                  " bytes, where ", of_what, " send ", whole_bytes(least)),
                  .expected = text("at least ", whole_bytes(least), " bytes"),
                  .seen = text(whole_bytes(sent), " bytes")};
  failure.verdict = Verdict::efficiency;
  runner.fail(played, because(kept, failure));
}

}  // namespace lockstep::grader
