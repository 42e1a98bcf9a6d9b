// Likely causes of wrong places: blocks counted from the root, data sent before it has arrived, and
// messages from a rank that should have sent to another.
#pragma once

#include "grader/exam/collective/rules.hpp"

namespace lockstep::grader {

// Blocks in the order of places that are counted from the root.
std::optional<Cause> counted_from_root(const CollectiveProblem& p, const Holding& held,
                                       std::span<const double> seen);

// A buffer that holds what another rank should hold.
std::optional<Cause> block_of_another(const CollectiveProblem& p, const Scene& scene, int rank,
                                      std::size_t buffer, std::span<const double> seen);

// The block that a rank keeps for itself, where nothing was written at its place: blocks that go
// out and those that come in have lengths of their own.
std::optional<Cause> own_block_elsewhere(const CollectiveProblem& p, const Holding& held, int rank,
                                         std::span<const double> seen, std::size_t at);

// Adds the cause to a circle in which each rank receives from the rank that it sends to.
void tell_wrong_partner(Failure& found);

// Adds the cause where a rank returned early whose buffer is empty, and not the root's.
void tell_empty_buffer(Failure& found, const CollectiveProblem& p, const std::vector<Scene>& calls);

}  // namespace lockstep::grader
