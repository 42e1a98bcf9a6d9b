// The rules for a round of negotiation: the list that each rank must return, likely causes of a
// wrong list, and the cost of a round.
#pragma once

#include "engine/base/units.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/parts/08_horovod/negotiate/answers.hpp"

namespace lockstep::grader::negotiate {

struct NegotiateProblem {
  Members members;
  std::vector<Round> rounds;
  std::uint64_t schedule_seed = 0;

  std::string description() const {
    std::size_t most = 0;
    for (const Round& round : rounds) {
      for (const Brought& brought : round) most = std::max(most, brought.ready.size());
    }
    return text(members.description(), ", ", counted(std::ssize(rounds), "round"), " of up to ",
                counted(most, "gradient"));
  }
};

using NegotiateContract = RanksContract<NegotiateProblem, NegotiateCase, NegotiateReport>;
NegotiateContract contract_of_rounds();

// Checks the bytes of one round in which everything is released: requests go to rank 0 alone, and
// its answer to all.
void check_bytes_of_round(CaseRunner& runner, const Played& played, const NegotiateProblem& p);

}  // namespace lockstep::grader::negotiate
