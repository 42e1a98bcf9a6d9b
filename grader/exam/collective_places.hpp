// Likely causes that go by places: blocks that are counted from the root, data that is passed on
// before it came, and messages that nobody expects from this side.
#pragma once

#include "grader/exam/collective_rules.hpp"

namespace lockstep::grader {

// Blocks in the order of places that are counted from the root.
std::optional<Cause> counted_from_root(const CollectiveProblem& p, const Holding& held,
                                       std::span<const double> seen);

// A buffer that holds what another rank should hold.
std::optional<Cause> block_of_another(const CollectiveProblem& p, const Scene& scene, int rank,
                                      std::size_t buffer, std::span<const double> seen);

// Why a rank that received enough lacks something, as a sentence goes on.
std::string why_nothing_is_there(const CollectiveProblem& p, const Scene& scene,
                                 const sim::Counters& counters);

// Adds the cause to a circle in which each rank receives from the rank that it sends to.
void tell_wrong_partner(Failure& found);

// Adds the cause to a message whose sides mean blocks of other lengths.
void tell_uneven_blocks(Failure& found, const CollectiveProblem& p);

}  // namespace lockstep::grader
