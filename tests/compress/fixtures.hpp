// Ranks that reduce one tensor each, with different values on every rank, and what they end with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/collectives/bucket.hpp"
#include "engine/comm/process_group.hpp"
#include "tests/catch.hpp"

// Ranks are fibers; Catch2's macros may be used in them, but not to leave them.
#define LOCKSTEP_EXPECT(...) LOCKSTEP_CHECK((__VA_ARGS__), "expected by a test, of every rank")

namespace lockstep::test {

using Values = std::vector<float>;

// Integers from -50 to 50, none of them zero, different on every rank and in every step.
Values integers_of(int rank, std::int64_t count, int step = 0);
// Numbers of several magnitudes that no half holds exactly.
Values numbers_of(int rank, std::int64_t count, int step = 0);

Tensor tensor_of(const Values& values, Device& device);
Values values_of(const Tensor& tensor);
bool same_bits(const Values& one, const Values& other);

// Sizes at which something changes on N ranks: nothing, one, about N, a prime, many.
std::vector<std::int64_t> sizes_for(int ranks);
inline auto any_ranks() { return GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 13); }

// Reduces one tensor and waits.
using Reduce = std::function<void(comm::ProcessGroup& group, const Tensor& data)>;
using Brings = std::function<Values(int rank)>;

struct Reduced {
  Values values;                   // of rank 0; checked to be those of all ranks, bit for bit
  std::vector<std::int64_t> sent;  // bytes, by rank
};
Reduced reduced(int ranks, const Brings& brings, const Reduce& reduce);

// A bucket of one tensor, as a hook gets it.
collectives::GradientBucket bucket_of(const Tensor& flat, const std::vector<Shape>& shapes,
                                      std::size_t index = 0);

// What `body` throws, on the first rank that throws; "" where none does.
std::string error_on(int ranks, const std::function<void(comm::ProcessGroup&)>& body);

}  // namespace lockstep::test
