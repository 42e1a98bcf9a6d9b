// Plays negotiate: round after round, each with the gradients that are ready then.
#include "grader/parts/08_horovod/negotiate/case.hpp"

#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {
namespace {

// As negotiate, and an error on rank 0 says what it does to the others.
std::vector<horovod::Response> negotiated(comm::ProcessGroup& group,
                                          const std::vector<horovod::Request>& ready,
                                          const horovod::NegotiateOptions& options) {
  try {
    return horovod::negotiate(group, ready, options);
  } catch (const ContractError& error) {
    if (group.rank() != 0 || group.size() == 1) throw;
    throw Error(text(error.what(),
                     ". Likely cause: rank 0 threw while the others wait for its answer; put the "
                     "error into the list, as a response"));
  }
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return play_in_group<NegotiateCase>(played, [](comm::ProcessGroup& group, const NegotiateCase& c,
                                                 Device&) {
    NegotiateReport report;
    for (const Brought& brought : c.rounds) {
      std::vector<horovod::Request> ready;
      for (const AskedGradient& one : brought.ready) {
        ready.push_back({.name = one.name, .dtype = one.dtype, .waited_s = one.waited_s});
        for (const std::int64_t size : one.shape) ready.back().shape.push_back(size);
      }
      report.rounds.push_back(negotiated(group, ready, {brought.stall_limit_s, brought.outlook}));
    }
    return report;
  });
}

}  // namespace lockstep::grader
