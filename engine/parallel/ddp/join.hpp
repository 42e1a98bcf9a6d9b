// Uneven inputs: ranks that run out of data at different steps.
//
// A rank that stops leaves the others waiting in an all-reduce for ever. Padding repeats samples,
// and dropping loses some. The third way is to join: a rank that has run out stays, and contributes
// zeros to the collectives of the others, until no rank has a batch left. Its replica is then
// behind, and gets the parameters of a rank that trained to the end.
//
//     ddp::JoinState epoch;
//     while (ddp::step_with_join(group, model, optimizer, next_batches(), epoch) > 0) {
//     }
//     ddp::end_join(group, model, epoch);
//
// Left out: the optimizer's state. A rank that ran out has missed updates, and its momentum has
// missed them, too. Before another epoch, copy the state from the rank that end_join returns.
// PyTorch also leaves that to the caller.
#pragma once

#include <cstdint>
#include <span>

#include "engine/data/dataset.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/parallel/ddp/ddp.hpp"

namespace lockstep::ddp {

// By what the sum of gradients is divided: the number of ranks in the group, or the number of those
// that still had a batch.
enum class JoinDivide : std::uint8_t { initial, live };

// The state that a rank keeps from step to step of an epoch. Each rank has its own, and a new one
// for each epoch. How the functions use the two counts is up to them.
struct JoinState {
  JoinDivide divide = JoinDivide::initial;  // the same on every rank
  std::int64_t trained = 0;                 // steps in which this rank had a batch
  std::int64_t shadowed = 0;                // steps in which it had none, and others had
};

// One step of every rank that has batches left; the other ranks contribute zeros.
//   model   a Ddp with Inputs::uneven
//   mine    this rank's micro-batches of the step; once empty, empty to the end of the epoch
//   Returns the number of ranks that had a batch, the same on every rank; if it is 0, the epoch is
//           over and nothing else was done
//   Ensures a rank with batches has made the update of accumulate_step, from the sum of the live
//           ranks' gradients divided as state.divide says, bit for bit the same on all of them.
//           A rank without batches may update its replica or not
//   Comm    an all-reduce of at most 8 bytes per rank of the group, then one reduced pass of DDP on
//           every rank, with or without batches
//   Requires  every rank calls it the same number of times
//   Throws  as Ddp; then no update is made
int step_with_join(comm::ProcessGroup& group, Ddp& model, optim::Optimizer& optimizer,
                   std::span<const data::Batch> mine, JoinState& state);

// After the last step of an epoch.
//   Returns the rank that was last to join, the same on every rank: the largest of those that had a
//           batch in the last step. If no rank had a batch in this epoch, the largest rank of the
//           group
//   Ensures parameters and buffers of every replica are that rank's, bit for bit
//   Comm    an all-reduce of at most 8 bytes per rank of the group; broadcast_parameters
//   Throws  CommError when a peer is lost
//   Source  PyTorch's Join and DistributedDataParallel.join, with divide_by_initial_world_size
int end_join(comm::ProcessGroup& group, Ddp& model, const JoinState& state);

}  // namespace lockstep::ddp
