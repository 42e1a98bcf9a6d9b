// What every backend must do alike: one suite over a ProcessGroup, run by all ranks of the group.
// The tensors are on `device`, so that the suite also holds for groups that carry what the host
// cannot read. A difference is thrown as a sentence: which collective, type, operator, count,
// element, and both values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/comm/process_group.hpp"

namespace lockstep::test {

// Counts that go wrong most easily among `ranks`: 0, 1, fewer than there are ranks, a prime.
std::vector<std::int64_t> usual_counts(int ranks);

// Every collective × element type × operator × count, some roots, blocking and asynchronous in
// turns, in place and not, equal parts and unequal ones. Values are whole numbers that every type
// holds, so everything but averages is compared exactly.
void check_collectives(comm::ProcessGroup& group, Device& device, std::span<const DType> dtypes,
                       std::span<const std::int64_t> counts);

// Messages of the counts in all types round the ring, by tag; a split into two groups used side by
// side with the group itself; many operations in flight.
void check_messages_and_splits(comm::ProcessGroup& group, Device& device);

// As many elements, once each way.
void check_large(comm::ProcessGroup& group, Device& device,
                 std::int64_t elements = std::int64_t{1} << 20);

// A hash of this rank's bits after sums of random numbers, in which rounding depends on the order
// of summation: where the order is fixed by the contract, two backends get the same.
std::uint64_t bits_of_sums(comm::ProcessGroup& group, Device& device);

}  // namespace lockstep::test
