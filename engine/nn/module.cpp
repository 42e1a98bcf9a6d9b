#include "engine/nn/module.hpp"

#include "engine/base/bytes.hpp"

namespace lockstep::nn {

std::int64_t count_of(Module& module) {
  std::int64_t count = 0;
  for (const Parameter* parameter : module.parameters()) count += parameter->value.numel();
  return count;
}

std::uint64_t hash_of(Module& module) {
  std::vector<Tensor> values;
  for (const Parameter* parameter : module.parameters()) values.push_back(parameter->value);
  const std::vector<std::uint64_t> hashes = checksums_of(values);
  return checksum_of(std::as_bytes(std::span(hashes)));
}

}  // namespace lockstep::nn
