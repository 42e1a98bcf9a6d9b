// Before replicas are trained together: are they one model, and are they equal?
#pragma once

#include "engine/comm/process_group.hpp"
#include "engine/nn/module.hpp"

namespace lockstep::replicas {

// Every rank compares its parameters and buffers (names, dtypes, shapes, and how many) with those
// of rank 0.
//   Comm    a broadcast of the list as text, an all-gather of 8 bytes a rank
//   Throws  ContractError, the same on every rank, naming the first parameter that differs and the
//           first rank on which it does; CommError
void check_agree(comm::ProcessGroup& group, nn::Module& module);

// Checks that, and then makes all replicas equal to rank 0's: how a training begins that is not
// itself an exercise.
//   Comm    check_agree; broadcast_parameters. Nothing on one rank
void make_equal(comm::ProcessGroup& group, nn::Module& module);

}  // namespace lockstep::replicas
