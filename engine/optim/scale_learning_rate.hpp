// A learning rate that follows the batch: tuned for updates from few samples, used for updates from
// many.
//   B samples of a batch, K batches that a rank accumulates for one update, N ranks: an update
//   averages over B·K·N samples
//
// With k times the samples in an update, an epoch has k times fewer updates. Linear scaling makes
// each k times as large, which is right as long as the gradient hardly changes over k small steps.
// It does change at first, hence the warm-up. Square-root scaling keeps the variance of an SGD
// update instead: the mean of k times as many samples has a k-th of the variance, and the rate
// enters squared. It is also the rule derived for Adam [MLPA22]. The batch at which either stops
// being right differs from task to task [SLA19].
//
// Left out: what follows the warm-up (engine/optim/schedule.hpp has the decays).
#pragma once

#include <cstdint>

namespace lockstep::optim {

enum class Scaling : std::uint8_t {
  linear,       // k times the batch, k times the rate    [GOY17] §2.1
  square_root,  // k times the batch, √k times the rate   [KRI14]
};

struct ScaledRate {
  double base = 0.1;              // the tuned rate …
  std::int64_t base_batch = 256;  // … and the samples per update it was tuned for
  std::int64_t batch = 256;       // B, samples
  int ranks = 1;                  // N
  std::int64_t accumulate = 1;    // K, batches
  Scaling scaling = Scaling::linear;
  std::int64_t warmup = 0;  // optimizer steps from the base rate to the scaled one
};

// The rate of optimizer step `step`. A part: defined in solutions/05_data_parallel.
//   step      counts updates from 0, not batches
//   Ensures   with k = B·K·N / base_batch, which need not be whole and may be below 1, the scaled
//             rate is base·k or base·√k, and every step from `warmup` on has it. Earlier rates lie
//             on the straight line from the base rate at step 0 to the scaled rate at step
//             `warmup`. Only the product of B, K and N matters.
//   Throws    ContractError when a size, a number of ranks or of batches is below 1, or when a step
//             or the warm-up is negative
//   Source    [GOY17] §2.1, §2.2 (gradual warm-up)
double lr_at(std::int64_t step, const ScaledRate& rate);

}  // namespace lockstep::optim
