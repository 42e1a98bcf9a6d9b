// How long training takes on N ranks and what it costs, computed before it starts. Two estimates:
//
//   measured   from the time of one step on one rank. An epoch has as many steps as one rank's
//              share of the samples has batches.
//   counted    from the number of operations, before anything has run. Training takes about 6
//              floating-point operations per parameter and token: 2 forward (a multiplication and
//              an addition) and 4 backward, for the gradients of inputs and of weights
//              [KMH20 §2.1]. The time is that work over what the devices do in a second.
//
// The cost is the sum of the seconds of all ranks, computing or waiting. With an efficiency of 1 it
// is that of one rank; every loss adds to it.
//
// Left out: embeddings, attention over long sequences, recomputation, evaluation, checkpoints,
// failures.
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
  std::int64_t tokens = 0;        // of the whole run, repeats included
  std::int64_t batch_tokens = 1;  // tokens of one update, all ranks together
};

struct Accelerator {
  double peak_flops_per_s = 0;  // of the type in which the device computes
  double utilisation = 1;       // the share of the peak that training reaches, in (0, 1]
};

struct TimeEstimate {
  std::int64_t updates = 0;  // of the parameters, in the whole run; exact, however many
  double seconds = 0;        // from start to end
  double rank_seconds = 0;   // of all ranks together: the cost
};

// Two parts in one file: defined in solutions/01_why_distribute.
//
// In every epoch, each rank gets samples / ranks samples, rounded up because the sampler pads. It
// takes them in batches of batch_size. The last batch may be short; it is still a step with an
// update, and takes as long as the others.
//   Throws  ContractError when ranks, batch_size or samples are below 1, epochs below 0, step_s
//           negative, or efficiency not in (0, 1]
TimeEstimate training_time(const MeasuredRun& run, int ranks);

// 6 · parameters · tokens operations, divided among all ranks, at utilisation · peak each. The
// number of updates depends on batch_tokens and not on the ranks; the last update may be short.
//   Note    6 · P · tokens does not fit into 64-bit integers for large models
//   Throws  ContractError when ranks or batch_tokens are below 1, a count or the peak is not
//           positive, or utilisation not in (0, 1]
TimeEstimate training_time(const CountedRun& run, const Accelerator& device, int ranks);

}  // namespace lockstep::plan
