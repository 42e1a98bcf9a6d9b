// How long a training runs on N ranks, and what that costs, before it is started. Two estimates:
//
//   measured   someone has timed one step on one rank. An epoch has as many steps as one rank's
//              share of the samples has batches.
//   counted    nobody has run anything. A training step costs about 6 floating-point operations for
//              each parameter and token: 2 forward (one multiplication, one addition), and twice
//              that backward, where gradients of inputs and of weights are made [KMH20 §2.1]. The
//              time is that work over what the devices do in a second.
//
// The cost is the sum of the seconds of all ranks: idle or waiting, they are paid for. A perfect
// split would leave it as it is on one rank; every loss of efficiency adds to it.
//
// Left out: attention over long sequences, recomputation, evaluation, checkpoints, failures.
#pragma once

#include <cstdint>

namespace lockstep::plan {

struct MeasuredRun {
  std::int64_t samples = 0;     // of one epoch, all ranks together
  std::int64_t batch_size = 1;  // samples of one rank in one step
  std::int64_t epochs = 1;
  double step_s = 0;      // seconds of one step, measured on one rank
  double efficiency = 1;  // on N ranks a step takes step_s / efficiency; in (0, 1]
};

struct CountedRun {
  std::int64_t parameters = 0;    // a number, not bytes
  std::int64_t tokens = 0;        // all that are trained on, repeats included
  std::int64_t batch_tokens = 1;  // tokens of one update, all ranks together
};

struct Accelerator {
  double peak_flops_per_s = 0;  // of the type that is computed in
  double utilisation = 1;       // the part of the peak that training reaches, in (0, 1]
};

struct TimeEstimate {
  std::int64_t updates = 0;  // of the parameters, in the whole training
  double seconds = 0;        // from start to end
  double rank_seconds = 0;   // of all ranks together: what is paid for
};

// Two parts in one file: defined in solutions/01_why_distribute.
//
// Every epoch, each rank gets samples / ranks of them, rounded up (the sampler pads), and takes
// them in batches of batch_size. The last batch may be short; it is a step like the others, with
// an update, and takes as long.
//   Throws  ContractError when ranks, batch_size or samples are below 1, epochs below 0, step_s
//           negative, or efficiency not in (0, 1]
TimeEstimate training_time(const MeasuredRun& run, int ranks);

// 6 · parameters · tokens operations, shared by all ranks, at utilisation · peak each. The updates
// follow batch_tokens, whatever the number of ranks; the last one may be short.
//   Note    6 · P · tokens is far beyond 64-bit integers for large models
//   Throws  ContractError when ranks or batch_tokens are below 1, a count or the peak is not
//           positive, or utilisation not in (0, 1]
TimeEstimate training_time(const CountedRun& run, const Accelerator& device, int ranks);

}  // namespace lockstep::plan
