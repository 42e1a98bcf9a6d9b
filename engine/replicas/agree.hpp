// Before replicas are trained together: are they one model, and are they equal?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/comm/process_group.hpp"
#include "engine/nn/module.hpp"

namespace lockstep::replicas {

// A line of one rank that differs from rank 0's in its place.
struct Disagreement {
  int rank = 0;
  std::string of_rank_0, of_rank;  // "nothing more" where one has fewer lines
};

// Every rank compares its lines with rank 0's; the same answer on each.
//   lines    none has a line break
//   Returns  the first line that differs on the first rank on which one does
//   Comm     a broadcast of rank 0's lines, an all-gather of 8 bytes a rank
//   Throws   CommError
std::optional<Disagreement> first_disagreement(comm::ProcessGroup& group,
                                               const std::vector<std::string>& lines);

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
