// Numbers that exams draw. Those of a key are a keyed hash, so a player computes neither the key
// nor any other number of it from those that it was sent. random_bits and random_permutation of the
// engine can be run backwards: tests/house lists where the grader may call them.
#pragma once

#include <cstdint>
#include <vector>

#include "grader/play/keyed_hash.hpp"

namespace lockstep::grader {

// The number `index` of a key. A key is drawn for a case (CaseRunner::draw), or is itself a number
// of one: keyed_bits(of_the_case, stream).
std::uint64_t keyed_bits(std::uint64_t key, std::uint64_t index);
// The same in [0, 1), with 53 bits.
double keyed_uniform(std::uint64_t key, std::uint64_t index);
// 0 to count - 1 in an order of the key.
std::vector<std::int64_t> keyed_order(std::int64_t count, std::uint64_t key);

}  // namespace lockstep::grader
