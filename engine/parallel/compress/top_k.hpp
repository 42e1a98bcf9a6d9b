// Only the largest entries of a gradient travel; the rest is added to the next step's (error
// feedback).
//
//   acc = gradient + residual
//   sent: the k entries of acc that are largest in magnitude, with their signs and their places
//   residual = acc with zeros where it was sent
//
// So entries may be late, but are never lost: over any number of steps, what was sent plus what is
// left is the sum of the gradients. Without the residual, an entry that is never among the largest
// would never be trained.
//
// Each rank chooses its own places. So these travel too, and the sum can have up to N·k entries.
// Every rank gets the entries of all (all_gather): (N-1)·8k bytes in float32. The ring sends
// 2(N-1)/N·4n; top-k sends less only while k/n < 1/N. One percent sends less only on fewer than
// 100 ranks.
#pragma once

#include <cstdint>

#include "engine/comm/process_group.hpp"

namespace lockstep::compress {

// Begins the mean of the ranks' largest entries.
//   gradient  [n] floating point, fewer than 2^31 elements; this rank's, not yet divided {partial:
//             group}. Belongs to the Work until it has been waited for
//   residual  [n] of the same dtype and device: what this rank has not sent so far
//   fraction  of the entries that travel: k = entries_of(n, fraction) (entries.hpp)
//   Ensures   when the function returns, residual is what is left: zero where an entry travels, not
//             a difference, so that an infinity leaves nothing behind.
//             After wait(), gradient is the mean of what was sent: entries that several ranks sent
//             at one place are added, in the order of ranks, each multiplied by 1/N first; zero
//             where no rank sent. The same bits on every rank. If magnitudes are equal, the lower
//             place travels. A NaN is as large as an infinity; which of these two travels first is
//             left open
//   Comm      one all_gather of k·(4 + bytes of an element) per rank; it is in flight when the
//             function returns, so all of it can overlap
//   Throws    ContractError for other shapes, types, fractions; CommError that names the ranks when
//             fractions or counts differ between ranks
//   Source    [LHM18], where small gradients add up until they travel; [SCJ18], SGD with memory
comm::Work top_k_reduce(comm::ProcessGroup& group, const Tensor& gradient, const Tensor& residual,
                        double fraction);

}  // namespace lockstep::compress
