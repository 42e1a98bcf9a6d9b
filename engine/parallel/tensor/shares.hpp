// How sizes are shared among the ranks of a tensor-parallel group. Heads, widths and tokens are cut
// into equal shares; a vocabulary is padded until it can be.
#pragma once

#include <cstdint>

namespace lockstep::tensor_parallel {

// size / ranks.
//   what    of the size, in the plural: "heads", "columns of the feed-forward layer"
//   Throws  ContractError when ranks do not divide the size; it names the nearest sizes that they
//           divide
std::int64_t equal_share(const char* what, std::int64_t size, int ranks);

// The rows of a vocabulary's table, or columns of its logits, that a rank holds: `held` of them
// from row `first` on, of which the first `real` are tokens; the others are padding.
struct VocabularyShare {
  std::int64_t first = 0, held = 0, real = 0;
  bool operator==(const VocabularyShare&) const = default;
};
//   Ensures  held is ⌈V / ranks⌉ on every rank, first is rank · held; the last ranks may hold
//            padding only
VocabularyShare vocabulary_share(std::int64_t vocabulary, int ranks, int rank);

}  // namespace lockstep::tensor_parallel
