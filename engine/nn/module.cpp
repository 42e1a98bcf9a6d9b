#include "engine/nn/module.hpp"

#include "engine/base/bytes.hpp"

namespace lockstep::nn {

std::int64_t count_of(Module& module) {
  std::int64_t count = 0;
  for (const Parameter* parameter : module.parameters()) count += parameter->value.numel();
  return count;
}

std::uint64_t hash_of(Module& module) {
  std::vector<std::uint64_t> hashes;
  for (const Parameter* parameter : module.parameters()) {
    hashes.push_back(checksum_of(parameter->value.raw_bytes()));
  }
  return checksum_of(std::as_bytes(std::span(hashes)));
}

}  // namespace lockstep::nn
