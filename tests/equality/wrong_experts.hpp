// Parts of a layer of experts with one mistake each, and parts of one rank that group its tokens as
// several ranks would have them.
#pragma once

#include "engine/parallel/expert/mix.hpp"

namespace lockstep::test {

enum class ExpertFault : std::uint8_t {
  none,
  local_f,         // the balancing loss counts first choices of this rank alone
  not_unpermuted,  // results go back in the order in which experts made them
  renormalised,    // weights of what was dropped are spread over what was not
  divided_by_dp,   // experts' gradients are divided by the replicas along dp alone
};

//   ranks  along ep
expert_parallel::MixParts wrong_parts(ExpertFault fault, int ranks);

// Of one rank with the samples of a global batch, dealt to `ranks` like cards: plans are made for
// the tokens of one rank after the other.
//   sequence  tokens of a sample
expert_parallel::MixParts parts_by_rank(int ranks, std::int64_t sequence);

}  // namespace lockstep::test
