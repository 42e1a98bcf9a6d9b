// Checks that ranks that hold the same parameters hold the same bits.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::train {

struct Agreement {
  std::vector<std::uint64_t> hashes;  // of each rank's parameters; nn::hash_of's of a whole model
  // The first rank that holds another copy of a parameter than a rank before it; -1: none does.
  int differs = -1;
  // `replicas` if all ranks hold the same parameters.
  enum class Holders : std::uint8_t { replicas, parts } holders = Holders::replicas;
};

}  // namespace lockstep::train
