// The right answer to a round of negotiation, and the usual ways to misread its contract.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grader/judge/causes.hpp"
#include "grader/parts/08_horovod/negotiate/case.hpp"

namespace lockstep::grader::negotiate {

using Round = std::vector<Brought>;  // by rank
using Answers = std::vector<std::pair<std::string, horovod::Verdict>>;

// The order among the refused, and among the stalled, is free.
Answers right_answers(const Round& round);
bool same_answers(const Answers& seen, const Answers& right);

// The misreading that gives `seen` on this rank, which is not right.
std::optional<Cause> misreading_of(const Round& round, int rank, const Answers& seen);

}  // namespace lockstep::grader::negotiate
