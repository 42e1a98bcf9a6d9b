// Distributed data parallel: ddp::Ddp averages in buckets, while backward goes on.
#pragma once

#include "engine/parallel/ddp/ddp.hpp"
#include "engine/train/strategies/whole_model.hpp"

namespace lockstep::train {

// Takes any number of batches a step; gradients travel with the last one.
//   Ensures  replicas are rank 0's
//   Comm     as Ddp; the loss rides along as one number
//   Throws   as Ddp
std::unique_ptr<Strategy> make_ddp(comm::ProcessGroup& group, Replica replica, double clip_norm,
                                   const ddp::Options& options);

}  // namespace lockstep::train
