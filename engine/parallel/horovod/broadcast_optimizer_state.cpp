// First what there is, then the tensors; see broadcast_optimizer_state.hpp.
#include "engine/parallel/horovod/broadcast_optimizer_state.hpp"

#include "engine/parallel/horovod/bytes_of_ranks.hpp"

namespace lockstep::horovod {
namespace {

Bytes list_of(const std::vector<optim::StateTensor>& state, double rate) {
  ByteWriter out;
  out.put(rate).put(static_cast<std::uint32_t>(state.size()));
  for (const auto& [name, value] : state) {
    const std::vector<std::int64_t> sizes(value.shape().begin(), value.shape().end());
    out.put_text(name).put(value.dtype()).put_list(std::span(sizes));
  }
  return out.take();
}

}  // namespace

void broadcast_optimizer_state(comm::ProcessGroup& group, optim::Optimizer& optimizer, int root) {
  if (group.size() == 1) return;
  std::vector<optim::StateTensor> state;
  if (group.rank() == root) state = optimizer.state();
  const Bytes list = broadcast_bytes(
      group, root, group.rank() == root ? list_of(state, optimizer.learning_rate()) : Bytes());
  ByteReader in(list);
  const auto rate = in.get<double>();
  std::vector<optim::StateTensor> told(in.get<std::uint32_t>());
  CpuDevice host;  // of a rank without parameters: it takes part, and load_state() refuses
  const auto parameters = optimizer.parameters();
  Device& device = parameters.empty() ? host : parameters.front()->value.device();
  for (std::size_t i = 0; i < told.size(); ++i) {
    told[i].name = in.get_text();
    const auto dtype = in.get<DType>();
    Shape shape;
    for (const std::int64_t size : in.get_list<std::int64_t>()) shape.push_back(size);
    told[i].value = group.rank() == root ? state[i].value
                                         : empty(shape, dtype, device, MemoryKind::optimizer_state);
    group.broadcast(told[i].value, root);
  }
  if (group.rank() == root) return;
  optimizer.load_state(told);
  optimizer.set_learning_rate(rate);
}

}  // namespace lockstep::horovod
