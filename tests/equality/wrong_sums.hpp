// A world whose groups scale what a rank brings to a sum: the faults that a pipeline of several
// stages and replicas is likely to have.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/comm/process_group.hpp"

namespace lockstep::test {

enum class WrongSum : std::uint8_t {
  none,
  summed,         // replicas add up their gradients where they should average them
  divided_twice,  // by the micro-batches, whose weights have done it already
  tied_missing,   // the last stage's gradient of what it shares with the first one
  tied_halved     // the average of both stages' gradients for their sum
};

// In front of `world`, which must outlive it. A strategy splits it into the replicas of a stage,
// then into the stages of a pipeline; and these into the two that share a parameter.
std::unique_ptr<comm::ProcessGroup> make_wrong_sums(comm::ProcessGroup& world, WrongSum fault,
                                                    int micro_batches);

}  // namespace lockstep::test
