// Words of a fixed size that the ranks of a group give each other.
#pragma once

#include <cstring>
#include <vector>

#include "engine/tensor/tensor.hpp"

namespace lockstep::comm {

// Every rank's value, by rank.
//   gather  an all_gather of one tensor into the other
template <typename T, typename Gather>
std::vector<T> gathered(const T& mine, int size, CpuDevice& host, const Gather& gather) {
  const auto bytes = static_cast<std::int64_t>(sizeof mine);
  const Tensor one = empty({bytes}, DType::uint8, host),
               all = empty({size * bytes}, DType::uint8, host);
  std::memcpy(one.raw_bytes().data(), &mine, sizeof mine);
  gather(one, all);
  std::vector<T> values(static_cast<std::size_t>(size));
  std::memcpy(values.data(), all.raw_bytes().data(), values.size() * sizeof mine);
  return values;
}

}  // namespace lockstep::comm
