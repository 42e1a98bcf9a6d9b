// Operations of a tape on rows of a tensor, of which a mixture of experts is made.
//   h columns
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/autograd/tape.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::expert_parallel {

// Rows of x [R, h] by their numbers, in this order; a row may be asked for more than once, or not
// at all. → [numbers, h]
Value take_rows(Tape& tape, const Value& x, std::span<const std::int64_t> numbers);

// The other way: row i of x [R, h] is added to row numbers[i] of a tensor of `rows` rows, which
// begin at zero. → [rows, h]
Value add_rows(Tape& tape, const Value& x, std::span<const std::int64_t> numbers,
               std::int64_t rows);

// An all-to-all of rows: the first to_ranks[0] of x go to rank 0, the next to_ranks[1] to rank 1, …
// and as many come from each rank as `from_ranks` says. → [Σ from_ranks, h]
//   Gradient  the rows of its gradient go back where they came from, in an all-to-all
//   Requires  every rank of the group records and walks back the same operations in the same order,
//             also one without rows; the group outlives the tape
//   Comm      h elements for each row of another rank, and backward for each that came from one
//   Throws    CommError when a peer is lost
Value exchange_rows(Tape& tape, comm::ProcessGroup& group, const Value& x,
                    std::span<const std::int64_t> to_ranks,
                    std::span<const std::int64_t> from_ranks);

}  // namespace lockstep::expert_parallel
