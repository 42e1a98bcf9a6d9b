#include "grader/exam/wire_price.hpp"

#include <cmath>

#include "grader/exam/traffic.hpp"

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

}  // namespace lockstep::grader
