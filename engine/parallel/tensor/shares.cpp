#include "engine/parallel/tensor/shares.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep::tensor_parallel {

std::int64_t equal_share(const char* what, std::int64_t size, int ranks) {
  LOCKSTEP_CHECK(ranks >= 1, "equal_share: ", ranks, " ranks; a group has at least one");
  const std::int64_t below = size / ranks * ranks, above = below + ranks;
  LOCKSTEP_CHECK(size == below, size, " ", what, " do not divide among ", ranks,
                 " tensor-parallel ranks; the nearest that do are ",
                 below > 0 ? text(below, " and ", above) : text(above));
  return size / ranks;
}

VocabularyShare vocabulary_share(std::int64_t vocabulary, int ranks, int rank) {
  LOCKSTEP_CHECK(vocabulary >= 1 && rank >= 0 && rank < ranks, "vocabulary_share: rank ", rank,
                 " of ", ranks, " for a vocabulary of ", vocabulary,
                 "; ranks count from 0, and there is at least one token");
  const std::int64_t held = (vocabulary + ranks - 1) / ranks, first = rank * held;
  return {first, held, std::clamp<std::int64_t>(vocabulary - first, 0, held)};
}

}  // namespace lockstep::tensor_parallel
