#include "engine/train/replicas.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace lockstep::train {

std::vector<std::uint64_t> gather_hashes(comm::ProcessGroup& group, nn::Module& model) {
  Device& device = model.parameters().front()->value.device();
  const Tensor mine = empty({1}, DType::int64, device);
  const Tensor all = empty({group.size()}, DType::int64, device);
  mine.data<std::int64_t>()[0] = std::bit_cast<std::int64_t>(nn::hash_of(model));
  group.all_gather(mine, all);
  std::vector<std::uint64_t> hashes;
  for (const std::int64_t hash : all.data<std::int64_t>()) {
    hashes.push_back(std::bit_cast<std::uint64_t>(hash));
  }
  return hashes;
}

bool all_equal(const std::vector<std::uint64_t>& hashes) {
  return std::adjacent_find(hashes.begin(), hashes.end(), std::not_equal_to<>()) == hashes.end();
}

}  // namespace lockstep::train
