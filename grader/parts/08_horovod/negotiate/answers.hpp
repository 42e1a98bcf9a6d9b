// The right answer to a round of negotiation.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "grader/parts/08_horovod/negotiate/case.hpp"

namespace lockstep::grader::negotiate {

using Round = std::vector<Brought>;  // by rank
using Answers = std::vector<std::pair<std::string, horovod::Verdict>>;

// The order among the refused, and among the stalled, is free.
Answers right_answers(const Round& round);
bool same_answers(const Answers& seen, const Answers& right);

}  // namespace lockstep::grader::negotiate
