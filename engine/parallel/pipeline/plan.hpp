// Plans of a pipeline: made of a schedule, and checked before anything runs.
//   p stages; v chunks per stage; m micro-batches; part c·p + s is chunk c of stage s
//
// A plan is executable without a buffer for messages if no stages wait for each other in a circle:
// an action needs what the part before or after it gives, and comes after those before it on its
// stage.
#pragma once

#include <cstddef>
#include <optional>

#include "engine/parallel/pipeline/action.hpp"

namespace lockstep::pipeline {

// Returns the plan of all stages under a schedule. Calls the parts gpipe, one_f_one_b, interleaved
// and zero_bubble.
//   Ensures   the plan is valid (check)
//   Throws    ContractError for less than one stage, chunk or micro-batch, for several chunks
//             under a schedule other than interleaved, and for a number of micro-batches that is
//             not a multiple of the stages under that one; and if a part makes an invalid plan
Plan make_plan(Schedule schedule, int stages, int chunks, int micro_batches);

enum class FaultKind : std::uint8_t {
  sizes,         // less than one stage, chunk or micro-batch, or a list of stages of another length
  no_such_pass,  // a micro-batch, chunk or kind of pass that there is not
  doubled,       // a pass that ran already, or W beside a whole B
  missing,       // a pass that never runs
  no_forward_yet,   // backward before its own forward pass
  no_gradient_yet,  // W before its own I
  circle            // stages that wait for each other
};

// The first fault of a plan, in the order of FaultKind.
struct PlanFault {
  FaultKind kind = FaultKind::sizes;
  int stage = 0;
  Action action{};
  // The place of `action` in the stage's list; none if the action is missing.
  std::optional<std::size_t> place{};
  std::string sentence{};  // "stage 1 has no B3"
};

// Nothing if the plan is valid: each stage has, for each of its chunks and each micro-batch, one
// forward pass and either one whole backward pass or one input gradient and one weight gradient, in
// an order that can be carried out.
std::optional<PlanFault> fault_of(const Plan& plan);

//   Throws  ContractError with the sentence of fault_of, which names stage and action
void check(const Plan& plan);

}  // namespace lockstep::pipeline
