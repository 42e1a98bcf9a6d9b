// A layer of experts that ranks share: tokens travel to the experts that they have chosen, and the
// results travel back. Nothing else travels, so a rank sends what its tokens have chosen elsewhere,
// however many experts there are.
//   N ranks of the group, this one is r; T tokens of a rank, h width, E experts, of which rank r
//   has r·E/N … (r+1)·E/N
//
//   tokens   →  rows by expert  →  all-to-all  →  rows by expert of this rank  →  experts
//   result   ←  weigh, add up   ←  all-to-all  ←  rows by rank                 ←
//
// Source: [LLX20] §3.1, algorithm 2
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/autograd/tape.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/parallel/expert/assign_slots.hpp"

namespace lockstep::expert_parallel {

// Computes with this rank's experts: the first of_experts[0] of the rows [R, h] are for its first
// one, the next of_experts[1] for its second, …; E/N numbers, and some may be 0. → [R, h]
using Experts =
    std::function<Value(Tape& tape, const Value& rows, std::span<const std::int64_t> of_experts)>;

// The layer. A part: defined in solutions/14_expert_parallel. Its backward pass is that of the
// operations of a tape that it is made of (exchange_rows.hpp).
//   plan      of this rank's tokens, over all E experts
//   tokens    [T, h]; T may be 0
//   weights   as many as the plan has places, in their order: what the results are multiplied with.
//             They are the plan's weights as values with a gradient
//   mine      is called once, also without rows
//   Returns   [T, h]: each token's results, weighed and added up; 0 where all choices were dropped
//   Requires  every rank of the group calls this, also one without tokens, in the same order as its
//             other collectives, and walks back; the group outlives the tape
//   Comm      one all-to-all of E counts, int64; then, forward and backward, two all-to-alls of
//             rows. Of all ranks together, each of the two passes sends 2·h elements for each place
//             whose expert is another rank's. Neither empty slots nor dropped tokens travel
//   Memory    the rows of the places, and those of this rank's experts
//   Throws    ContractError when N does not divide E, or shapes do not fit the plan, before
//             anything is sent; CommError when a peer is lost
Value dispatch_and_combine(Tape& tape, comm::ProcessGroup& group, const SlotPlan& plan,
                           const Value& tokens, const Value& weights, const Experts& mine);

// Throws what dispatch_and_combine throws before anything is sent.
void check_dispatch(const comm::ProcessGroup& group, const SlotPlan& plan, const Value& tokens,
                    const Value& weights);

}  // namespace lockstep::expert_parallel
