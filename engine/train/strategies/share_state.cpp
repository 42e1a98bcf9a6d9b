#include "engine/train/strategies/share_state.hpp"

#include <algorithm>

#include "engine/base/bytes.hpp"

namespace lockstep::train {
namespace {

Bytes list_of(const std::vector<optim::StateTensor>& state) {
  ByteWriter list;
  list.put(static_cast<std::uint64_t>(state.size()));
  for (const auto& [name, value] : state) {
    const Shape& shape = value.shape();
    list.put_text(name).put(value.dtype()).put_list(std::span(shape.begin(), shape.end()));
  }
  return list.take();
}

// The source's list, on every rank.
Bytes told_by_source(comm::ProcessGroup& group, int source, const Bytes& mine, Device& host) {
  const Tensor length = full({1}, static_cast<double>(mine.size()), DType::int64, host);
  group.broadcast(length, source);
  const Tensor bytes = empty({static_cast<std::int64_t>(length.item())}, DType::uint8, host);
  if (group.rank() == source) std::ranges::copy(mine, bytes.raw_bytes().begin());
  group.broadcast(bytes, source);
  return {bytes.raw_bytes().begin(), bytes.raw_bytes().end()};
}

}  // namespace

void share_state(comm::ProcessGroup& group, optim::Optimizer& optimizer, int source) {
  if (group.size() == 1) return;
  Device& device = optimizer.parameters().front()->value.device();
  const std::vector<optim::StateTensor> mine = optimizer.state();
  const Bytes told = told_by_source(group, source, list_of(mine), device.host());
  ByteReader list(told);
  std::vector<optim::StateTensor> all;
  for (auto left = list.get<std::uint64_t>(); left > 0; --left) {
    optim::StateTensor& entry = all.emplace_back();
    entry.name = list.get_text();
    const auto dtype = list.get<DType>();
    Shape shape;
    for (const std::int64_t size : list.get_list<std::int64_t>()) shape.push_back(size);
    entry.value = group.rank() == source ? mine[all.size() - 1].value : empty(shape, dtype, device);
    group.broadcast(entry.value, source);
  }
  if (group.rank() != source) optimizer.load_state(all);
}

}  // namespace lockstep::train
