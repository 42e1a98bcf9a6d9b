// A random choice of entries travels: the same on every rank, and a new one in every step.
//
// All ranks draw the places from one seed. So no places travel, and the values lie side by side in
// one small dense tensor that an ordinary all-reduce can sum. The result is multiplied by n/k: an
// entry travels with probability k/n, so the expected result is the mean. It is unbiased, so no
// residual is needed. The price is variance: entries that travel are n/k times as large.
#pragma once

#include <cstdint>

#include "engine/comm/process_group.hpp"

namespace lockstep::compress {

// Begins the mean of k entries, multiplied by n/k, in place of the whole gradient.
//   gradient   [n] floating point; this rank's, not yet divided {partial: group}. Belongs to the
//              Work until it has been waited for
//   k          entries that travel, from 1 to n (0 where n is 0)
//   step_seed  the same on every rank, and a different one in every step and for every bucket
//   Ensures    after wait(), gradient is n/k times the mean at the places random_entries(n, k,
//              step_seed) (entries.hpp), and zero elsewhere; the same bits on every rank. Each
//              value is multiplied once, by n/(k·N), before the sum
//   Comm       one all-reduce of k elements; it is in flight when the function returns, so all of
//              it can overlap
//   Throws     ContractError for other k and for integers; CommError that names the ranks when k
//              differs between ranks
//   Source     [SCJ18], random-k, there with a memory and without the scaling
comm::Work random_k_reduce(comm::ProcessGroup& group, const Tensor& gradient, std::int64_t k,
                           std::uint64_t step_seed);

}  // namespace lockstep::compress
