// Lengths first, then bytes; see bytes_of_ranks.hpp.
#include "engine/parallel/horovod/bytes_of_ranks.hpp"

#include <algorithm>

namespace lockstep::horovod {
namespace {

Tensor tensor_of(const Bytes& bytes, Device& device) {
  Tensor tensor = empty({std::ssize(bytes)}, DType::uint8, device);
  std::ranges::copy(bytes, tensor.raw_bytes().begin());
  return tensor;
}

Tensor length_of(const Bytes& bytes, Device& device) {
  Tensor length = empty({1}, DType::int64, device);
  length.data<std::int64_t>()[0] = std::ssize(bytes);
  return length;
}

Bytes copy_of(const Tensor& tensor) {
  const auto bytes = tensor.raw_bytes();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<Bytes> gather_bytes(comm::ProcessGroup& group, const Bytes& mine) {
  CpuDevice device;  // of these words; the model's own may have no numbers
  const bool root = group.rank() == 0;
  const Tensor lengths = empty({root ? group.size() : 0}, DType::int64, device);
  group.gather(length_of(mine, device), lengths, 0);
  if (!root) {
    group.send(tensor_of(mine, device), 0);
    return {};
  }
  std::vector<Tensor> came;
  std::vector<comm::Work> works;
  for (int rank = 0; rank < group.size(); ++rank) {
    const std::int64_t length = lengths.data<std::int64_t>()[static_cast<std::size_t>(rank)];
    came.push_back(empty({rank == 0 ? 0 : length}, DType::uint8, device));
    if (rank > 0) works.push_back(group.irecv(came.back(), rank));
  }
  for (comm::Work& work : works) work.wait();
  std::vector<Bytes> all;
  for (const Tensor& tensor : came) all.push_back(copy_of(tensor));
  all[0] = mine;
  return all;
}

Bytes broadcast_bytes(comm::ProcessGroup& group, int root, Bytes of_root) {
  CpuDevice device;
  const Tensor length = length_of(of_root, device);
  group.broadcast(length, root);
  if (group.rank() != root) {
    of_root.resize(static_cast<std::size_t>(length.data<std::int64_t>()[0]));
  }
  const Tensor bytes = tensor_of(of_root, device);
  group.broadcast(bytes, root);
  return copy_of(bytes);
}

}  // namespace lockstep::horovod
