#include "engine/parallel/horovod/gradient_memory.hpp"

#include <ranges>

namespace lockstep::horovod {

GradientMemory::GradientMemory(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  if (parameters.empty()) return;
  Device& device = parameters.front()->value.device();
  if (group.averaging(device) != comm::Averaging::within) return;
  std::map<DType, std::int64_t> counts;
  for (Parameter* const parameter : std::views::reverse(parameters)) {
    const Tensor& value = parameter->value;
    if (parameter->grad_place.defined() || &value.device() != &device) continue;
    std::int64_t& count = counts[value.dtype()];
    places_[parameter->name] = {value.dtype(), count, value.numel()};
    count += value.numel();
    parameters_.push_back(parameter);
  }
  for (const auto& [dtype, count] : counts) {
    memory_[dtype] = group.allocate_buffer(count, dtype, device);
    memory_[dtype].relabel(MemoryKind::gradients);
  }
  for (Parameter* const parameter : parameters_) {
    const auto& [dtype, start, count] = places_.at(parameter->name);
    parameter->grad_place = memory_[dtype].narrow(start, count).view(parameter->value.shape());
  }
}

GradientMemory::~GradientMemory() {
  for (Parameter* const parameter : parameters_) parameter->grad_place = {};
}

Tensor GradientMemory::side_by_side(std::span<const std::string> names) const {
  const Place* last = nullptr;
  std::int64_t first = 0;
  for (const std::string& name : names) {
    const auto found = places_.find(name);
    if (found == places_.end()) return {};
    const Place& next = found->second;
    if (last == nullptr) {
      first = next.start;
    } else if (next.dtype != last->dtype || next.start != last->start + last->count) {
      return {};
    }
    last = &next;
  }
  if (last == nullptr) return {};
  return memory_.at(last->dtype).narrow(first, last->start + last->count - first);
}

}  // namespace lockstep::horovod
